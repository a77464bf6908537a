/**
 * [P] The file's rows: from what the journal says, and back into the books. The column lists are the order of the values.
 */
import type { Books, SettledCall } from './books.ts';
import { addJob } from './jobs.ts';
import type { Job } from './jobs.ts';
import type { FileMark } from './journal-segments.ts';
import { JOB_STATES, PERIODS, SOURCES, STATUSES } from './journal-format.ts';
import type { JobStateRecord, KeyState, SettledRecord, WindowState } from './journal-reader.ts';
import { replayHold, restoreKey } from './journal-replay.ts';
import type { StoredBooks } from './embedded-messages.ts';
import { readRow } from './row-reader.ts';
import type { Row, RowReader, Value } from './row-reader.ts';
import type { CallOrigin, CallProgress } from './usage-record.ts';

const ORIGIN = ['call_id', 'key_uid', 'account', 'created_ms', 'group_name', 'model', 'channel', 'catalog'];
const PROGRESS = ['cost_nano_usd', 'input', 'cached', 'cache_write_5m', 'cache_write_1h', 'output', 'usage_source'];

export const KEY_COLUMNS = ['uid', 'day_start_ms', 'day_spent_nano_usd', 'month_start_ms', 'month_spent_nano_usd',
  'total_spent_nano_usd', 'last_used_ms', 'past_windows'];
export const ACCOUNT_COLUMNS = ['id', 'spent_nano_usd'];
export const HOLD_COLUMNS = [...ORIGIN, ...PROGRESS, 'held_nano_usd', 'day_start_ms', 'month_start_ms', 'key_limit_nano_usd', 'period',
  'credit_nano_usd', 'renewed_ms'];
export const USAGE_COLUMNS = [...ORIGIN, ...PROGRESS, 'status', 'unbilled_nano_usd', 'duration_ms', 'key_spent_nano_usd',
  'key_remaining_nano_usd', 'settled_ms'];
export const JOB_COLUMNS = [...ORIGIN, 'job_id', 'cost_nano_usd', 'day_start_ms', 'month_start_ms', 'state', 'poll_ms', 'ended_ms'];

export function keyRow({ uid, day, month, totalSpentNanoUsd, lastUsedMs, past }: KeyState): Value[] {
  return [uid, day.startMs, day.spentNanoUsd, month.startMs, month.spentNanoUsd, totalSpentNanoUsd, lastUsedMs, formatPast(past)];
}

/** Added to those that are there already, so that no row is copied. */
export function usageRow({ record, keySpentNanoUsd, keyRemainingNanoUsd, settledMs }: SettledRecord, rows: Value[] = []): Value[] {
  const { tokens } = record;
  rows.push(
    record.callId, record.keyUid, record.account, record.createdMs, record.group, record.model, record.channel, record.catalog,
    record.costNanoUsd, tokens.input, tokens.cached, tokens.cacheWrite5m, tokens.cacheWrite1h, tokens.output, record.usageSource,
    record.status, record.unbilledNanoUsd, record.durationMs, keySpentNanoUsd, keyRemainingNanoUsd, settledMs,
  );
  return rows;
}

export function jobRow({ origin, jobId, costNanoUsd, dayStartMs, monthStartMs, state, pollMs, endedMs }: JobStateRecord): Value[] {
  const { callId, keyUid, account, createdMs, group, model, channel, catalog } = origin;
  return [callId, keyUid, account, createdMs, group, model, channel, catalog, jobId, costNanoUsd, dayStartMs, monthStartMs, state, pollMs, endedMs];
}

/** "Day 1760918400000 1250000000;…": few, and read only at the start. */
function formatPast(past: readonly WindowState[]): string {
  return past.map(({ kind, startMs, spentNanoUsd }) => `${kind} ${startMs} ${spentNanoUsd}`).join(';');
}

function parsePast(text: string): WindowState[] {
  if (text === '') return [];
  return text.split(';').map((window) => {
    const [kind, startMs, spent = ''] = window.split(' ');
    if (kind !== 'Day' && kind !== 'Month') throw new Error('a past window of no known kind');
    return { kind, startMs: Number(startMs), spentNanoUsd: BigInt(spent) };
  });
}

/** Fills empty books with what the file had. */
export function restoreBooks(books: Books, stored: StoredBooks, nowMs: number): void {
  for (const row of stored.keys) restoreKey(books, decodeKey(row));
  for (const row of stored.accounts) restoreAccount(books, row);
  for (const row of stored.holds) restoreHold(books, row, nowMs);
  for (const row of stored.jobs) addJob(books.jobs, decodeJob(row));
}

function decodeKey(row: Row): KeyState {
  const read = readRow(row);
  const uid = read.text();
  const day = { kind: 'Day' as const, startMs: read.count(), spentNanoUsd: read.amount() };
  const month = { kind: 'Month' as const, startMs: read.count(), spentNanoUsd: read.amount() };
  return { uid, day, month, totalSpentNanoUsd: read.amount(), lastUsedMs: read.countOrNull(), past: parsePast(read.text()) };
}

function restoreAccount(books: Books, row: Row): void {
  const read = readRow(row);
  const id = read.text();
  books.accounts.set(id, { id, spentNanoUsd: read.amount(), heldNanoUsd: 0n, seen: undefined });
}

function restoreHold(books: Books, row: Row, nowMs: number): void {
  const read = readRow(row);
  replayHold(books, {
    origin: readOrigin(read), progress: readProgress(read), grantedNanoUsd: read.amount(), dayStartMs: read.count(), monthStartMs: read.count(),
    keyLimitNanoUsd: read.amountOrNull(), period: read.oneOf(PERIODS), accountCreditNanoUsd: read.amount(), renewedMs: read.count(),
  }, nowMs);
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

/** A job from its row. */
export function decodeJob(row: Row): Job {
  const read = readRow(row);
  return {
    origin: readOrigin(read), jobId: read.text(), costNanoUsd: read.amount(), dayStartMs: read.count(), monthStartMs: read.count(),
    state: read.oneOf(JOB_STATES), pollMs: read.count(), endedMs: read.countOrNull(),
  };
}

/** Which ledger the file is of, and how far it has taken in the journal. */
export function decodeMark(row: Row): FileMark {
  const read = readRow(row);
  return { ledgerId: read.text(), folded: read.count() };
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
