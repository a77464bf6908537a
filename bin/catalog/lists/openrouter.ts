/** OpenRouter's /api/v1/models: USD per token as decimal strings. Keys are "vendor/model". */
import { isZero } from './decimal-text.ts';
import { emptyPrice, readRate } from './listed-price.ts';
import type { ListedPrice, PriceListReader, RateName } from './listed-price.ts';
import { isRecord } from './records.ts';

const PER_MILLION = 6;
const RATES: Readonly<Record<string, RateName>> = {
  prompt: 'input',
  completion: 'output',
  input_cache_read: 'cacheRead',
  input_cache_write: 'cacheWrite5m',
  internal_reasoning: 'reasoning',
  input_audio: 'audioInput',
  audio: 'audioInput',
};

/** Returns undefined if the value is not such a list. */
export function openOpenrouter(list: unknown): PriceListReader | undefined {
  if (!isRecord(list) || !Array.isArray(list['data'])) return undefined;
  const models = new Map(
    list['data'].filter(isRecord).flatMap((model) => {
      const { id, pricing } = model;
      return typeof id === 'string' && isRecord(pricing) ? [[id, pricing] as const] : [];
    }),
  );
  if (models.size === 0) return undefined;
  return {
    keys: [...models.keys()],
    read: (key) => {
      const pricing = models.get(key);
      return pricing && readPricing(pricing, key.slice(0, Math.max(0, key.indexOf('/'))) || 'unknown');
    },
  };
}

function readPricing(pricing: Readonly<Record<string, unknown>>, vendor: string): ListedPrice {
  const price = emptyPrice(vendor);
  for (const [field, value] of Object.entries(pricing)) {
    const name = RATES[field];
    const rate = readRate(price, value, { field: `pricing.${field}`, places: name ? PER_MILLION : 0 });
    if (!rate || (field !== 'prompt' && field !== 'completion' && isZero(rate))) continue;
    if (name) price.base[name] = rate;
    else if (field === 'web_search') price.perUse.set('webSearchUsd', rate);
    else price.refused.push(`pricing.${field}`);
  }
  return price;
}
