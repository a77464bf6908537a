/**
 * [P] Builds the operations of ledger.lua, which have their values by name, and encodes a batch of them as JSON. Amounts
 * and generations are decimal text. What the script only stores (a call's route, its tokens) is JSON within it.
 */
import { sanitizeProgress, least, MAX_NANO_USD, wholeNumber } from '../amounts.ts';
import type { CalendarWindow, PeriodOf, QuotaPeriod, SpendingWindow } from '#ledger/spending.ts';
import type {
  ConversationLimits,
  HoldRequest,
  JobBill,
  JobRecord,
  JobState,
  KeptConversation,
  Settlement,
  CountLimit,
  Load,
  MoneyLimit,
} from '../ledger.ts';
import { amountOf, counterName, isConcurrency, moneyIn } from '../load.ts';
import { isMarked } from '../marks.ts';
import { edgesOf, windowKindOf, windowName, windowOf } from '#ledger/periods.ts';
import { UTC } from '#snapshot/time-zone.ts';
import type { CallOrigin, CallProgress } from '#usage/record.ts';
import { optionalTexts, ORIGIN_FIELDS, PROGRESS_FIELDS } from '#usage/optional-fields.ts';
import { TERMS_AT } from './replies.ts';

/** A value of an operation; undefined ones are not sent. */
export type Value = string | number | boolean | undefined | readonly Value[] | { readonly [name: string]: Value };

/** `op` names an operation of ledger.lua. */
export interface Operation {
  readonly op: string;
  readonly [name: string]: Value;
}

/** A granted hold of this process that is not settled yet. */
export interface HeldCall {
  readonly request: HoldRequest;
  readonly heldNanoUsd: bigint;
  progress: CallProgress;
  /** When the call was admitted, by the store's clock. */
  readonly admitted: string;
  /** The indexes of the day and month of the call's admission. */
  readonly day: string;
  readonly month: string;
}

/** What a batch says of its process, and of the epoch that it belongs to. */
export interface BatchHead {
  /** Absent: the server's clock. */
  readonly clock?: number | undefined;
  readonly instance: string;
  readonly epoch: string;
  /** The number of the latest acknowledged batch. */
  readonly acked: number;
  readonly seq: number;
  readonly mode: '' | 'refill' | 'found' | 'read';
  readonly leaseMs: number;
  readonly keepMs: number;
  readonly records: number;
  readonly generationMs: number;
  readonly lenient: boolean;
  /** Of mode `found`: the epoch to begin. */
  readonly found?: {
    readonly id: string;
    readonly after: string;
    readonly refillMs: number;
    readonly previous: number;
  };
}

/** Of windows that the script counts itself; it tells others by their edges. */
const WINDOW_LETTERS: Readonly<Record<SpendingWindow, string>> = { Total: 'N', Day: 'D', Week: 'W', Month: 'M' };
/** Half of a character, as well-formed JSON.stringify escapes it, which the script's decoder refuses. */
const LONE_SURROGATE = /\\ud[89a-f]/;

