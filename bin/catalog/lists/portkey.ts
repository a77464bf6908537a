/** A provider's file of Portkey-AI/models: US cents per token. */
import { isZero } from './decimal-text.ts';
import type { Decimal } from './decimal-text.ts';
import { emptyPrice, readRate } from './listed-price.ts';
import type { ListedPrice, PriceListReader, RateName } from './listed-price.ts';
import { isRecord, recordOf } from './records.ts';
import type { JsonRecord } from './records.ts';

/** Cents per token → USD per million. */
const PER_MILLION = 4;
const PER_USE = -2;
const RATES: Readonly<Record<string, RateName>> = {
  request_token: 'input',
  response_token: 'output',
  cache_read_input_token: 'cacheRead',
  cache_write_input_token: 'cacheWrite5m',
  request_audio_token: 'audioInput',
  response_audio_token: 'audioOutput',
};
const USES: Readonly<Record<string, string>> = { web_search: 'webSearchUsd', file_search: 'fileSearchUsd' };

/** Returns undefined if the value is not such a list. */
export function openPortkey(list: unknown): PriceListReader | undefined {
  if (!isRecord(list)) return undefined;
  const models = new Map(
    Object.entries(list).flatMap(([key, model]) =>
      isRecord(model) && isRecord(model['pricing_config']) ? [[key, model['pricing_config']] as const] : [],
    ),
  );
  if (models.size === 0) return undefined;
  return {
    keys: [...models.keys()],
    read: (key) => {
      const config = models.get(key);
      return config && readConfig(config);
    },
  };
}

function readConfig(config: JsonRecord): ListedPrice {
  const price = emptyPrice('unknown');
  const { currency = 'USD' } = config;
  if (currency !== 'USD') price.refused.push(`currency: ${JSON.stringify(currency)}`);
  else readRates(price, recordOf(config, 'pay_as_you_go'));
  for (const field of Object.keys(config))
    if (!['pay_as_you_go', 'currency'].includes(field)) price.refused.push(field);
  return price;
}

function readRates(price: ListedPrice, rates: JsonRecord): void {
  for (const [field, value] of Object.entries(rates)) {
    const name = RATES[field];
    if (field === 'additional_units') continue;
    const rate = readPriced(price, value, { field: `pay_as_you_go.${field}`, places: PER_MILLION });
    // 0 stands for a class without a price
    if (!rate || (isZero(rate) && name !== 'input' && name !== 'output')) continue;
    if (name) price.base[name] = rate;
    else price.refused.push(`pay_as_you_go.${field}`);
  }
  readUnits(price, recordOf(rates, 'additional_units'));
}

/** Prices within a field, such as those of images by size, are refused by its name. */
function readPriced(
  price: ListedPrice,
  value: unknown,
  how: { readonly field: string; readonly places: number },
): Decimal | undefined {
  if (!isRecord(value)) return readRate(price, value, how);
  if (!('price' in value)) price.refused.push(how.field);
  return readRate(price, value['price'], how);
}

function readUnits(price: ListedPrice, units: JsonRecord): void {
  for (const [field, value] of Object.entries(units)) {
    const use = USES[field];
    const isWrite = field === 'cache_write_1h';
    const rate = readPriced(price, value, {
      field: `additional_units.${field}`,
      places: isWrite ? PER_MILLION : PER_USE,
    });
    if (!rate || isZero(rate)) continue;
    if (isWrite) price.base.cacheWrite1h = rate;
    else if (use !== undefined) price.perUse.set(use, rate);
    else price.refused.push(`additional_units.${field}`);
  }
}
