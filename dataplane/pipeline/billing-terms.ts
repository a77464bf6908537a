/**
 * The terms by which a job is billed at its end, as text for the ledger: the prices and bounds of its admission,
 * because the configuration may have changed by then.
 */
import { deserialize, serialize } from 'node:v8';
import type { BilledCall, BilledCandidate, BillingTerms } from './consumption.ts';

/** The terms without functions. Versions of the program share this shape. */
interface StoredTerms extends Pick<BillingTerms, 'bounds' | 'outputLimit'> {
  readonly candidate: Omit<BilledCandidate, 'costOf' | 'priceOf'>;
  readonly call: Omit<BilledCall, 'unbounded'>;
  readonly isUnbounded: boolean;
  readonly quotaType: BillingTerms['routed']['offer']['quotaType'];
}

export function encodeTerms({ bounds, outputLimit, candidate, routed: { call, offer } }: BillingTerms): string {
  const { price, reach, requestTokens, inputTokens, estimatedInputTokens } = bounds;
  const { clientDisconnect, onTimeout, upstreamModel, cost, model: { reasoning } } = candidate;
  const { output, generations, made, serviceTier, region, stream, asksForReasoning } = call;
  const stored: StoredTerms = {
    bounds: { price, reach, requestTokens, inputTokens, estimatedInputTokens }, outputLimit,
    candidate: { clientDisconnect, onTimeout, upstreamModel, cost, model: { reasoning } },
    call: { output, generations, made, serviceTier, region, stream, asksForReasoning },
    isUnbounded: call.unbounded(candidate), quotaType: offer.quotaType,
  };
  return serialize(stored).toString('base64');
}

/** Throws if encodeTerms did not write the text. */
export function decodeTerms(text: string): BillingTerms {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { call, isUnbounded, quotaType, candidate, ...terms } = deserialize(Buffer.from(text, 'base64')) as StoredTerms;
  return {
    ...terms,
    // the responses of such jobs name no requests to other models
    candidate: { ...candidate, costOf: () => undefined, priceOf: () => undefined },
    routed: { call: { ...call, unbounded: () => isUnbounded }, offer: { quotaType } },
  };
}
