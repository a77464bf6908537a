/**
 * [P] Converts journal records to rows of the ledger's file, and rows back to values in the order of the column lists.
 */
import type { SettledCall } from '../balances.ts';
import { decodeLines, encodeLines } from '../bill.ts';
import type { Job } from '../jobs.ts';
import { CALL_STATUSES, USAGE_SOURCES } from '../usage-record.ts';
import type { CallOrigin, CallProgress, UsageRecord } from '../usage-record.ts';
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

export type Value = string | number | bigint | null;
/** A row of SQLite, in which integers are read as BigInt. */
export type Row = readonly Value[];

/** The rows of the balances in the file. */
export interface StoredBalances {
  readonly keys: readonly Row[];
  readonly accounts: readonly Row[];
  /** Empty unless a version without a journal wrote the file. */
  readonly holds: readonly Row[];
  readonly jobs: readonly Row[];
}

const ORIGIN = ['call_id', 'key_uid', 'account', 'created_ms', 'group_name', 'model', 'channel', 'catalog'];
const PROGRESS = ['cost_nano_usd', 'input', 'cached', 'cache_write_5m', 'cache_write_1h', 'output', 'usage_source'];

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
  ...ORIGIN,
  ...PROGRESS,
  'held_nano_usd',
  'day_start_ms',
  'month_start_ms',
  'key_limit_nano_usd',
  'period',
  'credit_nano_usd',
  'renewed_ms',
];
export const RECORD_COLUMNS = [
  ...ORIGIN,
  ...PROGRESS,
  'status',
  'unbilled_nano_usd',
  'duration_ms',
  'lines',
  'session',
  'upstream_cost_nano_usd',
  'key_name',
  'labels',
];
export const SETTLED_COLUMNS = [...RECORD_COLUMNS, 'key_spent_nano_usd', 'key_remaining_nano_usd', 'settled_ms'];
export const JOB_COLUMNS = [
  ...ORIGIN,
  'job_id',
  'cost_nano_usd',
  'day_start_ms',
  'month_start_ms',
  'state',
  'poll_ms',
  'ended_ms',
  'terms',
];
/** The columns that a job's end changes in the record of its call. */
export const CORRECTED_COLUMNS = [...PROGRESS, 'status', 'unbilled_nano_usd', 'lines', 'upstream_cost_nano_usd'];

export function keyRow({ uid, day, month, totalSpentNanoUsd, lastUsedMs, past }: JournaledKey): Value[] {
  const windows = [day.startMs, day.spentNanoUsd, month.startMs, month.spentNanoUsd];
  return [uid, ...windows, totalSpentNanoUsd, lastUsedMs, formatPastWindows(past)];
}

export function settledRow(call: SettledRecord | SettledCall): Value[] {
  const { record, keySpentNanoUsd, keyRemainingNanoUsd, settledMs } = call;
  return [...recordRow(record), keySpentNanoUsd, keyRemainingNanoUsd, settledMs];
}

/** The values of RECORD_COLUMNS. */
export function recordRow(record: UsageRecord): Value[] {
  const { status, unbilledNanoUsd, durationMs } = record;
  return [
    ...originRow(record),
    ...progressRow(record),
    status,
    unbilledNanoUsd,
    durationMs,
    encodeLines(record.lines),
    record.session ?? '',
    record.upstreamCostNanoUsd ?? null,
    record.keyName ?? '',
    record.labels ?? '',
  ];
}

/** The values of CORRECTED_COLUMNS. */
export function correctedRow(record: UsageRecord): Value[] {
  const { status, unbilledNanoUsd, lines, upstreamCostNanoUsd = null } = record;
  return [...progressRow(record), status, unbilledNanoUsd, encodeLines(lines), upstreamCostNanoUsd];
}

function progressRow({ costNanoUsd, tokens, usageSource }: CallProgress): Value[] {
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = tokens;
  return [costNanoUsd, input, cached, cacheWrite5m, cacheWrite1h, output, usageSource];
}

export function jobRow(job: JobStateRecord): Value[] {
  const { jobId, terms = '', costNanoUsd, dayStartMs, monthStartMs, state, pollMs, endedMs } = job;
  return [...originRow(job.origin), jobId, costNanoUsd, dayStartMs, monthStartMs, state, pollMs, endedMs, terms];
}

function originRow({ callId, keyUid, account, createdMs, group, model, channel, catalog }: CallOrigin): Value[] {
  return [callId, keyUid, account, createdMs, group, model, channel, catalog];
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

/** Decodes a row that begins with RECORD_COLUMNS. */
export function decodeRecord(row: Row): UsageRecord {
  return readRecord(new RowReader(row));
}

/** Decodes a row that begins with a safe integer. */
export function decodeCount(row: Row): number {
  return new RowReader(row).count();
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

function readRecord(read: RowReader): UsageRecord {
  const record = {
    ...readOrigin(read),
    ...readProgress(read),
    status: read.oneOf(CALL_STATUSES),
    unbilledNanoUsd: read.amount(),
    durationMs: read.count(),
  };
  const lines = decodeLines(read.text());
  const session = read.text();
  const upstreamCostNanoUsd = read.amountOrNull();
  const [keyName, labels] = [read.text(), read.text()];
  return {
    ...record,
    ...(lines && { lines }),
    ...(session !== '' && { session }),
    ...(upstreamCostNanoUsd !== null && { upstreamCostNanoUsd }),
    ...(keyName !== '' && { keyName }),
    ...(labels !== '' && { labels }),
  };
}

function readOrigin(read: RowReader): CallOrigin {
  return {
    callId: read.text(),
    keyUid: read.text(),
    account: read.text(),
    createdMs: read.count(),
    group: read.text(),
    model: read.text(),
    channel: read.text(),
    catalog: read.text(),
  };
}

function readProgress(read: RowReader): CallProgress {
  const costNanoUsd = read.amount();
  const [input, cached, cacheWrite5m] = [read.count(), read.count(), read.count()];
  const [cacheWrite1h, output] = [read.count(), read.count()];
  const tokens = { input, cached, cacheWrite5m, cacheWrite1h, output };
  return { costNanoUsd, tokens, usageSource: read.oneOf(USAGE_SOURCES) };
}

/** Reads a row's values in order. Throws if a value has another type, because the file is then damaged. */
export class RowReader {
  readonly #row: Row;
  #at = 0;

  constructor(row: Row) {
    this.#row = row;
  }

  text(): string {
    const value = this.#row[this.#at++];
    if (typeof value !== 'string') throw new Error('a value in the file is not a text');
    return value;
  }

  /** An integer of any size. */
  amount(): bigint {
    const value = this.amountOrNull();
    if (value === null) throw new Error('a value is missing in the file');
    return value;
  }

  amountOrNull(): bigint | null {
    const value = this.#row[this.#at++];
    if (typeof value !== 'bigint' && value !== null) throw new Error('a value in the file is not an integer');
    return value;
  }

  /** A safe integer. */
  count(): number {
    return Number(this.amount());
  }

  countOrNull(): number | null {
    const value = this.amountOrNull();
    return value === null ? null : Number(value);
  }

  oneOf<T extends string>(words: readonly T[]): T {
    const text = this.text();
    const known = words.find((word) => word === text);
    if (known === undefined) throw new Error(`the file has an unknown word: ${text}`);
    return known;
  }
}
