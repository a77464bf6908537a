/**
 * [P] The prices of a PriceCatalog: those that proxies of every version understand (`models`), and the others
 * (`sheets`).
 */
import type { Price, PriceCatalog } from './snapshot.gen.ts';

/** All prices of a catalog. */
export function pricesOf({ models, sheets }: Pick<PriceCatalog, 'models' | 'sheets'>): readonly Price[] {
  return sheets.length === 0 ? models : [...models, ...sheets];
}

/** True if a proxy that knows only ratios would misread this price. */
export function isSheet(price: Price): boolean {
  const { contextTiers, serviceTiers, regions, channelPrices, perImage } = price;
  return [price.usdPerMillion, price.perUse, price.perSecondNanoUsd].some((part) => part !== undefined)
    || [contextTiers, serviceTiers, regions, channelPrices, perImage].some((list) => list.length > 0);
}
