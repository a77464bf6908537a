/**
 * [P] The embedded ledger's decisions, made in memory on one thread: grants, confirms, withdraws, renews and settles
 * holds. The caller makes each step durable before it acknowledges it (embedded.ts).
 */
import { sanitizeProgress, least, MAX_NANO_USD, notNegative, wholeNumber } from './amounts.ts';
import {
  countHold,
  findWindow,
  markWindows,
  windowOrEmpty,
  openAccount,
  openKey,
  seenFor,
  setCountedAmount,
  spend,
  tallyOf,
  trimPastWindows,
  windowTally,
} from './balances.ts';
import type { AccountBalance, Balances, Counted, Hold, KeyBalance, SettledCall, Tally } from './balances.ts';
import { addJob } from './jobs.ts';
import type { Job } from './jobs.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { AccountSpending, CalendarWindow, KeySpending, PeriodOf } from '#ledger/spending.ts';
import type { HoldRequest, HoldResult, JobBill, JobOrigin, MoneyLimit, Settlement, ShortHold } from './ledger.ts';
import { moneyIn, spanOfLimit } from './load.ts';
import { isMarked } from './marks.ts';
import { spanAt, windowKindOf } from '#ledger/periods.ts';
import { UTC } from '#snapshot/time-zone.ts';
import type { CallOrigin, CallProgress, UsageRecord } from '#usage/record.ts';

/** A granted hold that is not durable yet, and the hold that it replaces. */
export interface PendingHold {
  readonly hold: Hold;
  readonly previous: Hold | undefined;
}

export type HoldDecision =
  | { readonly result: Extract<HoldResult, { outcome: 'Held' }>; readonly pending: PendingHold }
  | { readonly result: Exclude<HoldResult, { outcome: 'Held' }>; readonly pending: undefined };

/**
 * Grants min(amount, free) if that is at least the minimum, and nothing to a call that costs nothing, whatever is
 * free. The grant is pending until confirmHold or withdrawHold.
 */
export function placeHold(balances: Balances, request: HoldRequest, nowMs: number): HoldDecision {
  const { origin } = request;
  const limits = moneyIn(request.limits);
  const previous = balances.holds.get(origin.callId);
  assertHoldAllowed(balances, request, previous);
  const key = openKey(balances, origin.keyUid, nowMs);
  const account = openAccount(balances, origin.account);
  const counted = previous ?? { key, account, admittedMs: nowMs, day: key.day, month: key.month };
  if (!updateLimits(counted, limits, counted.admittedMs))
    return { result: { outcome: 'StaleLimits' }, pending: undefined };
  if (!previous) markWindows(balances, counted, { limits, nowMs });

  const own = previous?.countedNanoUsd ?? 0n;
  const { limit, freeNanoUsd } = tightest(limits, counted, own);
  const grantedNanoUsd = request.amountNanoUsd === 0n ? 0n : least(request.amountNanoUsd, freeNanoUsd);
  if (limit && (grantedNanoUsd < request.minimumNanoUsd || grantedNanoUsd < 0n))
    return { result: shortOf(limit, counted, freeNanoUsd), pending: undefined };
  const hold: Hold = {
    origin,
    limits,
    key,
    account,
    admittedMs: counted.admittedMs,
    day: counted.day,
    month: counted.month,
    grantedNanoUsd,
    countedNanoUsd: own,
    progress: sanitizeProgress(request.progress),
    renewedMs: nowMs,
    pending: true,
  };
  enter(balances, hold, previous);
  return { result: { outcome: 'Held', heldNanoUsd: grantedNanoUsd }, pending: { hold, previous } };
}

function enter(balances: Balances, hold: Hold, previous: Hold | undefined): void {
  const { origin, key, grantedNanoUsd, countedNanoUsd } = hold;
  balances.holds.set(origin.callId, hold);
  balances.log.held(hold);
  // until the new hold is durable a crash may leave either of them, so the larger amount counts
  setCountedAmount(hold, grantedNanoUsd > countedNanoUsd ? grantedNanoUsd : countedNanoUsd);
  if (!previous) countHold(hold, 1);
  key.lastUsedMs = hold.renewedMs;
}

