/** [P] Adds sums of calls. */
import type { MarginSum } from '#usage/tables.ts';
import type { SpendingSum } from './usage.ts';

export const NO_CALLS: SpendingSum = { calls: 0, costNanoUsd: 0n, inputTokens: 0, outputTokens: 0 };

export function added(a: SpendingSum, b: SpendingSum): SpendingSum {
  return {
    calls: a.calls + b.calls,
    costNanoUsd: a.costNanoUsd + b.costNanoUsd,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
}

export function addAll(sums: Iterable<SpendingSum>): SpendingSum {
  let all = NO_CALLS;
  for (const each of sums) all = added(all, each);
  return all;
}

/** The sum of all of them, with the first one's names; undefined if there are none. */
export function addAllMargins(sums: readonly MarginSum[]): MarginSum | undefined {
  const [first, ...rest] = sums;
  return first && rest.reduce(addedMargins, first);
}

/** Keeps the first one's names. */
export function addedMargins(a: MarginSum, b: MarginSum): MarginSum {
  return {
    ...a,
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    billedNanoUsd: a.billedNanoUsd + b.billedNanoUsd,
    known: {
      calls: a.known.calls + b.known.calls,
      billedNanoUsd: a.known.billedNanoUsd + b.known.billedNanoUsd,
      upstreamNanoUsd: a.known.upstreamNanoUsd + b.known.upstreamNanoUsd,
    },
  };
}
