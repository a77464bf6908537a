/**
 * [P] The part of the price list that a caller may see: groups that are open to all namespaces, and the caller's own
 * group. Other groups' names and discounts are between the platform team and the tenants that it admits to them.
 */
import type { PriceList } from './price-list.ts';

/** `ownGroup`: the name of the caller's group, if it is restricted. */
export function visibleTo({ pricing, groups }: PriceList, ownGroup: string | undefined): PriceList {
  const shown = pricing.groups.filter(({ name, restricted }) => !restricted || name === ownGroup);
  if (shown.length === pricing.groups.length) return { pricing, groups };
  const names = new Set(shown.map(({ name }) => name));
  const displayNames = new Set(shown.map(({ displayName }) => displayName));
  return {
    pricing: {
      groups: shown,
      rows: pricing.rows.map((row) =>
        ({ ...row, enabledGroups: row.enabledGroups.filter((displayName) => displayNames.has(displayName)) })),
    },
    groups: new Map([...groups].filter(([name]) => names.has(name))),
  };
}
