/** models.dev's api.json: USD per million tokens, models by provider. Keys are "provider/model". */
import { emptyPrice, readRate } from './listed-price.ts';
import type { ListedPrice, PriceListReader, RateName, Rates } from './listed-price.ts';
import { isRecord, recordOf } from './records.ts';
import type { JsonRecord } from './records.ts';

const RATES: Readonly<Record<string, RateName>> = {
  input: 'input',
  output: 'output',
  cache_read: 'cacheRead',
  cache_write: 'cacheWrite5m',
  reasoning: 'reasoning',
  input_audio: 'audioInput',
  output_audio: 'audioOutput',
};
/** The names that a catalog has for modes. */
const SERVICE_TIERS: ReadonlySet<string> = new Set(['priority', 'flex', 'batch', 'fast', 'ultrafast', 'scale']);
/** Objects in `cost` that are read separately. */
const NESTED: ReadonlySet<string> = new Set(['tiers', 'context_over_200k']);

interface Listed {
  readonly provider: JsonRecord;
  readonly value: unknown;
}

/** Returns undefined if the value is not such a list. */
export function openModelsDev(list: unknown): PriceListReader | undefined {
  if (!isRecord(list)) return undefined;
  const models = new Map<string, Listed>(
    Object.entries(list).flatMap(([id, provider]) => {
      if (!isRecord(provider) || !isRecord(provider['models'])) return [];
      return Object.entries(provider['models'])
        .filter(([, model]) => isRecord(model) && isRecord(model['cost']))
        .map(([model, value]) => [`${id}/${model}`, { provider, value }] as const);
    }),
  );
  if (models.size === 0) return undefined;
  return {
    keys: [...models.keys()],
    read: (key) => {
      const found = models.get(key);
      if (!found || !isRecord(found.value)) return undefined;
      const { name } = found.provider;
      return readModel(found.value, typeof name === 'string' ? name : key.slice(0, key.indexOf('/')));
    },
  };
}

function readModel(model: JsonRecord, vendor: string): ListedPrice {
  const price = emptyPrice(vendor);
  const cost = recordOf(model, 'cost');
  readRates(price, cost, { into: price.base, where: 'cost' });
  readSteps(price, cost);
  const modes = recordOf(recordOf(model, 'experimental'), 'modes');
  for (const [mode, settings] of Object.entries(modes)) {
    if (!isRecord(settings) || !isRecord(settings['cost'])) continue;
    if (!SERVICE_TIERS.has(mode)) {
      price.refused.push(`experimental.modes.${mode}: no service tier of this name`);
      continue;
    }
    const tier = { base: {}, steps: new Map<number, Rates>() };
    readRates(price, settings['cost'], { into: tier.base, where: `experimental.modes.${mode}.cost` });
    price.tiers.set(mode, tier);
  }
  return price;
}

function readSteps(price: ListedPrice, cost: JsonRecord): void {
  const { tiers, context_over_200k: above } = cost;
  for (const tier of Array.isArray(tiers) ? tiers : []) {
    const size = isRecord(tier) ? recordOf(tier, 'tier')['size'] : undefined;
    const rates: Rates = {};
    if (!isRecord(tier) || recordOf(tier, 'tier')['type'] !== 'context' || !/^\d+$/.test(String(size)))
      price.refused.push('cost.tiers: a tier of another kind than context');
    else {
      readRates(price, tier, { into: rates, where: 'cost.tiers', apart: new Set(['tier']) });
      price.steps.set(Number(size), rates);
    }
  }
  if (!isRecord(above) || price.steps.size > 0) return;
  const rates: Rates = {};
  readRates(price, above, { into: rates, where: 'cost.context_over_200k' });
  price.steps.set(200_000, rates);
}

interface Target {
  readonly into: Rates;
  readonly where: string;
  readonly apart?: ReadonlySet<string>;
}

function readRates(price: ListedPrice, cost: JsonRecord, { into, where, apart = NESTED }: Target): void {
  for (const [field, value] of Object.entries(cost)) {
    if (apart.has(field)) continue;
    const name = RATES[field];
    const rate = name && readRate(price, value, { field: `${where}.${field}`, places: 0 });
    if (name && rate) into[name] = rate;
    else if (!name) price.refused.push(`${where}.${field}`);
  }
}
