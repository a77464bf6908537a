/**
 * [P] The part of the price list that a caller may see: groups that are open to all namespaces, and the caller's own
 * group. Other groups' names and discounts are between the platform team and the tenants that it admits to them.
 */
import type { PriceList } from './price-list.ts';

/** `ownGroup`: the name of the caller's group; undefined: the caller is not known. */
export function visibleTo({ pricing, groups }: PriceList, ownGroup: string | undefined): PriceList {
  const isVisible = (name: string): boolean => name === ownGroup || !hidden.has(name);
  const hidden = new Set(pricing.groups.filter(({ restricted }) => restricted).map(({ name }) => name));
  if (hidden.size === 0) return { pricing, groups };
  const shown = pricing.groups.filter(({ name }) => isVisible(name));
  const displayNames = new Set(shown.map(({ displayName }) => displayName));
  return {
    pricing: {
      groups: shown,
      rows: pricing.rows.map((row) =>
        ({ ...row, enabledGroups: row.enabledGroups.filter((displayName) => displayNames.has(displayName)) })),
    },
    groups: new Map([...groups].filter(([name]) => isVisible(name))),
  };
}
