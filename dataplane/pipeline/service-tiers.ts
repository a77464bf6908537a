/**
 * [P] The service tiers in which a provider may serve a call: the hold is for the dearest of them, the bill for the one
 * that the answer names.
 */
import { STANDARD_TIER } from '../ledger/price.ts';
import type { CompiledPrice } from '../ledger/price-sheet.ts';
import type { Candidate } from '../state/state.ts';

/** A batch is another endpoint. */
const NEVER_CHOSEN: ReadonlySet<string> = new Set(['batch']);
/** Anthropic's speeds are served only where a request asks for them. */
const SPEEDS: ReadonlySet<string> = new Set(['fast', 'ultrafast']);

/** A place without a price of its own. */
const ANYWHERE = '';

/** The tiers that may serve a request. A provider that is short of a tier serves the standard one instead. */
export function possibleTiers(
  asked: string | undefined, price: CompiledPrice, { target: { protocol } }: Pick<Candidate, 'target'>,
): readonly string[] {
  if (asked !== undefined) return asked === STANDARD_TIER ? [asked] : [STANDARD_TIER, asked];
  // a setting of the provider's account may choose any
  const chosen = [...price.serviceTiers.keys()].filter((tier) =>
    !NEVER_CHOSEN.has(tier) && !(protocol === 'Anthropic' && SPEEDS.has(tier)));
  return [STANDARD_TIER, ...chosen];
}

/** The tiers that an answer may be billed in, of which the dearest counts: the one that it names. */
export function servedTiers(served: string | undefined, asked: string | undefined): readonly string[] {
  if (served !== undefined) return [served];
  return asked === undefined ? [STANDARD_TIER] : [STANDARD_TIER, asked];
}

/** The places in which a request may be served: the one that it asks for, or without a wish any that has a price. */
export function possibleRegions(asked: string | undefined, { regions }: CompiledPrice): readonly string[] {
  return asked === undefined ? [ANYWHERE, ...regions.keys()] : [ANYWHERE, asked];
}

/** The places that an answer may be billed in, of which the dearest counts: the one that it names. */
export function servedRegions(served: string | undefined, asked: string | undefined): readonly string[] {
  if (served !== undefined) return [served];
  return asked === undefined ? [] : [ANYWHERE, asked];
}
