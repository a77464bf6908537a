/** LiteLLM's model_prices_and_context_window.json: USD per token, one flat object per model. */
import { times } from './decimal-text.ts';
import type { Decimal } from './decimal-text.ts';
import { emptyPrice, readRate } from './listed-price.ts';
import type { GenerationPrice, ListedPrice, PriceListReader, RateName, Rates } from './listed-price.ts';
import { isRecord } from './records.ts';

const PER_MILLION = 6;
const RATES: Readonly<Record<string, RateName>> = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cacheRead',
  cache_creation_input_token_cost: 'cacheWrite5m',
  cache_creation_input_token_cost_above_1hr: 'cacheWrite1h',
  input_cost_per_audio_token: 'audioInput',
  output_cost_per_audio_token: 'audioOutput',
  input_cost_per_image_token: 'imageInput',
  output_cost_per_image_token: 'imageOutput',
  output_cost_per_reasoning_token: 'reasoning',
};
const TIERS: Readonly<Record<string, string>> = { priority: 'priority', flex: 'flex', batches: 'batch' };
/** Such as tiered_pricing: what none of the names above says is refused by its name. */
const PRICE_FIELD = /cost|multiplier|pric/;
/** Names of Anthropic's fast mode. */
const SPEEDS: ReadonlySet<string> = new Set(['fast']);
/** Values of Anthropic's inference_geo. */
const REGIONS: ReadonlySet<string> = new Set(['us', 'eu']);

/** Returns undefined if the value is not such a list. */
export function openLitellm(list: unknown): PriceListReader | undefined {
  if (!isRecord(list)) return undefined;
  const models = Object.entries(list).filter((each): each is [string, Record<string, unknown>] => {
    const [key, model] = each;
    return key !== 'sample_spec' && isRecord(model) && Object.keys(model).some((field) => PRICE_FIELD.test(field));
  });
  if (!models.some(([, model]) => 'litellm_provider' in model)) return undefined;
  const byKey = new Map(models);
  return {
    keys: [...byKey.keys()],
    read: (key) => {
      const model = byKey.get(key);
      return model && readModel(model);
    },
  };
}

function readModel(model: Record<string, unknown>): ListedPrice {
  const { litellm_provider: provider } = model;
  const price = emptyPrice(typeof provider === 'string' ? provider : 'unknown');
  const generation = generationField(model);
  for (const [field, value] of Object.entries(model)) {
    if (
      field === generation ||
      repeats(model, field, generation) ||
      (!PRICE_FIELD.test(field) && field !== 'provider_specific_entry')
    )
      continue;
    readField(price, field, value);
  }
  if (generation !== undefined) readGeneration(price, generation, model);
  return price;
}

interface Generation {
  /** The first that has a price is carried over. */
  readonly fields: readonly string[];
  readonly field: GenerationPrice['field'];
  /** How many of the list's units the catalog's price is for. */
  readonly units: Decimal;
}

const ONE: Decimal = { digits: 1n, exponent: 0 };

/** By the model's mode: a price of one image, of a second of video or audio, or of a character. */
const GENERATIONS: Readonly<Record<string, Generation>> = {
  image_generation: { fields: ['output_cost_per_image', 'input_cost_per_image'], field: 'requestUsd', units: ONE },
  video_generation: {
    fields: ['output_cost_per_second', 'output_cost_per_video_per_second'],
    field: 'perSecondUsd',
    units: ONE,
  },
  audio_transcription: {
    fields: ['output_cost_per_second', 'input_cost_per_second'],
    field: 'perMinuteUsd',
    units: { digits: 60n, exponent: 0 },
  },
  audio_speech: {
    fields: ['input_cost_per_character'],
    field: 'perMillionCharactersUsd',
    units: { digits: 1n, exponent: PER_MILLION },
  },
};

/** Of a transcription, the list has one price under two names. */
function repeats(model: Record<string, unknown>, field: string, carried: string | undefined): boolean {
  const isOther = model['mode'] === 'audio_transcription' && fieldsOf(model).includes(field);
  return isOther && carried !== undefined && model[field] === model[carried];
}

function fieldsOf(model: Record<string, unknown>): readonly string[] {
  return GENERATIONS[String(model['mode'])]?.fields ?? [];
}

/** Undefined for a model that is priced by tokens. */
function generationField(model: Record<string, unknown>): string | undefined {
  if (!isNothing(model['input_cost_per_token'])) return undefined;
  return fieldsOf(model).find((field) => !isNothing(model[field]));
}

function readGeneration(price: ListedPrice, listed: string, model: Record<string, unknown>): void {
  const generation = GENERATIONS[String(model['mode'])];
  const usd = readRate(price, model[listed], { field: listed, places: 0 });
  if (usd && generation) price.generation = { field: generation.field, usd: times(usd, generation.units) };
}

const FIELD = /^(.*?)(?:_above_(\d+)k_tokens)?(?:_(priority|flex|batches))?$/;

function readField(price: ListedPrice, field: string, value: unknown): void {
  const [, name = '', thousands, tierName] = FIELD.exec(field) ?? [];
  const rateName = RATES[name];
  if (rateName === undefined) return readOther(price, field, value);
  const rate = readRate(price, value, { field, places: PER_MILLION });
  if (!rate) return;
  const tier = tierName === undefined ? undefined : TIERS[tierName];
  ratesFor(price, tier, thousands === undefined ? undefined : Number(thousands) * 1000)[rateName] = rate;
}

function ratesFor(price: ListedPrice, tier: string | undefined, step: number | undefined): Rates {
  let table: Pick<ListedPrice, 'base' | 'steps'> = price;
  if (tier !== undefined) {
    const own = price.tiers.get(tier) ?? { base: {}, steps: new Map<number, Rates>() };
    price.tiers.set(tier, own);
    table = own;
  }
  if (step === undefined) return table.base;
  const rates = table.steps.get(step) ?? {};
  table.steps.set(step, rates);
  return rates;
}

function readOther(price: ListedPrice, field: string, value: unknown): void {
  if (field === 'provider_specific_entry' && isRecord(value)) return readMultipliers(price, value);
  if (field === 'search_context_cost_per_query' && isRecord(value)) return readSearch(price, field, value);
  if (isNothing(value)) return;
  const fileSearch = field === 'file_search_cost_per_1k_calls' && readRate(price, value, { field, places: -3 });
  if (fileSearch) price.perUse.set('fileSearchUsd', fileSearch);
  else price.refused.push(field);
}

function readSearch(price: ListedPrice, field: string, bySize: Record<string, unknown>): void {
  const [only, ...others] = new Set(Object.values(bySize).map(String));
  if (others.length > 0) price.refused.push(`${field}: a price for each size of a search`);
  const usd = others.length > 0 ? undefined : readRate(price, only, { field, places: 0 });
  if (usd) price.perUse.set('webSearchUsd', usd);
}

function readMultipliers(price: ListedPrice, entry: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(entry)) {
    const field = `provider_specific_entry.${name}`;
    const multiplier = readRate(price, value, { field, places: 0 });
    if (!multiplier) continue;
    if (SPEEDS.has(name)) price.tierMultipliers.set(name, multiplier);
    else if (REGIONS.has(name)) price.regions.set(name, multiplier);
    else price.refused.push(field);
  }
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && /^0(?:\.0+)?$/.test(value));
}
