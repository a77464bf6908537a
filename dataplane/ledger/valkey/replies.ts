/** [P] Parses the replies of ledger.lua. The script counts days from 1970 and months from year 0. */
import { notNegative, wholeNumber } from '../amounts.ts';
import { decodeLines } from '../../price/bill.ts';
import { LedgerUnavailable } from '../ledger.ts';
import type {
  AccountSpending,
  FinishedJob,
  FullLimit,
  JobRecord,
  JobState,
  KeySpending,
  Limit,
  LimitState,
  QuotaPeriod,
  Settlement,
  SettleResult,
} from '../ledger.ts';
import { isConcurrency } from '../load.ts';
import { spanAt, windowKindOf } from '../periods.ts';
import { CALL_STATUSES, USAGE_SOURCES } from '../../usage/record.ts';
import type { CallOrigin, CallProgress } from '../../usage/record.ts';
import { ARGUMENT_END, clampAmount, progressArgs, REPLY_END, routeArg } from './operations.ts';
import type { HeldCall } from './operations.ts';

/** The reply to one operation; its first word names its kind. */
export type Reply = readonly string[];

/** The operation was sent and not answered, so it may have been executed. */
export class OutcomeUnknown extends LedgerUnavailable {}

const JOB_STATES: readonly JobState[] = ['Running', 'Completed', 'Failed'];
const DAY_MS = 86_400_000;
/** The positions of optional values after the tokens and their source. */
const [LINES, UPSTREAM_COST, TERMS] = [6, 7, 8];
/** The position, in the reply of `finish`, of what replaced the charge. */
const BILLED = 9;

