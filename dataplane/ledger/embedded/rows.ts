/**
 * [P] Maps the ledger's memory to rows of its file, and rows back to values. Calls that are running or not filed are JSON,
 * in which amounts are decimal strings; what is summed, searched or sorted has columns.
 */
import { wholeNumber } from '../amounts.ts';
import { newWindow, NONE_SEEN } from '../balances.ts';
import type { AccountBalance, Hold, KeyBalance, SettledCall, Window } from '../balances.ts';
import type { Job } from '../jobs.ts';
import { JOB_STATES } from '../ledger.ts';
import type { MoneyLimit } from '../ledger.ts';
import { formatMarks, parseMarks } from '../marks.ts';
import { windowKindOf } from '#ledger/periods.ts';
import type { QuotaPeriod } from '#ledger/spending.ts';
import type { CallOrigin, CallProgress } from '#usage/record.ts';
import {
  ORIGIN_COLUMNS,
  originRow,
  readOrigin,
  readRecord,
  RECORD_COLUMNS,
  recordRow,
  RowReader,
} from '#usage/rows.ts';
import type { Row, Value } from '#usage/rows.ts';

export const KEY_COLUMNS = [
  'uid',
  'day_start_ms',
  'day_spent_nano_usd',
  'month_start_ms',
  'month_spent_nano_usd',
  'total_spent_nano_usd',
  'last_used_ms',
  'past_windows',
  'marks',
];
export const ACCOUNT_COLUMNS = ['id', 'spent_nano_usd', 'marks'];
export const CALL_COLUMNS = ['id', 'running', 'settled'];
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
  'admitted_ms',
];

export function keyRow({ uid, day, month, total, lastUsedMs, past, marks }: KeyBalance): Value[] {
  const windows = [day.startMs, day.spentNanoUsd, month.startMs, month.spentNanoUsd];
  return [uid, ...windows, total.spentNanoUsd, lastUsedMs, formatPastWindows(past), formatMarks(marks)];
}

export function decodeKey(row: Row): KeyBalance {
  const read = new RowReader(row);
  return {
    uid: read.text(),
    day: newWindow('Day', read.count(), read.amount()),
    month: newWindow('Month', read.count(), read.amount()),
    total: { spentNanoUsd: read.amount(), heldNanoUsd: 0n },
    lastUsedMs: read.countOrNull(),
    past: parsePastWindows(read.text()),
    marks: parseMarks(read.text()),
    seen: NONE_SEEN,
  };
}

/** Formats windows as "Day 1760918400000 1250000000;…". */
function formatPastWindows(past: readonly Window[]): string {
  return past.map(({ kind, startMs, spentNanoUsd }) => `${kind} ${startMs} ${spentNanoUsd}`).join(';');
}

function parsePastWindows(text: string): Window[] {
  if (text === '') return [];
  return text.split(';').map((window) => {
    const [kind, startMs, spent = ''] = window.split(' ');
    if (kind !== 'Day' && kind !== 'Month') throw new Error('a past window of no known kind');
    return newWindow(kind, Number(startMs), BigInt(spent));
  });
}

export function accountRow({ id, spentNanoUsd, marks }: AccountBalance): Value[] {
  return [id, spentNanoUsd, formatMarks(marks)];
}

export function decodeAccount(row: Row): AccountBalance {
  const read = new RowReader(row);
  return {
    id: read.text(),
    spentNanoUsd: read.amount(),
    heldNanoUsd: 0n,
    marks: parseMarks(read.text()),
    seen: NONE_SEEN,
  };
}

/** What is stored of a running call. */
export interface StoredHold {
  readonly origin: CallOrigin;
  readonly progress: CallProgress;
  readonly limits: readonly MoneyLimit[];
  readonly grantedNanoUsd: bigint;
  /** An earlier version has not written it. */
  readonly admittedMs?: number;
  readonly dayStartMs: number;
  readonly monthStartMs: number;
  readonly renewedMs: number;
}

/** The type of a value's JSON, in which amounts are decimal strings. */
type Json<T> = {
  readonly [K in keyof T]: T[K] extends bigint
    ? string
    : T[K] extends bigint | null
      ? string | null
      : T[K] extends bigint | undefined
        ? string | undefined
        : K extends 'progress' | 'record'
          ? Json<T[K]>
          : K extends 'limits'
            ? readonly LimitInJson[]
            : T[K];
};

/** A limit on money with amounts as decimal text. */
type LimitInJson = Omit<MoneyLimit, 'amountNanoUsd' | 'generation'> & {
  readonly amountNanoUsd: string | null;
  readonly generation: string;
};

export function encodeHold(hold: Hold): string {
  const { origin, progress, limits, grantedNanoUsd, admittedMs, day, month, renewedMs } = hold;
  const { costNanoUsd, upstreamCostNanoUsd, ...counted } = progress;
  const stored: Json<StoredHold> = {
    origin,
    progress: { ...counted, ...encodeCosts(costNanoUsd, upstreamCostNanoUsd) },
    limits: limits.map(encodeLimit),
    grantedNanoUsd: String(grantedNanoUsd),
    admittedMs,
    dayStartMs: day.startMs,
    monthStartMs: month.startMs,
    renewedMs,
  };
  return JSON.stringify(stored);
}

