/** [P] Brings amounts and counts into range, so that an invalid figure cannot stop a settlement. */
import type { CallProgress } from '#usage/record.ts';
import type { TokenCounts } from '#price/tokens.ts';

/** The largest amount that 64-bit integers hold; about 9.2 billion USD. */
export const MAX_NANO_USD = 2n ** 63n - 1n;

export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function notNegative(value: bigint): bigint {
  return value < 0n ? 0n : value;
}

/** Rounds a count or duration up; negative values and NaN become 0. */
export function wholeNumber(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  return value > 0 ? Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER) : 0;
}

export function sanitizeProgress(progress: CallProgress): CallProgress {
  const { costNanoUsd, tokens, usageSource, lines, upstreamCostNanoUsd } = progress;
  return {
    costNanoUsd: inRange(costNanoUsd),
    tokens: sanitizeTokens(tokens),
    usageSource,
    ...(lines && lines.length > 0 && { lines }),
    ...(upstreamCostNanoUsd !== undefined && { upstreamCostNanoUsd: inRange(upstreamCostNanoUsd) }),
  };
}

function inRange(nanoUsd: bigint): bigint {
  return least(notNegative(nanoUsd), MAX_NANO_USD);
}

function sanitizeTokens({ input, cached, cacheWrite5m, cacheWrite1h, output }: TokenCounts): TokenCounts {
  return {
    input: wholeNumber(input),
    cached: wholeNumber(cached),
    cacheWrite5m: wholeNumber(cacheWrite5m),
    cacheWrite1h: wholeNumber(cacheWrite1h),
    output: wholeNumber(output),
  };
}
