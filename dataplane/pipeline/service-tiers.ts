/**
 * [P] The service tiers in which a provider may serve a call. The hold is for the dearest of them, the bill for the one
 * that the response names.
 */
import { STANDARD_TIER } from '#price/price.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import type { Candidate } from '../state/state.ts';

/** Batches have an endpoint of their own, so no call is served in this tier. */
const NEVER_CHOSEN: ReadonlySet<string> = new Set(['batch']);
/** Anthropic's speeds, which are used only if a request asks for them. */
const SPEEDS: ReadonlySet<string> = new Set(['fast', 'ultrafast']);

/** The region without a price of its own. */
const ANYWHERE = '';

/** The tiers that may serve a request. A provider without capacity in a tier uses the standard one instead. */
export function possibleTiers(
  asked: string | undefined,
  price: CompiledPrice,
  { target: { protocol } }: Pick<Candidate, 'target'>,
): readonly string[] {
  if (asked !== undefined) return asked === STANDARD_TIER ? [asked] : [STANDARD_TIER, asked];
  // a setting of the provider's account may choose any of them
  const chosen = [...price.serviceTiers.keys()].filter(
    (tier) => !NEVER_CHOSEN.has(tier) && !(protocol === 'Anthropic' && SPEEDS.has(tier)),
  );
  return [STANDARD_TIER, ...chosen];
}

/**
 * The tiers that a response may be billed in: the one that it names, else all possible ones, of which the dearest
 * counts.
 */
export function servedTiers(served: string | undefined, asked: string | undefined): readonly string[] {
  if (served !== undefined) return [served];
  return asked === undefined ? [STANDARD_TIER] : [STANDARD_TIER, asked];
}

/** The regions that may serve a request: the one that it asks for, or else any that has a price. */
export function possibleRegions(asked: string | undefined, { regions }: CompiledPrice): readonly string[] {
  return asked === undefined ? [ANYWHERE, ...regions.keys()] : [ANYWHERE, asked];
}

/**
 * The regions that a response may be billed in: the one that it names, else all possible ones, of which the dearest
 * counts.
 */
export function servedRegions(served: string | undefined, asked: string | undefined): readonly string[] {
  if (served !== undefined) return [served];
  return asked === undefined ? [] : [ANYWHERE, asked];
}
