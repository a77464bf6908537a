/** LiteLLM's model_prices_and_context_window.json: USD per token, one flat object per model. */
import { parseDecimalText } from './decimal-text.ts';
import type { Decimal } from './decimal-text.ts';
import { emptyPrice, readRate } from './listed-price.ts';
import type { ListedPrice, PriceListReader, RateName, Rates } from './listed-price.ts';
import { isRecord } from './records.ts';

const PER_MILLION = 6;
const RATES: Readonly<Record<string, RateName>> = {
  input_cost_per_token: 'input', output_cost_per_token: 'output', cache_read_input_token_cost: 'cacheRead',
  cache_creation_input_token_cost: 'cacheWrite5m', cache_creation_input_token_cost_above_1hr: 'cacheWrite1h',
  input_cost_per_audio_token: 'audioInput', output_cost_per_audio_token: 'audioOutput',
  input_cost_per_image_token: 'imageInput', output_cost_per_image_token: 'imageOutput',
  output_cost_per_reasoning_token: 'reasoning',
};
const TIERS: Readonly<Record<string, string>> = { priority: 'priority', flex: 'flex', batches: 'batch' };
const PRICE_FIELD = /cost|multiplier/;
/** Names of Anthropic's fast mode. */
const SPEEDS: ReadonlySet<string> = new Set(['fast']);

/** Returns undefined if the value is not such a list. */
export function openLitellm(list: unknown): PriceListReader | undefined {
  if (!isRecord(list)) return undefined;
  const models = Object.entries(list).filter((each): each is [string, Record<string, unknown>] => {
    const [key, model] = each;
    return key !== 'sample_spec' && isRecord(model) && Object.keys(model).some((field) => PRICE_FIELD.test(field));
  });
  if (!models.some(([, model]) => 'litellm_provider' in model)) return undefined;
  const byKey = new Map(models);
  return { keys: [...byKey.keys()], read: (key) => {
    const model = byKey.get(key);
    return model && readModel(model);
  } };
}

function readModel(model: Record<string, unknown>): ListedPrice {
  const { litellm_provider: provider } = model;
  const price = emptyPrice(typeof provider === 'string' ? provider : 'unknown');
  for (const [field, value] of Object.entries(model)) {
    const isPrice = PRICE_FIELD.test(field) || field === 'provider_specific_entry';
    if (!isPrice || field === secondField(model)) continue;
    readField(price, field, value);
  }
  readGeneration(price, model);
  return price;
}

/** What a video's price by the second is called; undefined for models that make no videos. */
function secondField({ mode }: Record<string, unknown>): string | undefined {
  return mode === 'video_generation' ? 'output_cost_per_second' : undefined;
}

/** Prices of images and videos. */
function readGeneration(price: ListedPrice, model: Record<string, unknown>): void {
  const isImage = model['mode'] === 'image_generation';
  const image = isImage ? model['output_cost_per_image'] ?? model['input_cost_per_image'] : undefined;
  const usd = readRate(price, image, { field: 'output_cost_per_image', places: 0 });
  if (usd) price.requestUsd = usd;
  const field = secondField(model);
  const second = field && readRate(price, model[field], { field, places: 0 });
  if (second) price.perSecondUsd = second;
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
  if (field === 'search_context_cost_per_query' && isRecord(value)) {
    const sizes = new Set(Object.values(value).map(String));
    const [only] = sizes;
    const usd = sizes.size === 1 && only !== undefined ? parseDecimalText(only) : undefined;
    if (usd) price.perUse.set('webSearchUsd', usd);
    else price.refused.push(`${field}: a price for each size of a search`);
    return;
  }
  if (/^(?:input|output)_cost_per_image$/.test(field) || isNothing(value)) return;
  price.refused.push(field);
}

function readMultipliers(price: ListedPrice, entry: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(entry)) {
    const multiplier: Decimal | undefined = typeof value === 'string' ? parseDecimalText(value) : undefined;
    if (!multiplier) price.refused.push(`provider_specific_entry.${name}`);
    else (SPEEDS.has(name) ? price.tierMultipliers : price.regions).set(name, multiplier);
  }
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && /^0(?:\.0+)?$/.test(value));
}
