/** Calls, limits and clocks for the ledger's tests, with defaults. */
import type { HoldRequest, SpendingLimits, Limit, Settlement } from '#ledger/ledger.ts';
import type { CallOrigin, CallProgress, CallStatus } from '#usage/record.ts';

/** Friday, 20 November 2026, noon UTC. */
export const NOON_MS = Date.UTC(2026, 10, 20, 12);
export const DAY_MS = 86_400_000;

export interface TestClock {
  nowMs: number;
}

export function testClock(nowMs = NOON_MS): TestClock {
  return { nowMs };
}

export function origin(callId: string, over: Partial<CallOrigin> = {}): CallOrigin {
  return {
    callId,
    keyUid: 'key-1',
    account: 'team-a/team-a',
    createdMs: NOON_MS,
    group: 'auto-a',
    model: 'claude-sonnet-4-5',
    channel: 'anthropic/direct',
    catalog: 'model-gateway/anthropic@1',
    ...over,
  };
}

/** Very high limits, except the given ones. */
export function limits(over: Partial<SpendingLimits> = {}): SpendingLimits {
  return {
    keyLimitNanoUsd: null,
    period: 'Never',
    keyGeneration: 1n,
    accountCreditNanoUsd: 1_000_000n,
    accountGeneration: 1n,
    ...over,
  };
}

export function progress(costNanoUsd: bigint, over: Partial<CallProgress> = {}): CallProgress {
  return {
    costNanoUsd,
    tokens: {
      input: 10,
      cached: 1,
      cacheWrite5m: 2,
      cacheWrite1h: 3,
      output: Number(costNanoUsd % 1000n),
    },
    usageSource: 'Partial',
    ...over,
  };
}

export interface HoldOptions {
  readonly origin?: Partial<CallOrigin>;
  readonly limits?: Partial<SpendingLimits>;
  readonly minimum?: bigint;
  readonly progress?: CallProgress;
}

export function holdRequest(callId: string, amountNanoUsd: bigint, options: HoldOptions = {}): HoldRequest {
  return {
    origin: origin(callId, options.origin),
    limits: limits(options.limits),
    amountNanoUsd,
    minimumNanoUsd: options.minimum ?? amountNanoUsd,
    progress: options.progress ?? progress(0n),
  };
}

const LATER: string = 'Postponed';
/** A status that a newer version writes, and this one does not know. */
export const NEWER_STATUS = LATER as CallStatus;

export function settlement(
  callId: string,
  costNanoUsd: bigint,
  over: Partial<Settlement> & { origin?: CallOrigin } = {},
): Settlement {
  return {
    callId,
    progress: progress(costNanoUsd, { usageSource: 'Provider' }),
    status: 'Succeeded',
    durationMs: 1234,
    origin: origin(callId),
    ...over,
  };
}

export function slot(scope: Limit['scope'], id: string, limit: number): Limit {
  return { scope, id: `${scope.toLowerCase()}/${id}`, measure: 'Concurrency', amount: limit };
}