function encodeLimit(limit: MoneyLimit): LimitInJson {
  const { amountNanoUsd, generation } = limit;
  return {
    ...limit,
    amountNanoUsd: amountNanoUsd === null ? null : String(amountNanoUsd),
    generation: String(generation),
  };
}

/** The limits of a hold before they were a list. */
export interface QuotaAndCredit {
  readonly keyLimitNanoUsd: bigint | null;
  readonly period: QuotaPeriod;
  readonly accountCreditNanoUsd: bigint;
}

/** Makes the list of a hold that an earlier version has written. */
export function limitsInList(
  { keyUid, account }: Pick<CallOrigin, 'keyUid' | 'account'>,
  { keyLimitNanoUsd, period, accountCreditNanoUsd }: QuotaAndCredit,
): readonly MoneyLimit[] {
  const spending = { measure: 'UsdNano', generation: 0n } as const;
  const window = windowKindOf(period) ?? 'Total';
  return [
    { scope: 'Key', id: `key/${keyUid}`, ...spending, amountNanoUsd: keyLimitNanoUsd, window },
    { scope: 'Account', id: `account/${account}`, ...spending, amountNanoUsd: accountCreditNanoUsd, window: 'Total' },
  ];
}

type HoldInJson = Omit<StoredHold, 'limits'> & { readonly limits: readonly MoneyLimit[] | QuotaAndCredit };

function decodeHold(text: string): StoredHold {
  // written by encodeHold, or by a newer version that adds members
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { limits, ...hold } = parseAmounts(text) as HoldInJson;
  return { ...hold, limits: 'period' in limits ? limitsInList(hold.origin, limits) : limits };
}

/** The members that are amounts, or generations, are decimal text in JSON. */
const AMOUNT = /NanoUsd$|^generation$/;

function parseAmounts(text: string): unknown {
  return JSON.parse(text, (name, value: unknown) =>
    typeof value === 'string' && AMOUNT.test(name) ? BigInt(value) : value,
  );
}

/** A settled call, and the windows that it was billed in. */
export interface Settlement extends SettledCall {
  /** An earlier version has not written it. */
  readonly admittedMs?: number;
  readonly dayStartMs: number;
  readonly monthStartMs: number;
}

export function encodeSettlement({ record, keySpentNanoUsd, keyRemainingNanoUsd, ...times }: Settlement): string {
  const { costNanoUsd, unbilledNanoUsd, upstreamCostNanoUsd, ...call } = record;
  const stored: Json<Settlement> = {
    ...times,
    record: {
      ...call,
      ...encodeCosts(costNanoUsd, upstreamCostNanoUsd),
      unbilledNanoUsd: String(unbilledNanoUsd),
    },
    keySpentNanoUsd: String(keySpentNanoUsd),
    keyRemainingNanoUsd: keyRemainingNanoUsd === null ? null : String(keyRemainingNanoUsd),
  };
  return JSON.stringify(stored);
}

function decodeSettlement(text: string): Settlement {
  // written by encodeSettlement, or by a newer version that adds members
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return parseAmounts(text) as Settlement;
}

type Costs = Pick<CallProgress, 'costNanoUsd' | 'upstreamCostNanoUsd'>;

function encodeCosts(cost: bigint, upstream: bigint | undefined): Json<Costs> {
  return {
    costNanoUsd: String(cost),
    ...(upstream !== undefined && { upstreamCostNanoUsd: String(upstream) }),
  };
}

/** A call that is running, or that was settled and is not filed yet. */
export type StoredCall =
  { readonly id: number; readonly running: StoredHold } | { readonly id: number; readonly settled: Settlement };

/** Decodes a row of CALL_COLUMNS. Throws if encodeHold or encodeSettlement did not write its text. */
export function decodeCall(row: Row): StoredCall {
  const read = new RowReader(row);
  const [id, running, settled] = [read.count(), read.textOrNull(), read.textOrNull()];
  if (running !== null) return { id, running: decodeHold(running) };
  if (settled !== null) return { id, settled: decodeSettlement(settled) };
  throw new Error('a call in the file is empty');
}

export function settledRow({ record, keySpentNanoUsd, keyRemainingNanoUsd, settledMs }: SettledCall): Value[] {
  const whole = { ...record, createdMs: wholeNumber(record.createdMs) };
  return [...recordRow(whole), keySpentNanoUsd, keyRemainingNanoUsd, wholeNumber(settledMs)];
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

export function jobRow({ origin, jobId, state, terms = '', ...job }: Job): Value[] {
  const { costNanoUsd, admittedMs, dayStartMs, monthStartMs, pollMs, endedMs } = job;
  const whole = { ...origin, createdMs: wholeNumber(origin.createdMs) };
  const termsNow = state === 'Running' ? terms : '';
  const windows = [dayStartMs, monthStartMs];
  return [...originRow(whole), jobId, costNanoUsd, ...windows, state, pollMs, endedMs, termsNow, admittedMs];
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
  const [terms, admittedMs] = [read.text(), read.countOrNull() ?? job.origin.createdMs];
  // the file has bills only in the records of calls
  return { ...job, terms: terms === '' ? undefined : terms, admittedMs, bill: undefined };
}