/** Splits a batch's reply into one word and one string per operation. Throws if it is not a string. */
export function parseReplies(value: unknown): readonly string[] {
  if (typeof value !== 'string') throw new Error("the ledger's script gave no text");
  return value.split(REPLY_END);
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

export function parseReply(text: string): Reply {
  return text.split(ARGUMENT_END);
}

/** Parses a reply of `settle` or `usage`. */
export function parseRecord(reply: Reply): SettleResult {
  const [, account = '', callId = '', keyUid = '', createdMs, route, tokens, cost, ...rest] = reply;
  const [unbilled, status, duration, spent, remaining] = rest;
  const progress = parseProgress(cost, tokens);
  const isRefunded = status === 'Refunded' && progress.upstreamCostNanoUsd !== undefined;
  return {
    record: {
      callId,
      keyUid,
      account,
      createdMs: Number(createdMs),
      ...parseRoute(route),
      ...progress,
      // the script keeps the tokens and the cost beside them as one text
      ...(isRefunded && { upstreamCostNanoUsd: 0n }),
      unbilledNanoUsd: parseAmount(unbilled),
      status: oneOf(CALL_STATUSES, status),
      durationMs: Number(duration),
    },
    keySpentNanoUsd: parseAmount(spent),
    keyRemainingNanoUsd: remaining === '-' ? null : parseAmount(remaining),
  };
}

/**
 * Expands the short reply of `book` to the full reply of `settle`, with the values that this process sent. The reply
 * contains the billed and unbilled amounts only if the cost was not billed in full.
 */
export function expandSettleReply(reply: Reply, { request, day, month }: HeldCall, settlement: Settlement): Reply {
  const {
    origin,
    limits: { keyLimitNanoUsd, period },
  } = request;
  const [cost, tokens] = progressArgs(settlement.progress);
  const [, change = '', accountSpent = '', ...rest] = reply;
  const [total = '', daySpent = '', monthSpent = '', billed = cost, unbilled = '0'] = rest;
  const spent = { Never: total, Daily: daySpent, Monthly: monthSpent }[period];
  const remaining =
    keyLimitNanoUsd === null ? '-' : String(notNegative(clampAmount(keyLimitNanoUsd) - parseAmount(spent)));
  return [
    'settled',
    origin.account,
    origin.callId,
    origin.keyUid,
    String(wholeNumber(origin.createdMs)),
    routeArg(settlement.origin),
    tokens,
    billed,
    unbilled,
    settlement.status,
    String(wholeNumber(settlement.durationMs)),
    spent,
    remaining,
    change,
    accountSpent,
    total,
    daySpent,
    monthSpent,
    day,
    month,
  ];
}

export function parseJob(reply: Reply): JobRecord {
  const [, jobId = '', state, account = '', callId = '', keyUid = '', createdMs, route, tokens = ''] = reply;
  const origin = { callId, keyUid, account, createdMs: Number(createdMs), ...parseRoute(route) };
  const terms = tokens === '' ? undefined : textAt(parseList(tokens), TERMS);
  return { jobId, state: oneOf(JOB_STATES, state), origin, ...(terms !== undefined && { terms }) };
}

/** Parses the reply of `finish`. */
export function parseFinishedJob(reply: Reply): FinishedJob {
  const [billed, unbilled] = reply.slice(BILLED);
  const job = parseJob(reply);
  if (billed === undefined) return job;
  return { ...job, billed: { costNanoUsd: parseAmount(billed), unbilledNanoUsd: parseAmount(unbilled) } };
}

/** The part of the reply of `finish` that the journal keeps; `record` is undefined if nothing was refunded. */
export function parseJobRefund(reply: Reply): {
  readonly charged: string;
  readonly endedMs: string;
  readonly record: Reply | undefined;
} {
  const [charged = '', endedMs = '', record = ''] = reply.slice(BILLED + 2);
  return { charged, endedMs, record: record === '' ? undefined : parseNestedReply(record) };
}

/** Parses the reply `full`. */
export function parseFull([, index, left, retryMs]: Reply, limits: readonly Limit[]): FullLimit {
  const full = limits[Number(index)];
  if (!full) throw noSuchLimit();
  return { outcome: 'Full', full, ...(left !== undefined && { left: Number(left), retryMs: Number(retryMs) }) };
}

/** Parses what is left of the limits by the minute, in their order. */
export function parseStates(
  words: readonly string[],
  limits: readonly Limit[],
): { readonly states?: readonly LimitState[] } {
  const states = limits
    .filter((limit) => !isConcurrency(limit))
    .map((limit, index) => ({ limit, left: Number(words[2 * index]), resetMs: Number(words[2 * index + 1]) }));
  return states.length > 0 ? { states } : {};
}

export function noSuchLimit(): LedgerUnavailable {
  return new LedgerUnavailable("the ledger's script named a limit that was not requested");
}

/** Parses the reply of `account`. */
export function parseAccountSpending([, spent, held]: Reply): AccountSpending {
  return { spentNanoUsd: parseAmount(spent), heldNanoUsd: parseAmount(held) };
}

/** Parses the reply of `key`: what was spent and held in total, in the current day and in the current month. */
export function parseKeySpending(reply: Reply, period: QuotaPeriod): KeySpending {
  const [, now, last, totalSpent, totalHeld, daySpent, dayHeld, monthSpent, monthHeld] = reply;
  const kind = windowKindOf(period);
  const span = kind && spanAt(kind, Number(now));
  const ofPeriod = { Never: [totalSpent, totalHeld], Daily: [daySpent, dayHeld], Monthly: [monthSpent, monthHeld] };
  const [spent, held] = ofPeriod[period];
  return {
    periodStartMs: span?.startMs ?? null,
    resetsMs: span?.endMs ?? null,
    spentNanoUsd: parseAmount(spent),
    heldNanoUsd: parseAmount(held),
    totalSpentNanoUsd: parseAmount(totalSpent),
    lastUsedMs: last === '' ? null : Number(last),
  };
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

/** Parses a reply that another reply contains as JSON. */
export function parseNestedReply(text: string): Reply {
  return parseList(text).map(String);
}

export function parseAmount(text: string | undefined): bigint {
  return BigInt(text ?? '0');
}

function parseRoute(text: string | undefined): Omit<CallOrigin, 'callId' | 'keyUid' | 'account' | 'createdMs'> {
  const [group = '', model = '', channel = '', catalog = '', ...optional] = parseList(text).map(String);
  return { group, model, channel, catalog, ...parseOptional(optional) };
}

/** The fields that later versions added; empty texts are absent ones. */
function parseOptional([session = '', keyName = '', labels = '']: readonly string[]): Partial<CallOrigin> {
  return {
    ...(session !== '' && { session }),
    ...(keyName !== '' && { keyName }),
    ...(labels !== '' && { labels }),
  };
}

function parseProgress(cost: string | undefined, tokens: string | undefined): CallProgress {
  const parts = parseList(tokens);
  const [input = 0, cached = 0, cacheWrite5m = 0, cacheWrite1h = 0, output = 0] = parts.slice(0, 5).map(Number);
  const usageSource = oneOf(USAGE_SOURCES, String(parts[5]));
  const lines = decodeLines(textAt(parts, LINES) ?? '');
  const upstream = textAt(parts, UPSTREAM_COST);
  return {
    costNanoUsd: parseAmount(cost),
    tokens: { input, cached, cacheWrite5m, cacheWrite1h, output },
    usageSource,
    ...(lines && { lines }),
    ...(upstream !== undefined && { upstreamCostNanoUsd: BigInt(upstream) }),
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

function oneOf<T extends string>(words: readonly T[], text: string | undefined): T {
  const known = words.find((word) => word === text);
  if (known === undefined) throw new Error(`the ledger has an unknown word: ${text}`);
  return known;
}
