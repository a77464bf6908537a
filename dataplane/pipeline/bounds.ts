/**
 * [P] Computes what a call can cost at most on one candidate, and how far its output limit may be lowered where money
 * is short.
 */
import { affordableOutputTokens, worstCaseNanoUsd } from '../ledger/price.ts';
import type { CompiledPrice } from '../ledger/price-sheet.ts';
import type { Candidate, KeyState } from '../state/state.ts';
import type { CallBounds, EndpointCall, OutputRequest } from './context.ts';
import { possibleTiers } from './service-tiers.ts';

/** The worst case of a call on a candidate with this price. */
export function boundCall(call: EndpointCall, candidate: Candidate, price: CompiledPrice, key: KeyState): CallBounds {
  const inputTokens = call.boundInput(candidate);
  const outputTokens = call.output ? outputLimit(call.output, candidate) : 0;
  const reach = {
    oneHourCache: call.oneHourCache, serviceTiers: possibleTiers(call.serviceTier, price, candidate),
    modalities: call.modalities,
  };
  const worstCase = (limit: number): bigint => worstCaseNanoUsd(price, {
    ...reach,
    inputTokens,
    outputTokens: call.output ? limit * call.output.answers + call.output.predictionTokens : 0,
    generations: call.generations,
  });
  const amountNanoUsd = worstCase(outputTokens);
  const lowest = lowestOutput(call.output, outputTokens, key.minOutputTokens);
  const minimumNanoUsd = key.whenShort === 'Lower' ? worstCase(lowest) : amountNanoUsd;
  const estimatedInputTokens = call.estimateInput(candidate);
  return { price, reach, inputTokens, estimatedInputTokens, outputTokens, amountNanoUsd, minimumNanoUsd };
}

/** The output limit per answer that a granted amount, at least the minimum, pays for. */
export function affordableOutput(call: EndpointCall, bounds: CallBounds, grantedNanoUsd: bigint): number {
  const { output } = call;
  if (!output || grantedNanoUsd >= bounds.amountNanoUsd) return bounds.outputTokens;
  const { inputTokens, reach } = bounds;
  const all = affordableOutputTokens(bounds.price, grantedNanoUsd, { ...reach, inputTokens });
  return Math.min(bounds.outputTokens, Math.floor((all - output.predictionTokens) / output.answers));
}

/** The request's limit, capped at the model's. */
function outputLimit(output: OutputRequest, candidate: Candidate): number {
  return Math.min(output.maxTokens ?? candidate.model.maxOutputTokens, candidate.model.maxOutputTokens);
}

function lowestOutput(output: OutputRequest | undefined, limit: number, least: number): number {
  if (!output || output.fixed) return limit;
  // a thinking budget must stay below the limit that is sent (Anthropic: max_tokens > budget_tokens)
  const floor = Math.max(least, output.thinkingBudget === undefined ? 0 : output.thinkingBudget + 1);
  return Math.min(floor, limit);
}
