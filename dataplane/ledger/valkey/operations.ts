/**
 * [P] The operations of ledger.lua as requests: each a name and its arguments in order, a batch of them as one text.
 * Amounts are decimal text. What the script only stores (a call's route, its tokens) is JSON.
 */
import { cleanProgress, least, MAX_NANO_USD, wholeNumber } from '../amounts.ts';
import type { HoldRequest, Limits, QuotaPeriod, Settlement, SlotLimit } from '../ledger.ts';
import type { CallOrigin, CallProgress } from '../usage-record.ts';

export interface Operation {
  readonly name: string;
  readonly args: readonly string[];
}

/** A hold that this process was granted and has not settled yet. */
export interface HeldCall {
  readonly request: HoldRequest;
  readonly heldNanoUsd: bigint;
  progress: CallProgress;
  /** The indexes of the day and the month that it was admitted in. */
  readonly day: string;
  readonly month: string;
  /** The store may have another hold of this call: a later one was not answered, or the store has lost writes. */
  doubtful: boolean;
}

/** Ends an argument, as the script's struct library ends a string. */
export const ARGUMENT_END = '\0';
/** Ends one operation's reply. */
export const REPLY_END = '\x1e';
const REPLACEMENT = '\uFFFD';

const PERIOD_LETTERS: Readonly<Record<QuotaPeriod, string>> = { Never: 'N', Daily: 'D', Monthly: 'M' };

/** A batch as one argument of the script: a client spends more on each argument than on what is in it. */
export function encodeBatch(head: readonly string[], operations: readonly Operation[]): string {
  const args = operations.flatMap(({ name, args: own }) => [name, String(own.length), ...own.map(withoutSeparators)]);
  return [...head, ...args, ''].join(ARGUMENT_END);
}

/** An identifier with a separator in it would forge arguments. Replaced, it is nobody's. */
function withoutSeparators(argument: string): string {
  if (!argument.includes(ARGUMENT_END) && !argument.includes(REPLY_END)) return argument;
  return argument.replaceAll(ARGUMENT_END, REPLACEMENT).replaceAll(REPLY_END, REPLACEMENT);
}

export function holdOperation(request: HoldRequest): Operation {
  return { name: 'hold', args: holdArgs(request) };
}

/** Slots and money together. The slots must be in the bucket of the account. */
export function admitOperation(request: HoldRequest, slots: readonly SlotLimit[]): Operation {
  return { name: 'admit', args: [String(slots.length * 2), ...slotArgs(slots), ...holdArgs(request)] };
}

function holdArgs({ origin, limits, amountNanoUsd, minimumNanoUsd, progress }: HoldRequest): string[] {
  const [limit, period, credit] = limitArgs(limits);
  const generations = [String(limits.keyGeneration), String(limits.accountGeneration)] as const;
  return [
    ...originArgs(origin), limit, period, generations[0], credit, generations[1],
    String(capped(amountNanoUsd)), String(capped(minimumNanoUsd)), ...progressArgs(progress),
  ];
}

/** Makes a hold again in a store that does not have it. */
export function adoptOperation({ request, heldNanoUsd, progress, day, month }: HeldCall): Operation {
  const { origin, limits } = request;
  const amounts = [...limitArgs(limits), String(heldNanoUsd), ...progressArgs(progress)];
  const args = [...originArgs(origin), ...amounts, day, month];
  return { name: 'adopt', args };
}

/** `slots`: the call's, released in the same step. Answered with the whole record. */
export function settleOperation(settlement: Settlement, slots: readonly string[]): Operation {
  const { callId, progress, origin, status, durationMs } = settlement;
  const what = [...progressArgs(progress), routeArg(origin), status, String(wholeNumber(durationMs))];
  return { name: 'settle', args: [callId, ...what, ...jobArgs(settlement), ...slots] };
}

/** The job that a settlement makes: its id (empty: none), when to poll it first, and its channel. */
export function jobArgs({ job, origin }: Settlement): string[] {
  return [job?.jobId ?? '', String(wholeNumber(job?.pollMs ?? 0)), origin.channel];
}

/**
 * The settlement of a call that this process holds, without a job. The reply has only what the process does not know
 * (see expandBooked). `route` is empty where it is the hold's.
 */
export function bookOperation(settlement: Settlement, heldOrigin: CallOrigin, slots: readonly string[]): Operation {
  const { callId, progress, origin, status, durationMs } = settlement;
  const route = isSameRoute(origin, heldOrigin) ? '' : routeArg(origin);
  const args = [callId, ...progressArgs(progress), route, status, String(wholeNumber(durationMs)), ...slots];
  return { name: 'book', args };
}

/** Tells of the limits in force, for a settlement that takes more than was held. */
export function seeOperation({ keyUid, account }: Pick<CallOrigin, 'keyUid' | 'account'>, limits: Limits): Operation {
  const [limit, period, credit] = limitArgs(limits);
  const { keyGeneration, accountGeneration } = limits;
  const args = [keyUid, account, limit, period, String(keyGeneration), credit, String(accountGeneration)];
  return { name: 'see', args };
}

export function progressOperation(callId: string, progress: CallProgress): Operation {
  return { name: 'progress', args: [callId, ...progressArgs(progress)] };
}

export function takeOperation(callId: string, slots: readonly SlotLimit[]): Operation {
  return { name: 'take', args: [callId, ...slotArgs(slots)] };
}

function slotArgs(slots: readonly SlotLimit[]): string[] {
  return slots.flatMap(({ id, limit }) => [id, String(limit)]);
}

function limitArgs(limits: Limits): [limit: string, period: string, credit: string] {
  const { keyLimitNanoUsd, period, accountCreditNanoUsd } = limits;
  const limit = keyLimitNanoUsd === null ? '-' : String(capped(keyLimitNanoUsd));
  return [limit, periodLetter(period), String(capped(accountCreditNanoUsd))];
}

export function periodLetter(period: QuotaPeriod): string {
  return PERIOD_LETTERS[period];
}

function originArgs(origin: CallOrigin): string[] {
  return [origin.callId, origin.keyUid, origin.account, String(wholeNumber(origin.createdMs)), routeArg(origin)];
}

/** The cost, and the tokens with their source as JSON. Figures that a defect made are counts here. */
export function progressArgs(progress: CallProgress): [cost: string, tokens: string] {
  const { costNanoUsd, tokens, usageSource } = cleanProgress(progress);
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = tokens;
  return [String(costNanoUsd), JSON.stringify([input, cached, cacheWrite5m, cacheWrite1h, output, usageSource])];
}

/** Where a call ran, as JSON. */
export function routeArg({ group, model, channel, catalog }: CallOrigin): string {
  return JSON.stringify([group, model, channel, catalog]);
}

function isSameRoute(a: CallOrigin, b: CallOrigin): boolean {
  return a.channel === b.channel && a.model === b.model && a.group === b.group && a.catalog === b.catalog;
}

/** Within what 64 bits hold. */
export function capped(value: bigint): bigint {
  return least(value > -MAX_NANO_USD ? value : -MAX_NANO_USD, MAX_NANO_USD);
}