/** Encodes a batch as one argument, because each argument costs the client time. */
export function encodeBatch(head: BatchHead, operations: readonly Operation[]): string {
  const text = JSON.stringify({ ...head, operations });
  if (!LONE_SURROGATE.test(text)) return text;
  return JSON.stringify({ ...head, operations }, (_name, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
}

/**
 * Takes the call's part of all limits on money and of the given ones on calls, or of none. The limits must be in the
 * account's bucket. `atMs`: about when it is admitted, or was.
 */
export function admitOperation(request: HoldRequest, limits: readonly CountLimit[], atMs = Date.now()): Operation {
  const { origin, load, amountNanoUsd, minimumNanoUsd, progress } = request;
  return {
    op: 'admit',
    ...originValues(origin),
    spending: spendingValues(moneyIn(request.limits), atMs),
    amount: String(clampAmount(amountNanoUsd)),
    minimum: String(clampAmount(minimumNanoUsd)),
    ...progressValues(progress),
    ...(limits.length > 0 && { limits: limitValues(limits, load) }),
  };
}

/** Restores a hold in a store that lost it. `endedMs` is given for a call whose settlement follows. */
export function adoptOperation({ request, heldNanoUsd, progress, admitted, day, month }: HeldCall): Operation {
  const { origin, limits } = request;
  const held = { amount: String(heldNanoUsd), ...progressValues(progress), admitted, day, month };
  const spending = spendingValues(moneyIn(limits), Number(admitted));
  return { op: 'adopt', ...originValues(origin), spending, ...held };
}

/** Settles a call and releases `slots` in the same step. */
export function settleOperation(settlement: Settlement, slots: readonly string[]): Operation {
  const { callId, progress, origin, status, durationMs, job } = settlement;
  return {
    op: 'settle',
    call: callId,
    ...progressValues(progress, job?.terms),
    route: encodeRoute(origin),
    status,
    durationMs: wholeNumber(durationMs),
    ...(job && { job: jobValues(settlement, job) }),
    ...(slots.length > 0 && { slots }),
  };
}

function jobValues({ origin }: Settlement, { jobId, pollMs }: NonNullable<Settlement['job']>): JobValues {
  return { id: jobId, pollMs: wholeNumber(pollMs), channel: origin.channel };
}

/** The job that a settlement creates, and the time of its first poll. */
interface JobValues {
  readonly [name: string]: Value;
  readonly id: string;
  readonly pollMs: number;
  readonly channel: string;
}

/** A value that is text; empty if it is none. */
export function textOf(value: Value): string {
  return typeof value === 'string' ? value : '';
}

/** Whether a value has values by name, as a job does. */
export function isNamedValues(value: Value): value is { readonly [name: string]: Value } {
  return typeof value === 'object' && !Array.isArray(value);
}

/** Gives a settled call the status Withheld. The reply is the one to a repeated settlement. */
export function withholdOperation(callId: string): Operation {
  return { op: 'withhold', call: callId };
}

/** Undoes a hold that was not answered. */
export function withdrawOperation(callId: string): Operation {
  return { op: 'withdraw', call: callId };
}

/** Updates the limits seen, before a settlement that costs more than its hold. */
export function limitsOperation(
  { keyUid, account }: Pick<CallOrigin, 'keyUid' | 'account'>,
  limits: readonly MoneyLimit[],
  nowMs: number,
): Operation {
  return { op: 'limits', key: keyUid, account, spending: spendingValues(limits, nowMs) };
}

/** Confirms that this process knows of a hold, so that a reaper bills it. */
export function confirmOperation(callId: string): Operation {
  return { op: 'confirm', call: callId };
}

export function progressOperation(callId: string, progress: CallProgress): Operation {
  return { op: 'progress', call: callId, ...progressValues(progress) };
}

export function takeOperation(callId: string, limits: readonly CountLimit[], load: Load): Operation {
  return { op: 'take', call: callId, limits: limitValues(limits, load) };
}

/** Corrects what was taken of a limit in a second; a negative amount gives back. */
export function correctOperation(limit: CountLimit, second: string, amount: number): Operation {
  return { op: 'correct', counter: counterName(limit), second, amount };
}

/** Releases slots. */
export function giveOperation(callId: string, slots: readonly string[]): Operation {
  return { op: 'give', call: callId, slots };
}

/** Renews the leases of calls in a slot. `restores`: also those that the store has lost. */
export function keepOperation(slot: string, calls: readonly string[], restores: boolean): Operation {
  return { op: 'keep', slot, calls, ...(restores && { restores }) };
}

/** Does nothing: every batch tells that its process is alive. */
export const BEAT: Operation = { op: 'beat' };

/** Ends a job. Its bill, or the refund of a failed job without one, replaces what was charged. */
export function finishOperation(
  { jobId, origin }: Pick<JobRecord, 'jobId' | 'origin'>,
  state: JobState,
  bill: JobBill | undefined,
): Operation {
  const refund = state === 'Failed' ? { cost: '0', status: 'Refunded' } : undefined;
  const billed = bill ? { ...progressValues(bill.progress), status: bill.status } : refund;
  return { op: 'finish', channel: origin.channel, job: jobId, state, ...(billed && { bill: billed }) };
}

export function keepConversationOperation(
  { account, id, bytes, untilMs }: KeptConversation,
  { count, bytes: mostBytes }: ConversationLimits,
): Operation {
  return { op: 'keepConversation', account, id, bytes, untilMs, most: count, mostBytes };
}

/** `take`: what the call takes by the minute; absent: a slot. */
function limitValues(limits: readonly CountLimit[], load: Load): Value[] {
  return limits.map((limit) =>
    isConcurrency(limit)
      ? { id: limit.id, most: limit.amount }
      : { id: counterName(limit), most: limit.amount, take: amountOf(limit, load) },
  );
}

/** Limits on money; one without an amount is unlimited. */
function spendingValues(limits: readonly MoneyLimit[], atMs: number): Value[] {
  return limits.map((limit) => {
    const { scope, amountNanoUsd, window, generation } = limit;
    const calendar = windowOf(limit);
    return {
      scope,
      ...(amountNanoUsd !== null && { amount: String(clampAmount(amountNanoUsd)) }),
      ...(calendar && isMarked(scope, calendar) ? windowValues(calendar, atMs) : { window: WINDOW_LETTERS[window] }),
      generation: String(generation),
    };
  });
}

/** A window for the script, which knows no time zones and selects the one of its own clock. */
export function windowValues(window: CalendarWindow, atMs: number): { readonly [name: string]: Value } {
  return { window: 'W', name: windowName(window), edges: edgesOf(window, atMs) };
}

/** Reads what a key has spent; in its period, if the script has no counter for that. */
export function keyOperation(keyUid: string, { period, timeZone = UTC }: PeriodOf, nowMs: number): Operation {
  const kind = windowKindOf(period);
  const isApart = kind && isMarked('Key', { kind, timeZone });
  return { op: 'key', key: keyUid, ...(isApart && { windows: [windowValues({ kind, timeZone }, nowMs)] }) };
}

/** Reads what an account has spent, also in windows. */
export function accountOperation(account: string, windows: readonly CalendarWindow[], nowMs: number): Operation {
  const asked = windows.map((window) => windowValues(window, nowMs));
  return { op: 'account', account, ...(asked.length > 0 && { windows: asked }) };
}

export function windowLetter(period: QuotaPeriod): string {
  return WINDOW_LETTERS[windowKindOf(period) ?? 'Total'];
}

function originValues(origin: CallOrigin) {
  const { callId: call, keyUid: key, account, createdMs } = origin;
  return { call, key, account, createdMs: wholeNumber(createdMs), route: encodeRoute(origin) };
}

/**
 * The cost, and as JSON the tokens with their source, the optional fields of the progress and the terms of a job's bill.
 * Invalid figures are brought into range.
 */
function progressValues(progress: CallProgress, terms?: string): { cost: string; tokens: string } {
  const sanitized = sanitizeProgress(progress);
  const { costNanoUsd, tokens, usageSource } = sanitized;
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = tokens;
  const stored: unknown[] = [input, cached, cacheWrite5m, cacheWrite1h, output, usageSource];
  const optional = optionalTexts(PROGRESS_FIELDS, sanitized).toSpliced(TERMS_AT, 0, terms);
  stored.push(...withoutAbsentEnd(optional).map((text) => text ?? null));
  return { cost: String(costNanoUsd), tokens: JSON.stringify(stored) };
}

/** The call's route and the optional fields of its origin, as JSON without the empty texts at its end. */
function encodeRoute(origin: CallOrigin): string {
  const { group, model, channel, catalog } = origin;
  const optional = withoutAbsentEnd(optionalTexts(ORIGIN_FIELDS, origin));
  return JSON.stringify([group, model, channel, catalog, ...optional.map((text) => text ?? '')]);
}

function withoutAbsentEnd(texts: readonly (string | undefined)[]): readonly (string | undefined)[] {
  return texts.slice(0, texts.findLastIndex((text) => text !== undefined) + 1);
}

/** Clamped to 64 bits. */
function clampAmount(value: bigint): bigint {
  return least(value > -MAX_NANO_USD ? value : -MAX_NANO_USD, MAX_NANO_USD);
}
