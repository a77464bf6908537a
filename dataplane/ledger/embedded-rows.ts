/**
 * [P] The books as rows of the file, and back. Rows travel to the worker as one flat array of primitives per table, because
 * cloning many small objects costs more than the ledger's arithmetic. The column lists are the order of the values.
 */
import { MAX_NANO_USD, wholeNumber } from './amounts.ts';
import { admitTo, newWindow, openAccount, openKey, recount, windowStarting } from './books.ts';
import type { Books, Changes, Hold, KeyBook, SettledCall, Window } from './books.ts';
import type { Limits, QuotaPeriod } from './ledger.ts';
import { readRow } from './row-reader.ts';
import type { Row, RowReader, Value } from './row-reader.ts';
import type { CallOrigin, CallProgress, CallStatus, UsageSource } from './usage-record.ts';

const PERIODS: readonly QuotaPeriod[] = ['Never', 'Daily', 'Monthly'];
const STATUSES: readonly CallStatus[] = ['Succeeded', 'Failed', 'ClientClosed', 'ProviderCut', 'Abandoned'];
const SOURCES: readonly UsageSource[] = ['Provider', 'Estimated', 'Partial'];

const ORIGIN = ['call_id', 'key_uid', 'account', 'created_ms', 'group_name', 'model', 'channel', 'catalog'];
const PROGRESS = ['cost_nano_usd', 'input', 'cached', 'cache_write_5m', 'cache_write_1h', 'output', 'usage_source'];

export const KEY_COLUMNS = ['uid', 'day_start_ms', 'day_spent_nano_usd', 'month_start_ms', 'month_spent_nano_usd',
  'total_spent_nano_usd', 'last_used_ms', 'past_windows'];
export const ACCOUNT_COLUMNS = ['id', 'spent_nano_usd'];
export const HOLD_COLUMNS = [...ORIGIN, ...PROGRESS, 'held_nano_usd', 'day_start_ms', 'month_start_ms', 'key_limit_nano_usd', 'period',
  'credit_nano_usd', 'renewed_ms'];
/** In the order of an update: the call id comes last. */
export const PROGRESS_COLUMNS = [...PROGRESS, 'renewed_ms'];
export const USAGE_COLUMNS = [...ORIGIN, ...PROGRESS, 'status', 'unbilled_nano_usd', 'duration_ms', 'key_spent_nano_usd',
  'key_remaining_nano_usd', 'settled_ms'];

/** What one transaction writes. Values are absolute, so that writing it twice does no harm. */
export interface Batch {
  /** All that the books know follows: what the file has besides is forgotten first (usage records apart). */
  readonly whole: boolean;
  readonly keys: readonly Value[];
  readonly accounts: readonly Value[];
  readonly holds: readonly Value[];
  readonly progress: readonly Value[];
  /** Call ids of holds that are no more. */
  readonly gone: readonly Value[];
  readonly settled: readonly Value[];
  readonly nowMs: number;
}

type BatchInMaking = { [K in keyof Batch]: Batch[K] extends readonly Value[] ? Value[] : Batch[K] };

/** What the file had when it was opened. */
export interface StoredBooks {
  readonly keys: readonly Row[];
  readonly accounts: readonly Row[];
  readonly holds: readonly Row[];
}

/** The rows of what has changed, as the books are now; `whole`: of all that they know. */
export function encodeChanges(books: Books, changes: Changes, { whole, nowMs }: Pick<Batch, 'whole' | 'nowMs'>): Batch {
  const batch: BatchInMaking = { whole, nowMs, keys: [], accounts: [], holds: [], progress: [], gone: [], settled: [] };
  const { keys, accounts, holds, progress, settled } = whole ? everything(books, changes) : changes;
  for (const key of keys) pushKey(batch.keys, key);
  for (const { id, spentNanoUsd } of accounts) batch.accounts.push(id, spentNanoUsd);
  for (const callId of holds) {
    const hold = books.holds.get(callId);
    if (hold) pushHold(batch.holds, hold);
    else batch.gone.push(callId);
  }
  for (const callId of progress) {
    const hold = books.holds.get(callId);
    if (!hold || holds.has(callId)) continue;
    pushProgress(batch.progress, hold.progress);
    batch.progress.push(hold.renewedMs, callId);
  }
  for (const call of settled) pushSettled(batch.settled, call);
  return batch;
}

function everything({ keys, accounts, holds }: Books, { settled, progress }: Changes): Changes {
  return { keys: new Set(keys.values()), accounts: new Set(accounts.values()), holds: new Set(holds.keys()), progress, settled };
}

function pushKey(out: Value[], { uid, day, month, total, lastUsedMs, past }: KeyBook): void {
  out.push(uid, day.startMs, day.spentNanoUsd, month.startMs, month.spentNanoUsd, total.spentNanoUsd, lastUsedMs, formatPast(past));
}

