/**
 * [P] Builds the operations of ledger.lua, each a name and ordered arguments, and encodes a batch of them as one
 * string. Amounts are decimal strings. Values that the script only stores (a call's route, its tokens) are JSON.
 */
import { sanitizeProgress, least, MAX_NANO_USD, wholeNumber } from '../amounts.ts';
import { encodeLines } from '../../price/bill.ts';
import type {
  ConversationLimits,
  HoldRequest,
  JobBill,
  JobRecord,
  JobState,
  KeptConversation,
  SpendingLimits,
  QuotaPeriod,
  Settlement,
  Limit,
  Load,
} from '../ledger.ts';
import { amountOf, counterName, isConcurrency } from '../load.ts';
import type { CallOrigin, CallProgress } from '../../usage/record.ts';

export interface Operation {
  readonly name: string;
  readonly args: readonly string[];
}

/** A granted hold of this process that is not settled yet. */
export interface HeldCall {
  readonly request: HoldRequest;
  readonly heldNanoUsd: bigint;
  progress: CallProgress;
  /** The indexes of the day and month of the call's admission. */
  readonly day: string;
  readonly month: string;
  /** The store may have another hold of this call, because a later one was not answered or the store lost writes. */
  isUncertain: boolean;
}

/** Ends an argument, as the script's struct library ends a string. */
export const ARGUMENT_END = '\0';
/** Ends one operation's reply. */
export const REPLY_END = '\x1e';
const REPLACEMENT = '\uFFFD';

const PERIOD_LETTERS: Readonly<Record<QuotaPeriod, string>> = { Never: 'N', Daily: 'D', Monthly: 'M' };

/** Encodes a batch as one argument, because each argument costs the client time. */
export function encodeBatch(head: readonly string[], operations: readonly Operation[]): string {
  const args = operations.flatMap(({ name, args: own }) => [name, String(own.length), ...own.map(withoutSeparators)]);
  return [...head, ...args, ''].join(ARGUMENT_END);
}

/** Replaces separators in identifiers, which could otherwise inject arguments. */
function withoutSeparators(argument: string): string {
  if (!argument.includes(ARGUMENT_END) && !argument.includes(REPLY_END)) return argument;
  return argument.replaceAll(ARGUMENT_END, REPLACEMENT).replaceAll(REPLY_END, REPLACEMENT);
}

export function holdOperation(request: HoldRequest): Operation {
  return { name: 'hold', args: holdArgs(request) };
}

/** Takes limits and hold together. The limits must be in the account's bucket. */
export function admitOperation(request: HoldRequest, limits: readonly Limit[], load: Load): Operation {
  const args = limitsArgs(limits, load);
  return { name: 'admit', args: [String(args.length), ...args, ...holdArgs(request)] };
}

function holdArgs({ origin, limits, amountNanoUsd, minimumNanoUsd, progress }: HoldRequest): string[] {
  const [limit, period, credit] = limitArgs(limits);
  const generations = [String(limits.keyGeneration), String(limits.accountGeneration)] as const;
  return [
    ...originArgs(origin),
    limit,
    period,
    generations[0],
    credit,
    generations[1],
    String(clampAmount(amountNanoUsd)),
    String(clampAmount(minimumNanoUsd)),
    ...progressArgs(progress),
  ];
}

/** Restores a hold in a store that lost it. */
export function adoptOperation({ request, heldNanoUsd, progress, day, month }: HeldCall): Operation {
  const { origin, limits } = request;
  const amounts = [...limitArgs(limits), String(heldNanoUsd), ...progressArgs(progress)];
  const args = [...originArgs(origin), ...amounts, day, month];
  return { name: 'adopt', args };
}

/** Settles a call and releases `slots` in the same step. The reply contains the full record. */
export function settleOperation(settlement: Settlement, slots: readonly string[]): Operation {
  const { callId, progress, origin, status, durationMs, job } = settlement;
  const what = [...progressArgs(progress, job?.terms), routeArg(origin), status, String(wholeNumber(durationMs))];
  return { name: 'settle', args: [callId, ...what, ...jobArgs(settlement), ...slots] };
}

/**
 * The arguments of the job that a settlement creates: its id (empty: none), the time of its first poll, and its
 * channel.
 */
export function jobArgs({ job, origin }: Settlement): string[] {
  return [job?.jobId ?? '', String(wholeNumber(job?.pollMs ?? 0)), origin.channel];
}

/** The same for a settlement without a job. */
export const NO_JOB = ['', '0', ''];

/**
 * Settles a call that this process holds, without a job. The reply contains only what this process does not know (see
 * expandSettleReply). The route is left empty if it equals the hold's.
 */
export function settleHeldOperation(
  settlement: Settlement,
  heldOrigin: CallOrigin,
  slots: readonly string[],
): Operation {
  const { callId, progress, origin, status, durationMs } = settlement;
  const route = isSameRoute(origin, heldOrigin) ? '' : routeArg(origin);
  const args = [callId, ...progressArgs(progress), route, status, String(wholeNumber(durationMs)), ...slots];
  return { name: 'book', args };
}

