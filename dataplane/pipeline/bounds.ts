/**
 * [P] What a call can cost at most on one candidate, and how far its output limit may be lowered where money is short.
 */
import { affordableOutputTokens, worstCaseNanoUsd } from '../ledger/price.ts';
import type { CompiledPrice } from '../ledger/price.ts';
import type { Candidate, KeyState } from '../state/state.ts';
import type { CallBounds, EndpointCall, OutputWish } from './context.ts';

/** No output limit is lowered below this many tokens: a shorter answer helps nobody. */
const LEAST_OUTPUT_TOKENS = 256;

/** The worst case of a call on a candidate, whose price is `price`. */
export function boundCall(call: EndpointCall, candidate: Candidate, price: CompiledPrice, key: KeyState): CallBounds {
  const inputTokens = call.boundInput(candidate);
  const outputTokens = call.output ? outputLimit(call.output, candidate) : 0;
  const worst = (limit: number): bigint => worstCaseNanoUsd(price, {
    inputTokens,
    outputTokens: call.output ? limit * call.output.answers + call.output.predictionTokens : 0,
    oneHourCache: call.oneHourCache,
    generations: call.generations,
  });
  const amountNanoUsd = worst(outputTokens);
  const lowest = lowestOutput(call.output, outputTokens);
  const minimumNanoUsd = key.whenShort === 'Lower' ? worst(lowest) : amountNanoUsd;
  return { price, inputTokens, estimatedInputTokens: call.estimateInput(candidate), outputTokens, amountNanoUsd, minimumNanoUsd };
}

/** The output limit per answer that a granted amount, at least the minimum, pays for. */
export function affordableOutput(call: EndpointCall, bounds: CallBounds, grantedNanoUsd: bigint): number {
  const { output } = call;
  if (!output || grantedNanoUsd >= bounds.amountNanoUsd) return bounds.outputTokens;
  const all = affordableOutputTokens(bounds.price, grantedNanoUsd, { inputTokens: bounds.inputTokens, oneHourCache: call.oneHourCache });
  return Math.min(bounds.outputTokens, Math.floor((all - output.predictionTokens) / output.answers));
}

/** What the client wished for, at most what the model gives. */
function outputLimit(output: OutputWish, candidate: Candidate): number {
  return Math.min(output.maxTokens ?? candidate.model.maxOutputTokens, candidate.model.maxOutputTokens);
}

function lowestOutput(output: OutputWish | undefined, limit: number): number {
  if (!output || output.fixed) return limit;
  // a thinking budget must stay below the limit that is sent (Anthropic: max_tokens > budget_tokens)
  const floor = Math.max(LEAST_OUTPUT_TOKENS, output.thinkingBudget === undefined ? 0 : output.thinkingBudget + 1);
  return Math.min(floor, limit);
}