function pushHold(out: Value[], { origin, progress, grantedNanoUsd, day, month, limits, renewedMs }: Hold): void {
  pushOrigin(out, origin);
  pushProgress(out, progress);
  out.push(grantedNanoUsd, day.startMs, month.startMs, bounded(limits.keyLimitNanoUsd), limits.period, bounded(limits.accountCreditNanoUsd), renewedMs);
}

function pushSettled(out: Value[], { record, keySpentNanoUsd, keyRemainingNanoUsd, settledMs }: SettledCall): void {
  pushOrigin(out, record);
  pushProgress(out, record);
  out.push(record.status, record.unbilledNanoUsd, record.durationMs, keySpentNanoUsd, keyRemainingNanoUsd, settledMs);
}

function pushOrigin(out: Value[], { callId, keyUid, account, createdMs, group, model, channel, catalog }: CallOrigin): void {
  out.push(callId, keyUid, account, wholeNumber(createdMs), group, model, channel, catalog);
}

function pushProgress(out: Value[], { costNanoUsd, tokens, usageSource }: CallProgress): void {
  out.push(costNanoUsd, tokens.input, tokens.cached, tokens.cacheWrite5m, tokens.cacheWrite1h, tokens.output, usageSource);
}

function bounded(amount: bigint | null): bigint | null {
  if (amount === null) return null;
  if (amount > MAX_NANO_USD) return MAX_NANO_USD;
  return amount < -MAX_NANO_USD ? -MAX_NANO_USD : amount;
}

/** "Day 1760918400000 1250000000;…": few, and read only at the start. */
function formatPast(past: readonly Window[]): string {
  return past.map(({ kind, startMs, spentNanoUsd }) => `${kind} ${startMs} ${spentNanoUsd}`).join(';');
}

function parsePast(text: string): Window[] {
  if (text === '') return [];
  return text.split(';').map((window) => {
    const [kind, startMs, spent = ''] = window.split(' ');
    if (kind !== 'Day' && kind !== 'Month') throw new Error('a past window of no known kind');
    return newWindow(kind, Number(startMs), BigInt(spent));
  });
}

/** Fills empty books with what the file had. */
export function restoreBooks(books: Books, stored: StoredBooks, nowMs: number): void {
  for (const row of stored.keys) restoreKey(books, row);
  for (const row of stored.accounts) restoreAccount(books, row);
  for (const row of stored.holds) restoreHold(books, row, nowMs);
}

function restoreKey(books: Books, row: Row): void {
  const read = readRow(row);
  const uid = read.text();
  const day = newWindow('Day', read.count(), read.amount());
  const month = newWindow('Month', read.count(), read.amount());
  const total = { spentNanoUsd: read.amount(), heldNanoUsd: 0n };
  books.keys.set(uid, { uid, total, day, month, lastUsedMs: read.countOrNull(), past: parsePast(read.text()), seen: undefined });
}

function restoreAccount(books: Books, row: Row): void {
  const read = readRow(row);
  const id = read.text();
  books.accounts.set(id, { id, spentNanoUsd: read.amount(), heldNanoUsd: 0n, seen: undefined });
}

function restoreHold(books: Books, row: Row, nowMs: number): void {
  const read = readRow(row);
  const origin = readOrigin(read);
  const progress = readProgress(read);
  const grantedNanoUsd = read.amount();
  const key = books.keys.get(origin.keyUid) ?? openKey(books, origin.keyUid, nowMs);
  const day = windowStarting(key, 'Day', read.count());
  const month = windowStarting(key, 'Month', read.count());
  // generations are of the process that is gone
  const limits: Limits = {
    keyLimitNanoUsd: read.amountOrNull(), period: read.oneOf(PERIODS), keyGeneration: 0n,
    accountCreditNanoUsd: read.amount(), accountGeneration: 0n,
  };
  const hold: Hold = {
    origin, limits, key, account: openAccount(books, origin.account), day, month,
    grantedNanoUsd, countedNanoUsd: 0n, progress, renewedMs: read.count(), pending: false,
  };
  books.holds.set(origin.callId, hold);
  admitTo(hold, 1);
  recount(books, hold, grantedNanoUsd);
}

/** A settled call from its row. */
export function decodeSettled(row: Row): SettledCall {
  const read = readRow(row);
  const record = {
    ...readOrigin(read), ...readProgress(read),
    status: read.oneOf(STATUSES), unbilledNanoUsd: read.amount(), durationMs: read.count(),
  };
  return { record, keySpentNanoUsd: read.amount(), keyRemainingNanoUsd: read.amountOrNull(), settledMs: read.count() };
}

function readOrigin(read: RowReader): CallOrigin {
  return {
    callId: read.text(), keyUid: read.text(), account: read.text(), createdMs: read.count(),
    group: read.text(), model: read.text(), channel: read.text(), catalog: read.text(),
  };
}

function readProgress(read: RowReader): CallProgress {
  const costNanoUsd = read.amount();
  const tokens = { input: read.count(), cached: read.count(), cacheWrite5m: read.count(), cacheWrite1h: read.count(), output: read.count() };
  return { costNanoUsd, tokens, usageSource: read.oneOf(SOURCES) };
}
