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
export function isSheet({ usdPerMillion, contextTiers, serviceTiers, perUse, regions, channelPrices }: Price): boolean {
  return usdPerMillion !== undefined || perUse !== undefined
    || [contextTiers, serviceTiers, regions, channelPrices].some((list) => list.length > 0);
}
