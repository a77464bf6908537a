/** The simplest possible ledger, as a model: a list of calls, and sums over it. Periods are prefixes of ISO dates. */
import type { KeySpending, QuotaPeriod } from '#ledger/spending.ts';
import type { HoldRequest } from '../../../../dataplane/ledger/ledger.ts';
import { spendingOf } from './calls.ts';
import type { BriefResult, Spending } from './calls.ts';

interface ModelCall {
  readonly keyUid: string;
  readonly account: string;
  readonly admittedMs: number;
  limits: Spending;
  held: bigint;
  progress: bigint;
  /** Not confirmed yet; the replaced hold counts if it is larger. */
  pending: { readonly held: bigint; readonly limits: Spending } | 'new' | undefined;
  settled:
    | {
        readonly billed: bigint;
        readonly unbilled: bigint;
        readonly abandoned: boolean;
        /** A bill has replaced the charge. */
        readonly final?: boolean;
      }
    | undefined;
}

export interface Model {
  calls: Map<string, ModelCall>;
  seenKeys: Map<string, Spending>;
  seenAccounts: Map<string, Spending>;
}

export function createModel(): Model {
  return { calls: new Map(), seenKeys: new Map(), seenAccounts: new Map() };
}

const PREFIX = { Never: 0, Daily: 10, Monthly: 7 };

function samePeriod(period: QuotaPeriod, aMs: number, bMs: number): boolean {
  return new Date(aMs).toISOString().slice(0, PREFIX[period]) === new Date(bMs).toISOString().slice(0, PREFIX[period]);
}

function counted({ held, pending, settled }: ModelCall): bigint {
  if (settled) return 0n;
  return pending && pending !== 'new' && pending.held > held ? pending.held : held;
}

const sum = (values: Iterable<bigint>): bigint => [...values].reduce((a, b) => a + b, 0n);
const least = (...values: bigint[]): bigint => values.reduce((a, b) => (a < b ? a : b));

export function keySums(
  model: Model,
  keyUid: string,
  period: QuotaPeriod,
  atMs: number,
): { spent: bigint; held: bigint } {
  const calls = [...model.calls.values()].filter(
    (call) => call.keyUid === keyUid && samePeriod(period, call.admittedMs, atMs),
  );
  return { spent: sum(calls.map(({ settled }) => settled?.billed ?? 0n)), held: sum(calls.map(counted)) };
}

export function accountSums(model: Model, account: string): { spent: bigint; held: bigint } {
  const calls = [...model.calls.values()].filter((call) => call.account === account);
  return { spent: sum(calls.map(({ settled }) => settled?.billed ?? 0n)), held: sum(calls.map(counted)) };
}

function headroom(
  model: Model,
  of: { keyUid: string; account: string; admittedMs: number },
  limits: Spending,
): { key: bigint; account: bigint } {
  const key = keySums(model, of.keyUid, limits.period, of.admittedMs);
  const account = accountSums(model, of.account);
  return {
    key: limits.keyLimitNanoUsd === null ? 10n ** 18n : limits.keyLimitNanoUsd - key.spent - key.held,
    account: limits.accountCreditNanoUsd - account.spent - account.held,
  };
}

/** The result that the ledger must return; a hold stays pending. */
export function modelHold(
  model: Model,
  { origin, limits: all, amountNanoUsd, minimumNanoUsd, progress }: HoldRequest,
  nowMs: number,
): BriefResult {
  const limits = spendingOf(all);
  const { callId, keyUid, account } = origin;
  const seenKey = model.seenKeys.get(keyUid);
  const seenAccount = model.seenAccounts.get(account);
  if (
    (seenKey?.keyGeneration ?? 0n) > limits.keyGeneration ||
    (seenAccount?.accountGeneration ?? 0n) > limits.accountGeneration
  )
    return { outcome: 'StaleLimits' };
  model.seenKeys.set(keyUid, limits);
  model.seenAccounts.set(account, limits);
  const call = model.calls.get(callId);
  const admittedMs = call?.admittedMs ?? nowMs;
  const own = call ? counted(call) : 0n;
  const room = headroom(model, { keyUid, account, admittedMs }, limits);
  const free = least(room.key, room.account) + own;
  const granted = amountNanoUsd === 0n ? 0n : least(amountNanoUsd, free);
  if (granted < minimumNanoUsd || granted < 0n)
    return {
      outcome: 'Short',
      short: room.key <= room.account ? 'Key' : 'Account',
      availableNanoUsd: free < 0n ? 0n : free,
    };
  const pending = call ? { held: call.held, limits: call.limits } : ('new' as const);
  model.calls.set(callId, {
    keyUid,
    account,
    admittedMs,
    limits,
    held: granted,
    progress: progress.costNanoUsd,
    pending,
    settled: undefined,
  });
  return { outcome: 'Held', heldNanoUsd: granted };
}

export function modelConfirm(model: Model, callId: string): void {
  const call = model.calls.get(callId);
  if (call) call.pending = undefined;
}

export function modelWithdraw(model: Model, callId: string): void {
  const call = model.calls.get(callId);
  if (call?.pending === 'new') model.calls.delete(callId);
  else if (call?.pending) {
    call.held = call.pending.held;
    call.limits = call.pending.limits;
    call.pending = undefined;
  }
}

/** Undefined where there is no such call. */
export function modelSettle(model: Model, callId: string, cost: bigint, abandoned = false): ModelCall['settled'] {
  const call = model.calls.get(callId);
  if (!call || call.settled) return call?.settled;
  const rooms = [headroom(model, call, call.limits)];
  const seenKey = model.seenKeys.get(call.keyUid);
  const seenAccount = model.seenAccounts.get(call.account);
  if (seenKey) rooms.push({ ...headroom(model, call, seenKey), account: 10n ** 18n });
  if (seenAccount) rooms.push({ ...headroom(model, call, seenAccount), key: 10n ** 18n });
  const free = least(...rooms.flatMap(({ key, account }) => [key, account]));
  const billed = least(cost, counted(call) + (free > 0n ? free : 0n));
  call.settled = { billed, unbilled: cost - billed, abandoned };
  return call.settled;
}

/** Replaces a charge by its bill, once. Undefined where the call has no job. */
export function modelFinish(model: Model, callId: string, cost: bigint): ModelCall['settled'] {
  const call = model.calls.get(callId);
  if (!call?.settled || call.settled.abandoned) return undefined;
  if (call.settled.final) return call.settled;
  const billed = least(cost, call.settled.billed);
  call.settled = { billed, unbilled: cost - billed, abandoned: false, final: true };
  return call.settled;
}

/** The state of the next process: generations are lost, running calls are settled in order of id. */
export function modelCrash(model: Model): void {
  model.seenKeys = new Map();
  model.seenAccounts = new Map();
  const left = [...model.calls].filter(([, { settled }]) => !settled).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, call] of left) call.pending = undefined;
  for (const [callId, { progress }] of left) modelSettle(model, callId, progress, true);
}

/** The amounts that a reader must get. */
export function modelSpending(
  model: Model,
  keyUid: string,
  period: QuotaPeriod,
  nowMs: number,
): Pick<KeySpending, 'spentNanoUsd' | 'heldNanoUsd' | 'totalSpentNanoUsd'> {
  const { spent, held } = keySums(model, keyUid, period, nowMs);
  return { spentNanoUsd: spent, heldNanoUsd: held, totalSpentNanoUsd: keySums(model, keyUid, 'Never', nowMs).spent };
}