/** Remembers the limits as the latest of their owners. Returns false if newer ones were seen before. */
function updateLimits(
  { key, account }: Pick<Hold, 'key' | 'account'>,
  limits: readonly MoneyLimit[],
  atMs: number,
): boolean {
  const ofKey = limits.filter(({ scope }) => scope === 'Key');
  const ofAccount = limits.filter(({ scope }) => scope === 'Account');
  if (isOlder(ofKey, key.seen.limits) || isOlder(ofAccount, account.seen.limits)) return false;
  key.seen = { limits: ofKey, atMs };
  account.seen = { limits: ofAccount, atMs };
  return true;
}

function isOlder([limit]: readonly MoneyLimit[], [seen]: readonly MoneyLimit[]): boolean {
  return limit !== undefined && seen !== undefined && limit.generation < seen.generation;
}

/** Called when the grant is durable. */
export function confirmHold(balances: Balances, { hold }: PendingHold): void {
  if (balances.holds.get(hold.origin.callId) !== hold) return;
  hold.pending = false;
  setCountedAmount(hold, hold.grantedNanoUsd);
}

function shortOf(limit: MoneyLimit, counted: Counted, freeNanoUsd: bigint): ShortHold {
  const { spentNanoUsd } = tallyOf(limit, counted);
  return {
    outcome: 'Short',
    limit,
    spentNanoUsd,
    ...spanOfLimit(limit, counted.admittedMs),
    availableNanoUsd: notNegative(freeNanoUsd),
  };
}

/** Undoes a grant that did not become durable in time, and logs the withdrawal. */
export function withdrawHold(balances: Balances, { hold, previous }: PendingHold): void {
  const { callId } = hold.origin;
  if (balances.holds.get(callId) !== hold) return;
  // a reader may have seen the withdrawn amount
  balances.changedKeys.add(hold.key);
  balances.changedAccounts.add(hold.account);
  if (!previous) {
    dropHold(balances, hold);
    balances.log.withdrawn(callId);
    return;
  }
  previous.countedNanoUsd = hold.countedNanoUsd;
  previous.progress = hold.progress;
  previous.renewedMs = hold.renewedMs;
  balances.holds.set(callId, previous);
  setCountedAmount(previous, previous.grantedNanoUsd);
  balances.log.held(previous);
}

/** Records what a reaper would bill. Ignores unknown calls. */
export function recordProgress(balances: Balances, progress: ReadonlyMap<string, CallProgress>, nowMs: number): void {
  for (const [callId, latest] of progress) {
    const hold = balances.holds.get(callId);
    if (!hold) continue;
    hold.progress = sanitizeProgress(latest);
    hold.renewedMs = nowMs;
    balances.log.held(hold);
  }
}

/** A settlement without an origin uses the origin of its hold. */
export type CoreSettlement = Omit<Settlement, 'origin'> & Partial<Pick<Settlement, 'origin'>>;

/**
 * Replaces a call's hold by its cost, and records its job. For a call that was settled recently, returns the first
 * result; returns undefined if the call is unknown.
 */
export function settleCall(balances: Balances, settlement: CoreSettlement, nowMs: number): SettledCall | undefined {
  const { callId, job } = settlement;
  const hold = balances.holds.get(callId);
  if (!hold) return balances.recent.get(callId);
  const progress = sanitizeProgress(settlement.progress);
  if (settlement.limits) updateLimits(hold, settlement.limits, nowMs);
  const billedNanoUsd = least(progress.costNanoUsd, hold.countedNanoUsd + notNegative(freeFor(hold)));
  dropHold(balances, hold);
  spend(balances, hold, billedNanoUsd);
  hold.key.lastUsedMs = Math.max(hold.key.lastUsedMs ?? 0, hold.origin.createdMs);
  const { group, model, channel, catalog } = settlement.origin ?? hold.origin;
  const record: UsageRecord = {
    ...hold.origin,
    group,
    model,
    channel,
    catalog,
    ...progress,
    costNanoUsd: billedNanoUsd,
    status: settlement.status,
    unbilledNanoUsd: progress.costNanoUsd - billedNanoUsd,
    durationMs: wholeNumber(settlement.durationMs),
  };
  const settled = answer(hold, record, nowMs);
  balances.log.settled(settled, hold);
  if (job) recordJob(balances, job, { hold, record });
  return settled;
}

interface Ended {
  readonly hold: Hold;
  readonly record: UsageRecord;
}

