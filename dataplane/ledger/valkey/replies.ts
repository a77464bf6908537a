/**
 * [P] Parses the replies of ledger.lua, which have their values by name, as text. The script counts days from 1970 and
 * months from year 0.
 */
import { LedgerUnavailable } from '#ledger/spending.ts';
import { JOB_STATES } from '../ledger.ts';
import type { AccountSpending, KeySpending, QuotaPeriod, WindowSpending } from '#ledger/spending.ts';
import type { FinishedJob, FullLimit, JobRecord, CountLimit, LimitState, SettleResult } from '../ledger.ts';
import { isConcurrency } from '../load.ts';
import { spanAt, windowKindOf } from '#ledger/periods.ts';
import { ORIGIN_FIELDS, parseOptional, PROGRESS_FIELDS } from '#usage/optional-fields.ts';
import type { CallOrigin, CallProgress } from '#usage/record.ts';

/** A call's record, in the order of its fields in its account's stream, behind the account. */
export const RECORD_FIELDS = [
  'account',
  'call',
  'key',
  'createdMs',
  'route',
  'tokens',
  'cost',
  'unbilled',
  'status',
  'durationMs',
  'keySpent',
  'keyRemaining',
] as const;

/** The number of a change, and what was spent after it, in the day and the month with these indexes. */
export const CHANGE_FIELDS = [
  'change',
  'accountSpent',
  'totalSpent',
  'daySpent',
  'monthSpent',
  'day',
  'month',
] as const;

type Texts<Name extends string> = { readonly [N in Name]?: string };

/**
 * A record with the balances after it. `billedBy`: the change that billed it, if `change` is a later one. `marks`: what
 * was spent before the windows of limits, as the script formats it.
 */
export type RecordReply = Texts<(typeof RECORD_FIELDS)[number] | (typeof CHANGE_FIELDS)[number] | 'billedBy' | 'marks'>;

type OtherField =
  | 'amount' // of a hold
  | 'admitted'
  | 'short'
  | 'available'
  | 'second' // in which limits by the minute were taken
  | 'index' // of a full limit
  | 'left'
  | 'retryMs'
  | 'now'
  | 'lastUsed'
  | 'totalHeld'
  | 'dayHeld'
  | 'monthHeld'
  | 'spent'
  | 'held'
  | 'job'
  | 'state'
  | 'billed'
  | 'charged'
  | 'endedMs'
  | 'count'
  | 'more'
  | 'message'
  | 'id' // of an epoch
  | 'mode'
  | 'remainingMs'
  | 'start'
  | 'previous';

/** The reply to one operation; `is` names its kind. */
export interface Reply extends RecordReply, Texts<OtherField> {
  readonly is: string;
  readonly states?: readonly Texts<'left' | 'resetMs'>[];
  readonly windows?: readonly Texts<'start' | 'stop' | 'spent' | 'held'>[];
  readonly records?: readonly RecordReply[];
  readonly jobs?: readonly Reply[];
  readonly record?: RecordReply;
  /** Of a batch: balances (`a:ACCOUNT`, `k:UID`) and holds (`c:CALL`) that were missing and are put back from copies. */
  readonly lost?: readonly string[];
}

/** The operation was sent and not answered, so it may have been executed. */
export class OutcomeUnknown extends LedgerUnavailable {}

const DAY_MS = 86_400_000;
/** The positions of the source of the tokens, and of optional values after it. */
const [SOURCE, OPTIONAL] = [5, 6];
/** The position among these of the terms of a job's bill, which came between optional fields. */
export const TERMS_AT = 2;

/** Parses a batch's replies: one for the batch, and one for each operation. Throws if they are none. */
export function parseReplies(value: unknown): readonly Reply[] {
  if (typeof value !== 'string') throw new Error("the ledger's script gave no text");
  const replies: unknown = JSON.parse(value);
  if (!Array.isArray(replies) || !replies.every(isReply)) throw new Error("the ledger's script gave no replies");
  return replies;
}

function isReply(value: unknown): value is Reply {
  return typeof value === 'object' && value !== null && 'is' in value && typeof value.is === 'string';
}

