/** [P] The prices of a PriceCatalog: those that proxies of any age understand, and the others. */
import type { Price, PriceCatalog } from './snapshot.gen.ts';

/** All prices of a catalog. */
export function pricesOf({ models, sheets }: Pick<PriceCatalog, 'models' | 'sheets'>): readonly Price[] {
  return sheets.length === 0 ? models : [...models, ...sheets];
}

/** Whether a proxy that knows only ratios would misjudge this price. */
export function isSheet({ usdPerMillion, contextTiers, serviceTiers, perUse, regions, channelPrices }: Price): boolean {
  return usdPerMillion !== undefined || perUse !== undefined
    || [contextTiers, serviceTiers, regions, channelPrices].some((list) => list.length > 0);
}
