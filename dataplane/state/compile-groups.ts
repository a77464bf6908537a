/**
 * [P] Compiles groups. A Direct group offers the models of its routes. An Automatic group offers those of its members,
 * one member after another, at the member's ratio times its own.
 */
import { ONE_E9 } from '#snapshot/decimal.ts';
import type { AutomaticAccess, Group } from '#snapshot/snapshot.gen.ts';
import { compileOffers, offerOf, pricesOf } from './compile-offers.ts';
import type { OfferSources, PricesAt } from './compile-offers.ts';
import type { PriceEntry } from '#price/model-prices.ts';
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
  const found = new Map<string, Pick<Offer, 'tiers' | 'drained'>>();
  for (const member of members) {
    const group = direct.get(member);
    if (!group) continue;
    for (const offer of group.offers.values()) {
      const { model } = offer;
      const { tiers, drained } =
        ownRatioE9 === ONE_E9 ? offer : reprice(offer, pricesOf(model, group.priceRatioE9 * ownRatioE9, prices));
      const earlier = found.get(model) ?? { tiers: [], drained: [] };
      found.set(model, { tiers: [...earlier.tiers, ...tiers], drained: [...earlier.drained, ...drained] });
    }
  }
  return new Map([...found].map(([model, channels]) => [model, offerOf(model, prices.get(model), channels)]));
}

function reprice({ tiers, drained }: Offer, pricesAt: PricesAt): Pick<Offer, 'tiers' | 'drained'> {
  const repriced = (candidate: Candidate): Candidate => ({ ...candidate, ...pricesAt(candidate) });
  return { tiers: tiers.map((tier) => tier.map(repriced)), drained: drained.map(repriced) };
}
