/**
 * [P] How money moves, all in memory and each step whole before the next begins: a hold is granted or not, confirmed or
 * withdrawn, renewed, and settled once. The caller makes what is granted durable before it tells anyone (embedded.ts).
 */
import { cleanProgress, least, MAX_NANO_USD, notNegative, wholeNumber } from './amounts.ts';
import { admitTo, findWindow, knownWindow, openAccount, openKey, recount, spend, tallyOf, trimPast } from './books.ts';
import type { AccountBook, Books, Hold, KeyBook, SettledCall } from './books.ts';
import { addJob } from './jobs.ts';
import type { Job } from './jobs.ts';
import { LedgerUnavailable } from './ledger.ts';
import type { HoldRequest, HoldResult, KeySpending, Limits, QuotaPeriod, JobOrigin, Settlement } from './ledger.ts';
import { spanAt, windowKindOf } from './periods.ts';
import type { CallOrigin, CallProgress, UsageRecord } from './usage-record.ts';

/** A granted hold that is not durable yet, and what it replaces. */
export interface PendingHold {
  readonly hold: Hold;
  readonly previous: Hold | undefined;
}

export type Placement =
  | { readonly result: Extract<HoldResult, { outcome: 'Held' }>; readonly pending: PendingHold }
  | { readonly result: Exclude<HoldResult, { outcome: 'Held' }>; readonly pending: undefined };

/** Grants min(amount, free) if that is at least the minimum. The grant is pending until confirmHold or withdrawHold. */
export function placeHold(books: Books, request: HoldRequest, nowMs: number): Placement {
  const { origin, limits } = request;
  const previous = books.holds.get(origin.callId);
  refuseMisuse(books, request, previous);
  const key = openKey(books, origin.keyUid, nowMs);
  const account = openAccount(books, origin.account);
  if (!takeLimits(key, account, limits)) return { result: { outcome: 'StaleLimits' }, pending: undefined };

  const { day, month } = previous ?? key;
  const own = previous?.countedNanoUsd ?? 0n;
  const keyFree = freeUnder(limits.keyLimitNanoUsd, tallyOf(limits.period, { key, day, month }), own);
  const accountFree = freeUnder(limits.accountCreditNanoUsd, account, own);
  const free = least(keyFree, accountFree);
  const grantedNanoUsd = least(request.amountNanoUsd, free);
  if (grantedNanoUsd < request.minimumNanoUsd || grantedNanoUsd < 0n) {
    const short = keyFree <= accountFree ? 'Key' : 'Account';
    return { result: { outcome: 'Short', short, availableNanoUsd: notNegative(free) }, pending: undefined };
  }
  const hold: Hold = {
    origin, limits, key, account, day, month, grantedNanoUsd, countedNanoUsd: own,
    progress: cleanProgress(request.progress), renewedMs: nowMs, pending: true,
  };
  enter(books, hold, previous);
  return { result: { outcome: 'Held', heldNanoUsd: grantedNanoUsd }, pending: { hold, previous } };
}

function enter(books: Books, hold: Hold, previous: Hold | undefined): void {
  const { origin, key, grantedNanoUsd, countedNanoUsd } = hold;
  books.holds.set(origin.callId, hold);
  books.log.held(hold);
  // until it is durable, either amount may turn out to be the one that counts
  recount(hold, grantedNanoUsd > countedNanoUsd ? grantedNanoUsd : countedNanoUsd);
  if (!previous) admitTo(hold, 1);
  key.lastUsedMs = hold.renewedMs;
}

/** Remembers the limits as the latest, unless later ones have been seen. */
function takeLimits(key: KeyBook, account: AccountBook, limits: Limits): boolean {
  if (key.seen && limits.keyGeneration < key.seen.generation) return false;
  if (account.seen && limits.accountGeneration < account.seen.generation) return false;
  if (!isKnown(key, account, limits)) {
    key.seen = { generation: limits.keyGeneration, limitNanoUsd: limits.keyLimitNanoUsd, period: limits.period };
    account.seen = { generation: limits.accountGeneration, creditNanoUsd: limits.accountCreditNanoUsd };
  }
  return true;
}

/** Most calls come with the limits that the one before came with. */
function isKnown({ seen: key }: KeyBook, { seen: account }: AccountBook, limits: Limits): boolean {
  return key?.generation === limits.keyGeneration && key.limitNanoUsd === limits.keyLimitNanoUsd && key.period === limits.period
    && account?.generation === limits.accountGeneration && account.creditNanoUsd === limits.accountCreditNanoUsd;
}

