/**
 * [P] Prices by model, and the groups of the public price page.
 */
import { QuotaType } from '../snapshot/snapshot.gen.ts';
import type { Group, Price, PriceCatalog } from '../snapshot/snapshot.gen.ts';
import { compilePrice } from '../ledger/price.ts';
import type { CompiledPrice } from '../ledger/price.ts';
import { makePricingGroups } from '#web/pricing/price-rows.ts';
import type { ModelPrice } from '#web/pricing/price-rows.ts';
import type { PricingGroup } from '#web/pricing/price-list.ts';
import type { GroupState } from './state.ts';

/** A model's price before any group's ratio. */
export interface PriceEntry extends ModelPrice {
  readonly price: Price;
  /** "namespace/name@generation" */
  readonly catalog: string;
  /** At a group's ratio (10^-18); the same object for the same ratio. */
  readonly atRatio: Map<bigint, CompiledPrice>;
  /** What the state before had compiled of the same figures. */
  readonly known: ReadonlyMap<bigint, CompiledPrice> | undefined;
}

/** Prices by model name; of two for one model the first counts. Figures that are as in `previous` are not compiled again. */
export function indexPrices(catalogs: readonly PriceCatalog[], previous?: ReadonlyMap<string, PriceEntry>): Map<string, PriceEntry> {
  const prices = new Map<string, PriceEntry>();
  for (const { namespace, name, generation, ratioBaseUsdE9, models } of catalogs) {
    const catalog = `${namespace}/${name}@${generation}`;
    for (const price of models) {
      if (prices.has(price.name)) continue;
      const quotaType = price.quotaType === QuotaType.REQUEST ? 'Request' : 'Token';
      const before = previous?.get(price.name);
      const known = before && before.ratioBaseE9 === ratioBaseUsdE9 && sameFigures(before.price, price) ? before.atRatio : undefined;
      prices.set(price.name, { price, quotaType, ratioBaseE9: ratioBaseUsdE9, catalog, atRatio: new Map(), known });
    }
  }
  return prices;
}

function sameFigures(a: Price, b: Price): boolean {
  return a.quotaType === b.quotaType && a.modelRatioE9 === b.modelRatioE9 && a.completionRatioE9 === b.completionRatioE9
    && a.cacheRatioE9 === b.cacheRatioE9 && a.cacheWriteRatioE9 === b.cacheWriteRatioE9
    && a.cacheWrite1hRatioE9 === b.cacheWrite1hRatioE9 && a.requestNanoUsd === b.requestNanoUsd;
}

/** A model's price as a group with this ratio (10^-18) pays it. */
export function priceAt(entry: PriceEntry, groupRatioE18: bigint): CompiledPrice {
  let compiled = entry.atRatio.get(groupRatioE18);
  if (!compiled) entry.atRatio.set(groupRatioE18, compiled = entry.known?.get(groupRatioE18) ?? compileAt(entry, groupRatioE18));
  return compiled;
}

function compileAt({ quotaType, ratioBaseE9, price }: PriceEntry, groupRatioE18: bigint): CompiledPrice {
  const { modelRatioE9, completionRatioE9, cacheRatioE9, cacheWriteRatioE9, cacheWrite1hRatioE9, requestNanoUsd } = price;
  return compilePrice({
    quotaType, ratioBaseUsdE9: ratioBaseE9, modelRatioE9, completionRatioE9, cacheRatioE9, cacheWriteRatioE9, requestNanoUsd,
    ...(cacheWrite1hRatioE9 === undefined ? {} : { cacheWrite1hRatioE9 }),
  }, groupRatioE18);
}

/** The price list's groups: those that offer something with a price. */
export function compilePricingGroups(groups: readonly Group[], compiled: ReadonlyMap<string, GroupState>): PricingGroup[] {
  return makePricingGroups(groups.filter(({ name }) => offersSomethingPriced(compiled.get(name))));
}

function offersSomethingPriced(group: GroupState | undefined): boolean {
  return group !== undefined && group.offers.values().some(({ catalog }) => catalog !== undefined);
}
