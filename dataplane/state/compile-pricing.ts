/** [P] Compiles the groups of the public price page. */
import type { Group } from '#snapshot/snapshot.gen.ts';
import { makePricingGroups } from '#web/pricing/price-rows.ts';
import type { PricingGroup } from '#web/pricing/price-list.ts';
import type { GroupState } from './state.ts';

/** The groups of the price list: those that offer a model with a price. */
export function compilePricingGroups(
  groups: readonly Group[],
  compiled: ReadonlyMap<string, GroupState>,
): PricingGroup[] {
  const configured = groups.map(({ name, displayName, priceRatioE9, restricted, access }) => ({
    name,
    displayName,
    priceRatioE9,
    restricted,
    memberNames: access?.$case === 'automatic' ? access.value.members : undefined,
  }));
  return makePricingGroups(configured, (name) => offersSomethingPriced(compiled.get(name)));
}

function offersSomethingPriced(group: GroupState | undefined): boolean {
  return group !== undefined && group.offers.values().some(({ catalog }) => catalog !== undefined);
}
