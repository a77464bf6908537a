/**
 * [P] Computes the most that a call can cost on a candidate, and how far its output limit may be lowered if there is
 * too little money.
 */
import { affordableOutputTokens, worstCaseNanoUsd } from '#price/price.ts';
import type { Uses } from '#price/price.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import type { Candidate, KeyState } from '../state/state.ts';
import type { CallBounds, EndpointCall, OutputRequest } from './context.ts';
import { madeAt } from './made-at.ts';
import { possibleRegions, possibleTiers } from './service-tiers.ts';

/** The worst case of a call on a candidate with this price. */
export function boundCall(call: EndpointCall, candidate: Candidate, price: CompiledPrice, key: KeyState): CallBounds {
  if (call.together) return call.together;
  const uses = call.uses(candidate);
  const { requests, requestTokens } = requestsOf(call, candidate, uses);
  const outputTokens = call.output ? outputLimit(call.output, candidate) : 0;
  const reach = {
    oneHourCache: call.oneHourCache,
    serviceTiers: call.onlyTier === undefined ? possibleTiers(call.serviceTier, price, candidate) : [call.onlyTier],
    regions: possibleRegions(call.region, price),
    modalities: call.modalities,
    uses,
    requests,
  };
  const worstCase = (limit: number): bigint =>
    worstCaseNanoUsd(price, {
      ...reach,
      inputTokens: requestTokens,
      outputTokens: call.output ? limit * call.output.answers + call.output.predictionTokens : 0,
      generations: call.generations,
      made: call.made && madeAt(call.made, candidate),
    });
  const amountNanoUsd = worstCase(outputTokens);
  const lowest = lowestOutput(call, candidate, { limit: outputTokens, least: key.minOutputTokens });
  const minimumNanoUsd = key.whenShort === 'Lower' && lowest !== outputTokens ? worstCase(lowest) : amountNanoUsd;
  const estimatedInputTokens = call.estimateInput(candidate);
  const inputTokens = requestTokens * requests;
  const tokens = { requestTokens, inputTokens, estimatedInputTokens, outputTokens };
  return { price, reach, ...tokens, amountNanoUsd, minimumNanoUsd };
}

/** The output limit per choice that the granted amount, which is at least the minimum, pays for. */
export function affordableOutput(call: EndpointCall, bounds: CallBounds, grantedNanoUsd: bigint): number {
  const { output } = call;
  if (!output || grantedNanoUsd >= bounds.amountNanoUsd) return bounds.outputTokens;
  const { requestTokens, reach } = bounds;
  const all = affordableOutputTokens(bounds.price, grantedNanoUsd, { ...reach, inputTokens: requestTokens });
  return Math.min(bounds.outputTokens, Math.floor((all - output.predictionTokens) / output.answers));
}

interface Requests {
  readonly requests: number;
  readonly requestTokens: number;
}

/**
 * The requests that the provider may make: after each use of a tool it asks the model again, with the result as further
 * input that may fill the context.
 */
function requestsOf(call: EndpointCall, candidate: Candidate, used: Uses): Requests {
  const uses = Object.values(used).reduce((sum, count) => sum + count, 0);
  return uses === 0
    ? { requests: 1, requestTokens: call.boundInput(candidate) }
    : { requests: uses + 1, requestTokens: candidate.model.contextTokens };
}

/** The request's output limit, at least what can be sent, and capped at the model's. */
function outputLimit(output: OutputRequest, candidate: Candidate): number {
  const asked = Math.max(output.maxTokens ?? candidate.model.maxOutputTokens, output.leastTokens?.(candidate) ?? 0);
  return Math.min(asked, candidate.model.maxOutputTokens);
}

function lowestOutput(call: EndpointCall, candidate: Candidate, { limit, least }: OutputRange): number {
  const { output } = call;
  if (!output || output.fixed) return limit;
  // a thinking budget must stay below the limit that is sent (Anthropic: max_tokens > budget_tokens)
  const aboveBudget = output.thinkingBudget === undefined ? 0 : output.thinkingBudget + 1;
  return Math.min(Math.max(least, aboveBudget, output.leastTokens?.(candidate) ?? 0), limit);
}

interface OutputRange {
  /** The call's own limit. */
  readonly limit: number;
  /** The key's lowest one. */
  readonly least: number;
}