/** Parses a reply. Throws OutcomeUnknown if it cannot be parsed. */
export function readReply<T>(reply: Reply, parse: (reply: Reply) => T): T {
  try {
    return parse(reply);
  } catch (error) {
    if (error instanceof LedgerUnavailable) throw error;
    throw new OutcomeUnknown(`the ledger's reply cannot be parsed: ${String(error)}`, { cause: error });
  }
}

const REPLY_FIELDS = [...RECORD_FIELDS, ...CHANGE_FIELDS, 'billedBy', 'marks'] as const;

/** The values of a reply that are its record, with the balances after it. */
export function recordOf(reply: Reply): RecordReply {
  return Object.fromEntries(REPLY_FIELDS.map((name) => [name, reply[name]]));
}

/** The record in a text of an account's stream. */
export function recordInStream(account: string, text: string): RecordReply {
  const values = [account, ...text.split('\t')];
  return Object.fromEntries(RECORD_FIELDS.map((name, index) => [name, values[index]]));
}

/** Parses a record. */
export function parseRecord(reply: RecordReply): SettleResult {
  const { account = '', call: callId = '', key: keyUid = '', createdMs, status, durationMs } = reply;
  const progress = parseProgress(reply.cost, reply.tokens);
  const isRefunded = status === 'Refunded' && progress.upstreamCostNanoUsd !== undefined;
  return {
    record: {
      callId,
      keyUid,
      account,
      createdMs: Number(createdMs),
      ...parseRoute(reply.route),
      ...progress,
      // the script keeps the tokens and the cost beside them as one text
      ...(isRefunded && { upstreamCostNanoUsd: 0n }),
      unbilledNanoUsd: parseAmount(reply.unbilled),
      status: wordIn(status, 'status'),
      durationMs: Number(durationMs),
    },
    keySpentNanoUsd: parseAmount(reply.keySpent),
    keyRemainingNanoUsd: reply.keyRemaining === '-' ? null : parseAmount(reply.keyRemaining),
  };
}

export function parseJob(reply: Reply): JobRecord {
  const { job: jobId = '', state, account = '', call: callId = '', key: keyUid = '', tokens = '' } = reply;
  const origin = { callId, keyUid, account, createdMs: Number(reply.createdMs), ...parseRoute(reply.route) };
  const terms = tokens === '' ? undefined : textAt(parseList(tokens), OPTIONAL + TERMS_AT);
  return { jobId, state: oneOf(JOB_STATES, state), origin, ...(terms !== undefined && { terms }) };
}

/** Parses the reply of `finish`. */
export function parseFinishedJob(reply: Reply): FinishedJob {
  const { billed, unbilled } = reply;
  const job = parseJob(reply);
  if (billed === undefined) return job;
  return { ...job, billed: { costNanoUsd: parseAmount(billed), unbilledNanoUsd: parseAmount(unbilled) } };
}

/** Parses the reply `full`. */
export function parseFull(reply: Reply, limits: readonly CountLimit[]): FullLimit {
  const { left, retryMs } = reply;
  const full = namedLimit(reply, limits);
  return { outcome: 'Full', full, ...(left !== undefined && { left: Number(left), retryMs: Number(retryMs) }) };
}

/** The limit that refused a call, by its index in a list of the operation. */
export function namedLimit<T>({ index }: Reply, limits: readonly T[]): T {
  const limit = limits[Number(index)];
  if (!limit) throw new LedgerUnavailable("the ledger's script named a limit that was not requested");
  return limit;
}

/** Parses what is left of the limits by the minute, in their order. */
export function parseStates(
  { states: words = [] }: Reply,
  limits: readonly CountLimit[],
): { readonly states?: readonly LimitState[] } {
  const states = limits
    .filter((limit) => !isConcurrency(limit))
    .map((limit, index) => ({
      limit,
      left: Number(words[index]?.left),
      resetMs: Number(words[index]?.resetMs),
    }));
  return states.length > 0 ? { states } : {};
}

/** Parses the reply of `account`. */
export function parseAccountSpending({ spent, held, windows }: Reply): AccountSpending {
  const total = { spentNanoUsd: parseAmount(spent), heldNanoUsd: parseAmount(held) };
  return windows ? { ...total, windows: windows.map(parseWindow) } : total;
}

