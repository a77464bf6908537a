/**
 * [P] The counters of limits in the memory of one process: calls that run, and what calls took in the last 60 seconds.
 * A call takes its whole list or nothing.
 */
import { CallMap } from './call-map.ts';
import type { Consumed, CountLimit, FullLimit, LedgerGauges, LimitState, Scope, TakeResult, Wanted } from './ledger.ts';
import { amountOf, counterName, isConcurrency, notCounted, NOTHING_CONSUMED, usedOf } from './load.ts';
import { addToSecond, createSlidingMinute, emptyInMs, forgetOld, secondOf, waitMs } from './sliding-minute.ts';
import type { SlidingMinute } from './sliding-minute.ts';

/** The slots of one concurrency limit. */
interface Slots {
  readonly scope: Scope;
  inUse: number;
}

/** What a call has taken of one limit, in which second. */
interface Taken {
  readonly limit: CountLimit;
  readonly amount: number;
  readonly second: number;
}

export interface LimitCounters {
  /** By the limits' ids. */
  readonly slots: Map<string, Slots>;
  /** By measure and id. */
  readonly minutes: Map<string, SlidingMinute>;
  readonly owned: CallMap<readonly Taken[]>;
  /** The second in which `minutes` was last searched for counters without anything in them. */
  sweptSecond: number;
}

/** How often counters that no longer count anything are dropped, in seconds. */
const SWEEP_SECONDS = 60;

export function createLimitCounters(): LimitCounters {
  return { slots: new Map(), minutes: new Map(), owned: new CallMap(), sweptSecond: 0 };
}

/**
 * Takes all of the limits or none. A limit that the call already counts in is not taken again, and its state is not
 * told.
 */
export function take(
  counters: LimitCounters,
  callId: string,
  { limits, load, nowMs }: Wanted & { readonly nowMs: number },
): TakeResult {
  const mine = counters.owned.get(callId);
  const wanted = notCounted(mine, limits);
  for (const limit of wanted) {
    const full = fullAt(counters, limit, { amount: amountOf(limit, load), nowMs });
    if (full) return full;
  }
  const taken = wanted.map((limit) => add(counters, { limit, amount: amountOf(limit, load), second: secondOf(nowMs) }));
  if (taken.length > 0) counters.owned.set(callId, [...(mine ?? []), ...taken]);
  const states = statesOf(counters, wanted, nowMs);
  return { outcome: 'Taken', ...(states.length > 0 && { states }) };
}

/** Those of the limits that the call does not count in yet. */
export function missing(
  { owned }: LimitCounters,
  callId: string,
  limits: readonly CountLimit[],
): readonly CountLimit[] {
  return notCounted(owned.get(callId), limits);
}

/** Ends what a refused call has taken of these limits. */
export function giveBack(counters: LimitCounters, callId: string, limits: readonly CountLimit[]): void {
  endWhere(counters, callId, { consumed: NOTHING_CONSUMED, isEnded: ({ limit }) => limits.includes(limit) });
}

/** Counts running calls under concurrency limits, even if these are full. */
export function count(counters: LimitCounters, callId: string, limits: readonly CountLimit[]): void {
  const mine = counters.owned.get(callId);
  const taken = notCounted(mine, limits).map((limit) => add(counters, { limit, amount: 1, second: 0 }));
  if (taken.length > 0) counters.owned.set(callId, [...(mine ?? []), ...taken]);
}

/** Ends what a call has taken in the given scopes, or in all, and corrects it to what was consumed. */
export function release(
  counters: LimitCounters,
  callId: string,
  { consumed, scopes }: { readonly consumed: Consumed; readonly scopes?: readonly Scope[] | undefined },
): void {
  endWhere(counters, callId, { consumed, isEnded: ({ limit }) => scopes?.includes(limit.scope) ?? true });
}

function endWhere(
  counters: LimitCounters,
  callId: string,
  { consumed, isEnded }: { readonly consumed: Consumed; readonly isEnded: (taken: Taken) => boolean },
): void {
  const mine = counters.owned.get(callId);
  if (!mine) return;
  for (const taken of mine) if (isEnded(taken)) end(counters, taken, consumed);
  const kept = mine.filter((taken) => !isEnded(taken));
  if (kept.length > 0) counters.owned.set(callId, kept);
  else counters.owned.delete(callId);
}

/** Slots in use by scope. */
export function countSlots({ slots }: LimitCounters): LedgerGauges['slots'] {
  const total = { Key: 0, Group: 0, Channel: 0 };
  // an account has no concurrency limit
  for (const { scope, inUse } of slots.values()) if (scope !== 'Account') total[scope] += inUse;
  return total;
}

/** Undefined: so much can be taken now. */
function fullAt(
  counters: LimitCounters,
  limit: CountLimit,
  { amount, nowMs }: { readonly amount: number; readonly nowMs: number },
): FullLimit | undefined {
  if (isConcurrency(limit)) {
    const isFull = (counters.slots.get(limit.id)?.inUse ?? 0) >= limit.amount;
    return isFull ? { outcome: 'Full', full: limit } : undefined;
  }
  const minute = counters.minutes.get(counterName(limit)) ?? createSlidingMinute();
  forgetOld(minute, nowMs);
  const retryMs = waitMs(minute, { amount, limit: limit.amount }, nowMs);
  if (retryMs === 0) return undefined;
  return { outcome: 'Full', full: limit, left: leftOf(limit, minute), retryMs };
}

function leftOf({ amount }: CountLimit, { sum }: SlidingMinute): number {
  return Math.max(0, amount - sum);
}

function add(counters: LimitCounters, taken: Taken): Taken {
  const { limit, amount, second } = taken;
  if (isConcurrency(limit)) {
    const slots = counters.slots.get(limit.id) ?? { scope: limit.scope, inUse: 0 };
    slots.inUse++;
    counters.slots.set(limit.id, slots);
    return taken;
  }
  dropUnused(counters, second);
  const minute = counters.minutes.get(counterName(limit)) ?? createSlidingMinute();
  addToSecond(minute, second, amount);
  counters.minutes.set(counterName(limit), minute);
  return taken;
}

function end(counters: LimitCounters, { limit, amount, second }: Taken, consumed: Consumed): void {
  if (isConcurrency(limit)) {
    const slots = counters.slots.get(limit.id);
    if (slots && --slots.inUse === 0) counters.slots.delete(limit.id);
    return;
  }
  const minute = counters.minutes.get(counterName(limit));
  if (minute) addToSecond(minute, second, usedOf(limit, consumed) - amount);
}

function statesOf(counters: LimitCounters, limits: readonly CountLimit[], nowMs: number): LimitState[] {
  return limits.flatMap((limit) => {
    const minute = counters.minutes.get(counterName(limit));
    if (!minute || isConcurrency(limit)) return [];
    return [{ limit, left: leftOf(limit, minute), resetMs: emptyInMs(minute, nowMs) }];
  });
}

/** Now and then, so that counters of limits that nobody uses take no memory. */
function dropUnused(counters: LimitCounters, second: number): void {
  if (second - counters.sweptSecond < SWEEP_SECONDS) return;
  counters.sweptSecond = second;
  for (const [name, minute] of counters.minutes) {
    forgetOld(minute, second * 1000);
    if (minute.seconds.length === 0) counters.minutes.delete(name);
  }
}