function recordJob(balances: Balances, { jobId, pollMs, terms }: JobOrigin, { hold, record }: Ended): void {
  const job: Job = {
    jobId,
    origin: originOf(record),
    terms,
    costNanoUsd: record.costNanoUsd,
    admittedMs: hold.admittedMs,
    dayStartMs: hold.day.startMs,
    monthStartMs: hold.month.startMs,
    state: 'Running',
    bill: undefined,
    pollMs: wholeNumber(pollMs),
    endedMs: null,
  };
  if (addJob(balances.jobs, job)) balances.log.job(job);
}

function originOf({ callId, keyUid, account, createdMs, group, model, channel, catalog }: UsageRecord): CallOrigin {
  return { callId, keyUid, account, createdMs, group, model, channel, catalog };
}

export interface JobResult {
  readonly state: 'Completed' | 'Failed';
  readonly bill?: JobBill | undefined;
  readonly nowMs: number;
}

/**
 * Ends a running job: replaces its charge by the bill, or refunds it if the job failed, in the windows that were
 * billed. Returns false if the job had ended before.
 */
export function endJob(balances: Balances, job: Job, { state, bill, nowMs }: JobResult): boolean {
  if (job.state !== 'Running') return false;
  job.state = state;
  job.bill = bill && { ...bill, progress: sanitizeProgress(bill.progress) };
  job.endedMs = wholeNumber(nowMs);
  const costNanoUsd = job.bill ? amountsOf(job.bill, job).costNanoUsd : state === 'Failed' ? 0n : job.costNanoUsd;
  if (costNanoUsd < job.costNanoUsd) refund(balances, job, { amountNanoUsd: job.costNanoUsd - costNanoUsd, nowMs });
  balances.log.job(job);
  return true;
}

interface Refund {
  readonly amountNanoUsd: bigint;
  readonly nowMs: number;
}

function refund(balances: Balances, job: Job, { amountNanoUsd, nowMs }: Refund): void {
  const { origin, admittedMs, dayStartMs, monthStartMs } = job;
  const key = balances.keys.get(origin.keyUid) ?? openKey(balances, origin.keyUid, nowMs);
  const account = openAccount(balances, origin.account);
  const [day, month] = [findWindow(key, 'Day', dayStartMs), findWindow(key, 'Month', monthStartMs)];
  spend(balances, { key, account, admittedMs, day, month }, -amountNanoUsd);
}

/** What a bill costs in place of a charge, which it never exceeds. */
export function amountsOf(
  { progress }: JobBill,
  charged: { readonly costNanoUsd: bigint },
): Pick<UsageRecord, 'costNanoUsd' | 'unbilledNanoUsd'> {
  const costNanoUsd = least(progress.costNanoUsd, charged.costNanoUsd);
  return { costNanoUsd, unbilledNanoUsd: progress.costNanoUsd - costNanoUsd };
}

/** The record of a settled call after its job's end; undefined: the job failed, and had no bill. */
export function correctedBy(call: SettledCall, bill: JobBill | undefined): SettledCall {
  if (!bill) return asRefunded(call);
  const { lines: _charged, upstreamCostNanoUsd: _cost, ...record } = call.record;
  return { ...call, record: { ...record, ...bill.progress, ...amountsOf(bill, record), status: bill.status } };
}

function asRefunded(call: SettledCall): SettledCall {
  const { record } = call;
  return {
    ...call,
    record: {
      ...record,
      costNanoUsd: 0n,
      unbilledNanoUsd: 0n,
      status: 'Refunded',
      ...(record.upstreamCostNanoUsd !== undefined && { upstreamCostNanoUsd: 0n }),
    },
  };
}

/** The record of a call that is running or was settled recently. */
export function readRecord(balances: Balances, callId: string, nowMs: number): UsageRecord | undefined {
  const hold = balances.holds.get(callId);
  if (!hold) return balances.recent.get(callId)?.record;
  const durationMs = wholeNumber(nowMs - hold.origin.createdMs);
  return { ...hold.origin, ...hold.progress, status: 'Running', unbilledNanoUsd: 0n, durationMs };
}

export interface PeriodAt extends PeriodOf {
  readonly nowMs: number;
}

/** What a key has spent and holds in its current period. */
export function readKeySpending(
  balances: Balances,
  uid: string,
  { period, timeZone = UTC, nowMs }: PeriodAt,
): KeySpending {
  const kind = windowKindOf(period);
  const span = kind && spanAt(kind, nowMs, timeZone);
  const periodSpan = { periodStartMs: span?.startMs ?? null, resetsMs: span?.endMs ?? null };
  const key = balances.keys.get(uid);
  if (!key) return { ...periodSpan, spentNanoUsd: 0n, heldNanoUsd: 0n, totalSpentNanoUsd: 0n, lastUsedMs: null };
  const { spentNanoUsd, heldNanoUsd } = kind ? tallyAt(key, { kind, timeZone }, nowMs) : key.total;
  const { total, lastUsedMs } = key;
  return { ...periodSpan, spentNanoUsd, heldNanoUsd, totalSpentNanoUsd: total.spentNanoUsd, lastUsedMs };
}