/** The grant is durable. */
export function confirmHold(books: Books, { hold }: PendingHold): void {
  if (books.holds.get(hold.origin.callId) !== hold) return;
  hold.pending = false;
  recount(hold, hold.grantedNanoUsd);
}

/** The grant could not be made durable in time: as if it had not been asked for, also on disk. */
export function withdrawHold(books: Books, { hold, previous }: PendingHold): void {
  const { callId } = hold.origin;
  if (books.holds.get(callId) !== hold) return;
  // it may never have been told of in flight, but what it held may have been read, and its key was used
  books.changedKeys.add(hold.key);
  books.changedAccounts.add(hold.account);
  if (!previous) {
    dropHold(books, hold);
    books.log.gone(callId);
    return;
  }
  previous.countedNanoUsd = hold.countedNanoUsd;
  previous.progress = hold.progress;
  previous.renewedMs = hold.renewedMs;
  books.holds.set(callId, previous);
  recount(previous, previous.grantedNanoUsd);
  books.log.held(previous);
}

/** Notes what a reaper would bill. It caps nothing: the settlement decides. Unknown calls are ignored. */
export function recordProgress(books: Books, progress: ReadonlyMap<string, CallProgress>, nowMs: number): void {
  for (const [callId, latest] of progress) {
    const hold = books.holds.get(callId);
    if (!hold) continue;
    hold.progress = cleanProgress(latest);
    hold.renewedMs = nowMs;
    books.log.renewed(hold);
  }
}

/**
 * Replaces a call's hold by its cost, and records its job; undefined where there is no hold. A call settled already answers as
 * it did.
 */
export function settleCall(books: Books, settlement: Omit<Settlement, 'origin'> & Partial<Pick<Settlement, 'origin'>>, nowMs: number): SettledCall | undefined {
  const { callId, job } = settlement;
  const hold = books.holds.get(callId);
  if (!hold) return books.recent.get(callId);
  const progress = cleanProgress(settlement.progress);
  if (settlement.limits) takeLimits(hold.key, hold.account, settlement.limits);
  const billedNanoUsd = reached(hold, progress.costNanoUsd);
  dropHold(books, hold);
  spend(books, hold, billedNanoUsd);
  hold.key.lastUsedMs = Math.max(hold.key.lastUsedMs ?? 0, hold.origin.createdMs);
  const settled = answer(hold, recordOf(hold, settlement, { progress, billedNanoUsd }), nowMs);
  books.log.settled(settled, hold);
  if (job) recordJob(books, job, { hold, record: settled.record });
  return settled;
}

/** What of a cost the hold and what is free beyond it pay for: nearly always the hold is enough. */
function reached(hold: Hold, costNanoUsd: bigint): bigint {
  return costNanoUsd <= hold.countedNanoUsd ? costNanoUsd : least(costNanoUsd, hold.countedNanoUsd + notNegative(freeFor(hold)));
}

/** Written out: spreading costs more than all the rest of a settlement. */
function recordOf({ origin }: Hold, settlement: Omit<Settlement, 'origin'> & Partial<Pick<Settlement, 'origin'>>,
  { progress, billedNanoUsd }: { readonly progress: CallProgress; readonly billedNanoUsd: bigint }): UsageRecord {
  const route = settlement.origin ?? origin;
  return {
    callId: origin.callId, keyUid: origin.keyUid, account: origin.account, createdMs: origin.createdMs,
    group: route.group, model: route.model, channel: route.channel, catalog: route.catalog,
    costNanoUsd: billedNanoUsd, tokens: progress.tokens, usageSource: progress.usageSource,
    status: settlement.status, unbilledNanoUsd: progress.costNanoUsd - billedNanoUsd, durationMs: wholeNumber(settlement.durationMs),
  };
}

function recordJob(books: Books, { jobId, pollMs }: JobOrigin, { hold, record }: { readonly hold: Hold; readonly record: UsageRecord }): void {
  const job: Job = {
    jobId, origin: originOf(record), costNanoUsd: record.costNanoUsd, dayStartMs: hold.day.startMs, monthStartMs: hold.month.startMs,
    state: 'Running', pollMs: wholeNumber(pollMs), endedMs: null,
  };
  if (addJob(books.jobs, job)) books.log.job(job);
}

function originOf({ callId, keyUid, account, createdMs, group, model, channel, catalog }: UsageRecord): CallOrigin {
  return { callId, keyUid, account, createdMs, group, model, channel, catalog };
}