/** Gives a settled call the status Withheld. The reply is the one to a repeated settlement. */
export function withholdOperation(callId: string): Operation {
  return { name: 'withhold', args: [callId] };
}

/** Updates the limits seen, before a settlement that costs more than its hold. */
export function limitsOperation(
  { keyUid, account }: Pick<CallOrigin, 'keyUid' | 'account'>,
  limits: SpendingLimits,
): Operation {
  const [limit, period, credit] = limitArgs(limits);
  const { keyGeneration, accountGeneration } = limits;
  const args = [keyUid, account, limit, period, String(keyGeneration), credit, String(accountGeneration)];
  return { name: 'limits', args };
}

/** Confirms that this process knows of a hold, so that a reaper bills it. */
export function confirmOperation(callId: string): Operation {
  return { name: 'confirm', args: [callId] };
}

export function progressOperation(callId: string, progress: CallProgress): Operation {
  return { name: 'progress', args: [callId, ...progressArgs(progress)] };
}

export function takeOperation(callId: string, limits: readonly Limit[], load: Load): Operation {
  return { name: 'take', args: [callId, ...limitsArgs(limits, load)] };
}

/** Corrects what was taken of a limit in a second; a negative amount gives back. */
export function correctOperation(limit: Limit, second: string, amount: number): Operation {
  return { name: 'correct', args: [counterName(limit), second, String(amount)] };
}

function limitsArgs(limits: readonly Limit[], load: Load): string[] {
  return limits.flatMap((limit) =>
    isConcurrency(limit)
      ? [limit.id, String(limit.amount), '']
      : [counterName(limit), String(limit.amount), String(amountOf(limit, load))],
  );
}

function limitArgs(limits: SpendingLimits): [limit: string, period: string, credit: string] {
  const { keyLimitNanoUsd, period, accountCreditNanoUsd } = limits;
  const limit = keyLimitNanoUsd === null ? '-' : String(clampAmount(keyLimitNanoUsd));
  return [limit, periodLetter(period), String(clampAmount(accountCreditNanoUsd))];
}

export function periodLetter(period: QuotaPeriod): string {
  return PERIOD_LETTERS[period];
}

function originArgs(origin: CallOrigin): string[] {
  return [origin.callId, origin.keyUid, origin.account, String(wholeNumber(origin.createdMs)), routeArg(origin)];
}

/** Ends a job. Its bill, or the refund of a failed job without one, replaces what was charged. */
export function finishOperation(
  { jobId, origin }: Pick<JobRecord, 'jobId' | 'origin'>,
  state: JobState,
  bill: JobBill | undefined,
): Operation {
  const refund = state === 'Failed' ? ['0', '', 'Refunded'] : [];
  const billed = bill ? [...progressArgs(bill.progress), bill.status] : refund;
  return { name: 'finish', args: [origin.channel, jobId, state, ...billed] };
}

/**
 * The cost, and the tokens with their source, lines, upstream cost and the terms of a job's bill as JSON. Invalid
 * figures are brought into range.
 */
export function progressArgs(progress: CallProgress, terms?: string): [cost: string, tokens: string] {
  const { costNanoUsd, tokens, usageSource, lines, upstreamCostNanoUsd } = sanitizeProgress(progress);
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = tokens;
  const stored: unknown[] = [input, cached, cacheWrite5m, cacheWrite1h, output, usageSource];
  const optional = [
    lines && encodeLines(lines),
    upstreamCostNanoUsd === undefined ? undefined : String(upstreamCostNanoUsd),
    terms,
  ];
  const last = optional.findLastIndex((value) => value !== undefined);
  stored.push(...optional.slice(0, last + 1).map((value) => value ?? null));
  return [String(costNanoUsd), JSON.stringify(stored)];
}

/** The call's route, session, key name and labels, as JSON without the empty texts at its end. */
export function routeArg({ group, model, channel, catalog, session, keyName, labels }: CallOrigin): string {
  const optional = [session, keyName, labels];
  const last = optional.findLastIndex((value) => value !== undefined);
  return JSON.stringify([group, model, channel, catalog, ...optional.slice(0, last + 1).map((value) => value ?? '')]);
}

function isSameRoute(a: CallOrigin, b: CallOrigin): boolean {
  return (
    a.channel === b.channel &&
    a.model === b.model &&
    a.group === b.group &&
    a.catalog === b.catalog &&
    a.session === b.session &&
    a.keyName === b.keyName &&
    a.labels === b.labels
  );
}

/** Clamped to 64 bits. */
export function clampAmount(value: bigint): bigint {
  return least(value > -MAX_NANO_USD ? value : -MAX_NANO_USD, MAX_NANO_USD);
}

export function keepOperation(
  { account, id, bytes, untilMs }: KeptConversation,
  { count, bytes: most }: ConversationLimits,
): Operation {
  return {
    name: 'keepConversation',
    args: [account, id, String(bytes), String(untilMs ?? '-'), String(count), String(most)],
  };
}