function tallyAt(key: KeyBalance, window: CalendarWindow, nowMs: number): Readonly<Tally> {
  const { kind, timeZone } = window;
  if (kind === 'Week' || isMarked('Key', window)) return windowTally(key, window, nowMs);
  return windowOrEmpty(key, kind, spanAt(kind, nowMs, timeZone).startMs);
}

/** What an account has spent and holds, in total and in its current windows. */
export function readAccountSpending(
  account: AccountBalance | undefined,
  windows: readonly CalendarWindow[],
  nowMs: number,
): AccountSpending {
  const { spentNanoUsd = 0n, heldNanoUsd = 0n } = account ?? {};
  if (windows.length === 0) return { spentNanoUsd, heldNanoUsd };
  const inWindows = windows.map((window) => ({
    ...spanAt(window.kind, nowMs, window.timeZone),
    ...(account ? windowTally(account, window, nowMs) : { spentNanoUsd: 0n, heldNanoUsd: 0n }),
  }));
  return { spentNanoUsd, heldNanoUsd, windows: inWindows };
}

/** Ends a hold without settling it. */
export function dropHold(balances: Balances, hold: Hold): void {
  const { key, origin } = hold;
  setCountedAmount(hold, 0n);
  countHold(hold, -1);
  balances.holds.delete(origin.callId);
  if (key.past.length > 0) trimPastWindows(key);
}

/** The amount that is free beyond a call's hold, under the limits at its admission and under the latest ones. */
function freeFor(hold: Hold): bigint {
  const { key, account, limits, admittedMs } = hold;
  const later = [...seenFor(key.seen, admittedMs), ...seenFor(account.seen, admittedMs)];
  return tightest([...limits, ...later], hold).freeNanoUsd;
}

interface Room {
  /** The limit that leaves least; the first of several. Undefined: there are no limits. */
  readonly limit: MoneyLimit | undefined;
  readonly freeNanoUsd: bigint;
}

/** What is free under all limits for a call that holds `ownNanoUsd` of it. */
function tightest(limits: readonly MoneyLimit[], counted: Counted, ownNanoUsd = 0n): Room {
  let room: Room = { limit: undefined, freeNanoUsd: MAX_NANO_USD };
  for (const limit of limits) {
    const freeNanoUsd = freeUnder(limit.amountNanoUsd, tallyOf(limit, counted), ownNanoUsd);
    if (!room.limit || freeNanoUsd < room.freeNanoUsd) room = { limit, freeNanoUsd };
  }
  return room;
}

/** Returns a negative amount if more is spent and held than the limit allows. */
function freeUnder(limitNanoUsd: bigint | null, tally: Readonly<Tally>, ownNanoUsd = 0n): bigint {
  if (limitNanoUsd === null) return MAX_NANO_USD;
  return least(limitNanoUsd, MAX_NANO_USD) - tally.spentNanoUsd - tally.heldNanoUsd + ownNanoUsd;
}

function answer(hold: Hold, record: UsageRecord, settledMs: number): SettledCall {
  const quota = hold.limits.find(({ scope }) => scope === 'Key');
  const { spentNanoUsd } = quota ? tallyOf(quota, hold) : hold.key.total;
  const limit = quota?.amountNanoUsd ?? null;
  const remaining = limit === null ? null : notNegative(least(limit, MAX_NANO_USD) - spentNanoUsd);
  return { record, settledMs, keySpentNanoUsd: spentNanoUsd, keyRemainingNanoUsd: remaining };
}

function assertHoldAllowed(balances: Balances, { origin }: HoldRequest, previous: Hold | undefined): void {
  if (balances.recent.has(origin.callId)) throw new LedgerUnavailable('this call is settled already');
  if (previous?.pending) throw new LedgerUnavailable('an earlier hold of this call is still being written');
  if (previous && (previous.origin.keyUid !== origin.keyUid || previous.origin.account !== origin.account))
    throw new LedgerUnavailable("another key's call has this id");
}
