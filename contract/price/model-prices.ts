/** [P] The prices of all models, compiled from catalogs. */
import { priceOn, pricesOf } from '#snapshot/catalog-prices.ts';
import { ONE_E9 } from '#snapshot/decimal.ts';
import { QuotaType } from '#snapshot/snapshot.gen.ts';
import type { Price, PriceCatalog } from '#snapshot/snapshot.gen.ts';
import { compilePrice } from './sheet.ts';
import type { CompiledPrice } from './sheet.ts';

/** A model's price before any group's ratio. */
export interface PriceEntry {
  readonly price: Price;
  readonly quotaType: 'Token' | 'Request';
  readonly ratioBaseE9: bigint;
  /** The price at group ratio 1. */
  readonly figures: CompiledPrice;
  /** "namespace/name@generation" */
  readonly catalog: string;
}

/** Prices by model name. If a model has several, which validation refuses, the first counts. */
export function indexPrices(catalogs: readonly PriceCatalog[]): Map<string, PriceEntry> {
  const prices = new Map<string, PriceEntry>();
  for (const listed of catalogs) {
    for (const price of pricesOf(listed)) {
      if (!prices.has(price.name)) prices.set(price.name, priceEntry(listed, price));
    }
  }
  return prices;
}

/** A price with what its catalog says of all of its prices. */
export function priceEntry(catalog: PriceCatalog, price: Price): PriceEntry {
  const { namespace, name, generation, ratioBaseUsdE9: ratioBaseE9 } = catalog;
  const quotaType = price.quotaType === QuotaType.REQUEST ? 'Request' : 'Token';
  const figures = priceAt({ price, quotaType, ratioBaseE9 }, ONE_E9 * ONE_E9);
  return { price, quotaType, ratioBaseE9, catalog: `${namespace}/${name}@${generation}`, figures };
}

/** A model's price as a group with this ratio (10⁻¹⁸) pays it. `channel`: "route/channel"; absent: any. */
export function priceAt(
  { quotaType, ratioBaseE9, price }: Omit<PriceEntry, 'catalog' | 'figures'>,
  groupRatioE18: bigint,
  channel?: string,
): CompiledPrice {
  const on = priceOn(price, channel);
  return compilePrice({ ...on.price, quotaType, ratioBaseUsdE9: ratioBaseE9 }, groupRatioE18, on.multiplierE9);
}
