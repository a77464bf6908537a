/**
 * [P] Converts journal records to rows of the ledger's file, and rows back to values in the order of the column lists.
 */
import type { SettledCall } from '../balances.ts';
import type { Job } from '../jobs.ts';
import {
  ORIGIN_COLUMNS,
  originRow,
  PROGRESS_COLUMNS,
  readOrigin,
  readProgress,
  readRecord,
  RECORD_COLUMNS,
  recordRow,
  RowReader,
} from '../../usage/rows.ts';
import type { Row, Value } from '../../usage/rows.ts';
import { JOB_STATES, PERIODS } from './journal-format.ts';
import type {
  JournaledAccount,
  HeldRecord,
  JobStateRecord,
  JournaledKey,
  SettledRecord,
  WindowState,
} from './journal-reader.ts';
import type { Checkpoint } from './segments.ts';

/** The rows of the balances in the file. */
export interface StoredBalances {
  readonly keys: readonly Row[];
  readonly accounts: readonly Row[];
  /** Empty unless a version without a journal wrote the file. */
  readonly holds: readonly Row[];
  readonly jobs: readonly Row[];
}

export const KEY_COLUMNS = [
  'uid',
  'day_start_ms',
  'day_spent_nano_usd',
  'month_start_ms',
  'month_spent_nano_usd',
  'total_spent_nano_usd',
  'last_used_ms',
  'past_windows',
];
export const ACCOUNT_COLUMNS = ['id', 'spent_nano_usd'];
export const HOLD_COLUMNS = [
  ...ORIGIN_COLUMNS,
  ...PROGRESS_COLUMNS,
  'held_nano_usd',
  'day_start_ms',
  'month_start_ms',
  'key_limit_nano_usd',
  'period',
  'credit_nano_usd',
  'renewed_ms',
];
export const SETTLED_COLUMNS = [...RECORD_COLUMNS, 'key_spent_nano_usd', 'key_remaining_nano_usd', 'settled_ms'];
export const JOB_COLUMNS = [
  ...ORIGIN_COLUMNS,
  'job_id',
  'cost_nano_usd',
  'day_start_ms',
  'month_start_ms',
  'state',
  'poll_ms',
  'ended_ms',
  'terms',
];
export function keyRow({ uid, day, month, totalSpentNanoUsd, lastUsedMs, past }: JournaledKey): Value[] {
  const windows = [day.startMs, day.spentNanoUsd, month.startMs, month.spentNanoUsd];
  return [uid, ...windows, totalSpentNanoUsd, lastUsedMs, formatPastWindows(past)];
}

export function settledRow(call: SettledRecord | SettledCall): Value[] {
  const { record, keySpentNanoUsd, keyRemainingNanoUsd, settledMs } = call;
  return [...recordRow(record), keySpentNanoUsd, keyRemainingNanoUsd, settledMs];
}

export function jobRow(job: JobStateRecord): Value[] {
  const { jobId, terms = '', costNanoUsd, dayStartMs, monthStartMs, state, pollMs, endedMs } = job;
  return [...originRow(job.origin), jobId, costNanoUsd, dayStartMs, monthStartMs, state, pollMs, endedMs, terms];
}

/** Formats windows as "Day 1760918400000 1250000000;…". */
function formatPastWindows(past: readonly WindowState[]): string {
  return past.map(({ kind, startMs, spentNanoUsd }) => `${kind} ${startMs} ${spentNanoUsd}`).join(';');
}

function parsePastWindows(text: string): WindowState[] {
  if (text === '') return [];
  return text.split(';').map((window) => {
    const [kind, startMs, spent = ''] = window.split(' ');
    if (kind !== 'Day' && kind !== 'Month') throw new Error('a past window of no known kind');
    return { kind, startMs: Number(startMs), spentNanoUsd: BigInt(spent) };
  });
}

export function decodeKey(row: Row): JournaledKey {
  const read = new RowReader(row);
  const uid = read.text();
  const day = { kind: 'Day' as const, startMs: read.count(), spentNanoUsd: read.amount() };
  const month = { kind: 'Month' as const, startMs: read.count(), spentNanoUsd: read.amount() };
  const totalSpentNanoUsd = read.amount();
  return { uid, day, month, totalSpentNanoUsd, lastUsedMs: read.countOrNull(), past: parsePastWindows(read.text()) };
}

export function decodeAccount(row: Row): JournaledAccount {
  const read = new RowReader(row);
  return { id: read.text(), spentNanoUsd: read.amount() };
}

export function decodeHold(row: Row): HeldRecord {
  const read = new RowReader(row);
  return {
    origin: readOrigin(read),
    progress: readProgress(read),
    grantedNanoUsd: read.amount(),
    dayStartMs: read.count(),
    monthStartMs: read.count(),
    keyLimitNanoUsd: read.amountOrNull(),
    period: read.oneOf(PERIODS),
    accountCreditNanoUsd: read.amount(),
    renewedMs: read.count(),
  };
}

/** Decodes a row of SETTLED_COLUMNS. */
export function decodeSettled(row: Row): SettledCall {
  const read = new RowReader(row);
  const record = readRecord(read);
  return {
    record,
    keySpentNanoUsd: read.amount(),
    keyRemainingNanoUsd: read.amountOrNull(),
    settledMs: read.count(),
  };
}

export function decodeJob(row: Row): Job {
  const read = new RowReader(row);
  const job = {
    origin: readOrigin(read),
    jobId: read.text(),
    costNanoUsd: read.amount(),
    dayStartMs: read.count(),
    monthStartMs: read.count(),
    state: read.oneOf(JOB_STATES),
    pollMs: read.count(),
    endedMs: read.countOrNull(),
  };
  const terms = read.text();
  // the file has bills only in the records of calls
  return { ...job, terms: terms === '' ? undefined : terms, bill: undefined };
}

export function decodeCheckpoint(row: Row): Checkpoint {
  const read = new RowReader(row);
  return { ledgerId: read.text(), segment: read.count() };
}
