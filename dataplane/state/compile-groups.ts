/**
 * [P] Compiles groups. A Direct group offers the models of its routes. An Automatic group offers those of its members,
 * one member after another, at the member's ratio times its own.
 */
import { ONE_E9 } from '../snapshot/decimal.ts';
import type { AutomaticAccess, Group } from '../snapshot/snapshot.gen.ts';
import { compileOffers, offerOf, pricesOf } from './compile-offers.ts';
import type { OfferSources, PricesAt } from './compile-offers.ts';
import type { PriceEntry } from './compile-pricing.ts';
import type { Candidate, GroupState, Offer } from './state.ts';

interface DirectGroup {
  readonly priceRatioE9: bigint;
  readonly offers: ReadonlyMap<string, Offer>;
}

/** Groups by name. */
export function compileGroups(groups: readonly Group[], sources: OfferSources): Map<string, GroupState> {
  const direct = new Map<string, DirectGroup>();
  for (const group of groups) {
    const { name, access, priceRatioE9 } = group;
    if (access?.$case === 'direct')
      direct.set(name, { priceRatioE9, offers: compileOffers(group, access.value, priceRatioE9 * ONE_E9, sources) });
  }

  const compiled = new Map<string, GroupState>();
  for (const { name, displayName, access, priceRatioE9 } of groups) {
    if (access?.$case === 'automatic') {
      const offers = automaticOffers(access.value, priceRatioE9, direct, sources.prices);
      compiled.set(name, { name, displayName, members: access.value.members, offers });
    } else {
      compiled.set(name, { name, displayName, members: [], offers: direct.get(name)?.offers ?? new Map() });
    }
  }
  return compiled;
}

function automaticOffers(
  { members }: AutomaticAccess,
  ownRatioE9: bigint,
  direct: ReadonlyMap<string, DirectGroup>,
  prices: ReadonlyMap<string, PriceEntry>,
): Map<string, Offer> {
  const tiers = new Map<string, (readonly Candidate[])[]>();
  for (const member of members) {
    const group = direct.get(member);
    if (!group) continue;
    for (const { model, tiers: own } of group.offers.values()) {
      const repriced =
        ownRatioE9 === ONE_E9 ? own : reprice(own, pricesOf(model, group.priceRatioE9 * ownRatioE9, prices));
      tiers.set(model, [...(tiers.get(model) ?? []), ...repriced]);
    }
  }
  return new Map([...tiers].map(([model, list]) => [model, offerOf(model, prices.get(model), list)]));
}

type Tiers = Offer['tiers'];

function reprice(tiers: Tiers, pricesAt: PricesAt): Tiers {
  return tiers.map((tier) => tier.map((candidate) => ({ ...candidate, ...pricesAt(candidate) })));
}