/** Ends a running job. One that failed gives what was billed for it back, in the windows that it was billed in. */
export function endJob(books: Books, job: Job, { state, nowMs }: { readonly state: 'Completed' | 'Failed'; readonly nowMs: number }): void {
  if (job.state !== 'Running') return;
  job.state = state;
  job.endedMs = wholeNumber(nowMs);
  if (state === 'Failed') refund(books, job, nowMs);
  books.log.job(job);
}

function refund(books: Books, { origin, costNanoUsd, dayStartMs, monthStartMs }: Job, nowMs: number): void {
  const key = books.keys.get(origin.keyUid) ?? openKey(books, origin.keyUid, nowMs);
  const account = openAccount(books, origin.account);
  spend(books, { key, account, day: findWindow(key, 'Day', dayStartMs), month: findWindow(key, 'Month', monthStartMs) }, -costNanoUsd);
}

/** A settled call whose cost was given back. */
export function asRefunded(call: SettledCall): SettledCall {
  return { ...call, record: { ...call.record, costNanoUsd: 0n, unbilledNanoUsd: 0n, status: 'Refunded' } };
}

/** The record of a call that is running or was settled lately. */
export function readRecord(books: Books, callId: string, nowMs: number): UsageRecord | undefined {
  const hold = books.holds.get(callId);
  if (!hold) return books.recent.get(callId)?.record;
  return { ...hold.origin, ...hold.progress, status: 'Running', unbilledNanoUsd: 0n, durationMs: wholeNumber(nowMs - hold.origin.createdMs) };
}

/** What a key has spent and holds in its current period. */
export function readKeySpending(books: Books, uid: string, { period, nowMs }: { period: QuotaPeriod; nowMs: number }): KeySpending {
  const kind = windowKindOf(period);
  const span = kind && spanAt(kind, nowMs);
  const periodSpan = { periodStartMs: span?.startMs ?? null, resetsMs: span?.endMs ?? null };
  const key = books.keys.get(uid);
  if (!key) return { ...periodSpan, spentNanoUsd: 0n, heldNanoUsd: 0n, totalSpentNanoUsd: 0n, lastUsedMs: null };
  const { spentNanoUsd, heldNanoUsd } = kind && span ? knownWindow(key, kind, span.startMs) : key.total;
  return { ...periodSpan, spentNanoUsd, heldNanoUsd, totalSpentNanoUsd: key.total.spentNanoUsd, lastUsedMs: key.lastUsedMs };
}

/** Ends a hold without settling it. */
export function dropHold(books: Books, hold: Hold): void {
  const { key, origin } = hold;
  recount(hold, 0n);
  admitTo(hold, -1);
  books.holds.delete(origin.callId);
  if (key.past.length > 0) trimPast(key);
}

/** What is free beyond a call's hold: under the limits that it was admitted with, and under later ones. */
function freeFor(hold: Hold): bigint {
  const { key, account, limits } = hold;
  let free = least(
    freeUnder(limits.keyLimitNanoUsd, tallyOf(limits.period, hold)),
    freeUnder(limits.accountCreditNanoUsd, account),
  );
  if (key.seen) free = least(free, freeUnder(key.seen.limitNanoUsd, tallyOf(key.seen.period, hold)));
  if (account.seen) free = least(free, freeUnder(account.seen.creditNanoUsd, account));
  return free;
}

/** Negative where more is spent and held than the limit allows. */
function freeUnder(limitNanoUsd: bigint | null, tally: { spentNanoUsd: bigint; heldNanoUsd: bigint }, ownNanoUsd = 0n): bigint {
  if (limitNanoUsd === null) return MAX_NANO_USD;
  return least(limitNanoUsd, MAX_NANO_USD) - tally.spentNanoUsd - tally.heldNanoUsd + ownNanoUsd;
}

function answer(hold: Hold, record: UsageRecord, settledMs: number): SettledCall {
  const { keyLimitNanoUsd, period } = hold.limits;
  const { spentNanoUsd } = tallyOf(period, hold);
  return {
    record, settledMs, keySpentNanoUsd: spentNanoUsd,
    keyRemainingNanoUsd: keyLimitNanoUsd === null ? null : notNegative(least(keyLimitNanoUsd, MAX_NANO_USD) - spentNanoUsd),
  };
}

function refuseMisuse(books: Books, { origin }: HoldRequest, previous: Hold | undefined): void {
  if (books.recent.has(origin.callId)) throw new LedgerUnavailable('this call is settled already');
  if (previous?.pending) throw new LedgerUnavailable('an earlier hold of this call is still being written');
  if (previous && (previous.origin.keyUid !== origin.keyUid || previous.origin.account !== origin.account))
    throw new LedgerUnavailable('another key\'s call has this id');
}