function parseWindow({ start, stop, spent, held }: NonNullable<Reply['windows']>[number]): WindowSpending {
  const span = { startMs: Number(start), endMs: Number(stop) };
  return { ...span, spentNanoUsd: parseAmount(spent), heldNanoUsd: parseAmount(held) };
}

/**
 * Parses the reply of `key`: what was spent and held in total, in the current day and month in UTC, and in the window
 * that was asked for.
 */
export function parseKeySpending(reply: Reply, period: QuotaPeriod): KeySpending {
  const { lastUsed, totalSpent } = reply;
  const { startMs, endMs, ...amounts } = periodSpending(reply, period);
  return {
    periodStartMs: startMs,
    resetsMs: endMs,
    ...amounts,
    totalSpentNanoUsd: parseAmount(totalSpent),
    lastUsedMs: lastUsed === undefined ? null : Number(lastUsed),
  };
}

type InPeriod = Pick<KeySpending, 'spentNanoUsd' | 'heldNanoUsd'> & {
  readonly startMs: number | null;
  readonly endMs: number | null;
};

function periodSpending(reply: Reply, period: QuotaPeriod): InPeriod {
  const { now, totalSpent, totalHeld, daySpent, dayHeld, monthSpent, monthHeld, windows: [window] = [] } = reply;
  if (window) return parseWindow(window);
  const total = [totalSpent, totalHeld];
  const ofPeriod = { Never: total, Daily: [daySpent, dayHeld], Weekly: total, Monthly: [monthSpent, monthHeld] };
  const [spent, held] = ofPeriod[period];
  const kind = windowKindOf(period);
  const span = kind ? spanAt(kind, Number(now)) : { startMs: null, endMs: null };
  return { ...span, spentNanoUsd: parseAmount(spent), heldNanoUsd: parseAmount(held) };
}

/** The indexes of the day and the month of a moment. */
export function windowIndexes(ms: number): { readonly day: number; readonly month: number } {
  const at = new Date(ms);
  return { day: Math.floor(ms / DAY_MS), month: at.getUTCFullYear() * 12 + at.getUTCMonth() };
}

/** Returns a list of strings. Throws if the value is not a list. */
export function parseTexts(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new Error("the ledger's store gave no list");
  return value.map(String);
}

export function parseAmount(text: string | undefined): bigint {
  return BigInt(text ?? '0');
}

function parseRoute(text: string | undefined): Omit<CallOrigin, 'callId' | 'keyUid' | 'account' | 'createdMs'> {
  const [group = '', model = '', channel = '', catalog = '', ...optional] = parseList(text).map(String);
  return { group, model, channel, catalog, ...parseOptional(ORIGIN_FIELDS, optional) };
}

function parseProgress(cost: string | undefined, tokens: string | undefined): CallProgress {
  const parts = parseList(tokens);
  const [input = 0, cached = 0, cacheWrite5m = 0, cacheWrite1h = 0, output = 0] = parts.slice(0, 5).map(Number);
  const usageSource = wordIn(textAt(parts, SOURCE), 'source of its usage');
  const optional = parts.slice(OPTIONAL).toSpliced(TERMS_AT, 1);
  return {
    costNanoUsd: parseAmount(cost),
    tokens: { input, cached, cacheWrite5m, cacheWrite1h, output },
    usageSource,
    ...parseOptional(
      PROGRESS_FIELDS,
      optional.map((_, index) => textAt(optional, index)),
    ),
  };
}

/** A text of a list; undefined: it is missing or empty. */
function textAt(parts: readonly unknown[], index: number): string | undefined {
  const value = parts[index];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function parseList(text = '[]'): unknown[] {
  const value: unknown = JSON.parse(text);
  return Array.isArray(value) ? value : [];
}

/** A record's word, which may be one of a newer version. */
function wordIn(text: string | undefined, what: string): string {
  if (text === undefined || text === '') throw new Error(`a record of the ledger has no ${what}`);
  return text;
}

function oneOf<T extends string>(words: readonly T[], text: string | undefined): T {
  const known = words.find((word) => word === text);
  if (known === undefined) throw new Error(`the ledger has an unknown word: ${text}`);
  return known;
}
