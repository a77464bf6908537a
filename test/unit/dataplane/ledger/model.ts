/**
 * The simplest possible ledger, as a model: a list of calls, and sums over it. A key's periods in UTC are prefixes of ISO
 * dates. Of other windows it remembers from when on the ledger knows what was spent in them.
 */
import assert from 'node:assert/strict';
import type { CalendarWindow, KeySpending, LedgerReader, QuotaPeriod } from '#ledger/spending.ts';
import type { HoldRequest } from '../../../../dataplane/ledger/ledger.ts';
import { trimmed } from '../../../../dataplane/ledger/marks.ts';
import { spanAt, windowKindOf } from '#ledger/periods.ts';
import { briefName, DAY_MS, spendingOf } from './calls.ts';
import type { BriefResult, Spending } from './calls.ts';
import { ACCOUNTS, KEYS, PERIODS, TIME_ZONES } from './histories.ts';

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
  seenKeys: Map<string, Seen>;
  seenAccounts: Map<string, Seen>;
  /** By key or account. */
  known: Map<string, Known>;
}

interface Seen {
  readonly limits: Spending;
  readonly atMs: number;
}

/** From when on the spending in windows is known, by the windows' beginnings; and those that calls counted in last. */
interface Known {
  marks: readonly { readonly startMs: number; readonly fromMs: number }[];
  tracked: readonly (CalendarWindow & { readonly sinceMs: number })[];
  dayMs: number;
}

export function createModel(): Model {
  return { calls: new Map(), seenKeys: new Map(), seenAccounts: new Map(), known: new Map() };
}

const PREFIX = { Never: 0, Daily: 10, Weekly: 0, Monthly: 7 };

function samePeriod(period: QuotaPeriod, aMs: number, bMs: number): boolean {
  return new Date(aMs).toISOString().slice(0, PREFIX[period]) === new Date(bMs).toISOString().slice(0, PREFIX[period]);
}

function counted({ held, pending, settled }: ModelCall): bigint {
  if (settled) return 0n;
  return pending && pending !== 'new' && pending.held > held ? pending.held : held;
}

const sum = (values: Iterable<bigint>): bigint => [...values].reduce((a, b) => a + b, 0n);
const least = (...values: bigint[]): bigint => values.reduce((a, b) => (a < b ? a : b));

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;

function knownOf(model: Model, owner: string): Known {
  const known = model.known.get(owner) ?? { marks: [], tracked: [], dayMs: -1 };
  model.known.set(owner, known);
  return known;
}

function firstFrom({ marks }: Known, ms: number): number {
  return Math.min(...marks.map(({ fromMs }) => fromMs).filter((fromMs) => fromMs >= ms));
}

function trackedSince({ tracked }: Known, window: CalendarWindow): number | undefined {
  return tracked.find(({ kind, timeZone }) => kind === window.kind && timeZone === window.timeZone)?.sinceMs;
}

function isTracked(known: Known, window: CalendarWindow, startMs: number): boolean {
  return startMs >= (trackedSince(known, window) ?? Infinity);
}

function know(known: Known, startMs: number, isExact: boolean): void {
  if (known.marks.some((mark) => mark.startMs === startMs)) return;
  const fromMs = isExact ? startMs : firstFrom(known, dayOf(startMs));
  known.marks = [...known.marks, { startMs, fromMs }].sort((a, b) => a.fromMs - b.fromMs);
}

function knowWindows(known: Known, windows: readonly CalendarWindow[], nowMs: number): void {
  const dayMs = dayOf(nowMs);
  if (known.dayMs !== dayMs) {
    know(known, dayMs, true);
    known.marks = trimmed(known.marks, nowMs);
    known.dayMs = dayMs;
  }
  for (const window of windows) {
    const { startMs } = spanAt(window.kind, nowMs, window.timeZone);
    know(known, startMs, isTracked(known, window, startMs));
  }
  const latestMs = Math.max(...known.marks.map(({ fromMs }) => fromMs));
  const untrackedMs = latestMs > nowMs ? dayOf(latestMs) + DAY_MS : nowMs;
  known.tracked = windows.map((window) => ({ ...window, sinceMs: trackedSince(known, window) ?? untrackedMs }));
}

type Calls = (call: ModelCall) => boolean;

function sums(model: Model, isCounted: Calls): { spent: bigint; held: bigint } {
  const calls = [...model.calls.values()].filter(isCounted);
  return { spent: sum(calls.map(({ settled }) => settled?.billed ?? 0n)), held: sum(calls.map(counted)) };
}

function windowSums(
  model: Model,
  { owner, isOwn, window }: { owner: string; isOwn: Calls; window: CalendarWindow },
  atMs: number,
): { spent: bigint; held: bigint } {
  const known = knownOf(model, owner);
  const { startMs, endMs } = spanAt(window.kind, atMs, window.timeZone);
  const mark = known.marks.find((each) => each.startMs === startMs);
  const fromMs = mark?.fromMs ?? firstFrom(known, isTracked(known, window, startMs) ? startMs : dayOf(startMs));
  const tillMs = firstFrom(known, endMs);
  return sums(model, (call) => isOwn(call) && call.admittedMs >= fromMs && call.admittedMs < tillMs);
}

export function keySums(
  model: Model,
  keyUid: string,
  { period, timeZone = 'UTC' }: { readonly period: QuotaPeriod; readonly timeZone?: string },
  atMs: number,
): { spent: bigint; held: bigint } {
  const isOwn: Calls = (call) => call.keyUid === keyUid;
  const kind = windowKindOf(period);
  if (kind && isApart(period, timeZone))
    return windowSums(model, { owner: keyUid, isOwn, window: { kind, timeZone } }, atMs);
  return sums(model, (call) => isOwn(call) && samePeriod(period, call.admittedMs, atMs));
}

function isApart(period: QuotaPeriod, timeZone: string): boolean {
  return period !== 'Never' && (period === 'Weekly' || timeZone !== 'UTC');
}

export function accountSums(
  model: Model,
  account: string,
  at?: { readonly window: CalendarWindow; readonly ms: number },
): { spent: bigint; held: bigint } {
  const isOwn: Calls = (call) => call.account === account;
  return at ? windowSums(model, { owner: account, isOwn, window: at.window }, at.ms) : sums(model, isOwn);
}

/** What is free under a limit, and the limit in short. */
interface Room {
  readonly of: string;
  readonly free: bigint;
}

type Caller = Pick<ModelCall, 'keyUid' | 'account' | 'admittedMs'>;

function keyRooms(model: Model, { keyUid, admittedMs }: Caller, limits: Spending): Room[] {
  const { spent, held } = keySums(model, keyUid, limits, admittedMs);
  const { keyLimitNanoUsd } = limits;
  return [{ of: 'Key', free: keyLimitNanoUsd === null ? 10n ** 18n : keyLimitNanoUsd - spent - held }];
}

function accountRooms(model: Model, { account, admittedMs }: Caller, limits: Spending): Room[] {
  const total = accountSums(model, account);
  const credit = { of: 'Account', free: limits.accountCreditNanoUsd - total.spent - total.held };
  const others = (limits.accountLimits ?? []).map(({ amountNanoUsd, window, timeZone = 'UTC' }) => {
    const at = window === 'Total' ? undefined : { window: { kind: window, timeZone }, ms: admittedMs };
    const { spent, held } = accountSums(model, account, at);
    return { of: briefName({ scope: 'Account', window, timeZone }), free: amountNanoUsd - spent - held };
  });
  return [credit, ...others];
}

/** Limits that were seen bound a call in windows that they were seen in. */
function seenRooms(model: Model, call: Caller): Room[] {
  const { admittedMs } = call;
  const isIn = (window: CalendarWindow['kind'], timeZone: string, atMs: number): boolean =>
    spanAt(window, atMs, timeZone).startMs === spanAt(window, admittedMs, timeZone).startMs;
  const ofKey = model.seenKeys.get(call.keyUid);
  const { period = 'Never', timeZone = 'UTC' } = ofKey?.limits ?? {};
  const kind = windowKindOf(period);
  const keyCounts = !kind || !isApart(period, timeZone) || isIn(kind, timeZone, ofKey?.atMs ?? 0);
  const ofAccount = model.seenAccounts.get(call.account);
  const accountLimits = ofAccount?.limits.accountLimits?.filter(
    ({ window, timeZone: zone = 'UTC' }) => window === 'Total' || isIn(window, zone, ofAccount.atMs),
  );
  return [
    ...(ofKey && keyCounts ? keyRooms(model, call, ofKey.limits) : []),
    ...(ofAccount ? accountRooms(model, call, { ...ofAccount.limits, accountLimits: accountLimits ?? [] }) : []),
  ];
}

function keyWindows({ period, timeZone = 'UTC' }: Spending): CalendarWindow[] {
  const kind = windowKindOf(period);
  return kind && isApart(period, timeZone) ? [{ kind, timeZone }] : [];
}

function accountWindows({ accountLimits = [] }: Spending): CalendarWindow[] {
  return accountLimits.flatMap(({ window, timeZone = 'UTC' }) =>
    window === 'Total' ? [] : [{ kind: window, timeZone }],
  );
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
    (seenKey?.limits.keyGeneration ?? 0n) > limits.keyGeneration ||
    (seenAccount?.limits.accountGeneration ?? 0n) > limits.accountGeneration
  )
    return { outcome: 'StaleLimits' };
  const call = model.calls.get(callId);
  const admittedMs = call?.admittedMs ?? nowMs;
  model.seenKeys.set(keyUid, { limits, atMs: admittedMs });
  model.seenAccounts.set(account, { limits, atMs: admittedMs });
  if (!call) {
    knowWindows(knownOf(model, keyUid), keyWindows(limits), nowMs);
    knowWindows(knownOf(model, account), accountWindows(limits), nowMs);
  }
  const own = call ? counted(call) : 0n;
  const caller = { keyUid, account, admittedMs };
  const rooms = [...keyRooms(model, caller, limits), ...accountRooms(model, caller, limits)];
  const tight = rooms.reduce((a, b) => (b.free < a.free ? b : a));
  const free = tight.free + own;
  const granted = amountNanoUsd === 0n ? 0n : least(amountNanoUsd, free);
  if (granted < minimumNanoUsd || granted < 0n)
    return {
      outcome: 'Short',
      short: tight.of,
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
  const own = [...keyRooms(model, call, call.limits), ...accountRooms(model, call, call.limits)];
  const free = least(...[...own, ...seenRooms(model, call)].map((room) => room.free));
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
  period: { readonly period: QuotaPeriod; readonly timeZone?: string },
  nowMs: number,
): Pick<KeySpending, 'spentNanoUsd' | 'heldNanoUsd' | 'totalSpentNanoUsd'> {
  const { spent, held } = keySums(model, keyUid, period, nowMs);
  return {
    spentNanoUsd: spent,
    heldNanoUsd: held,
    totalSpentNanoUsd: keySums(model, keyUid, { period: 'Never' }, nowMs).spent,
  };
}

/** Asserts that every key and account has spent and holds as much as in the model, in every window. */
export async function assertSpending(
  ledger: LedgerReader,
  model: Model,
  { nowMs, timeZones = TIME_ZONES }: { readonly nowMs: number; readonly timeZones?: readonly string[] },
): Promise<void> {
  const windows = timeZones.flatMap((timeZone) => KINDS.map((kind) => ({ kind, timeZone })));
  for (const key of KEYS) {
    for (const timeZone of timeZones) {
      for (const period of PERIODS) {
        const { spentNanoUsd, heldNanoUsd, totalSpentNanoUsd } = await ledger.readKey(key, { period, timeZone });
        const expected = modelSpending(model, key, { period, timeZone }, nowMs);
        assert.deepEqual({ spentNanoUsd, heldNanoUsd, totalSpentNanoUsd }, expected, `${key} ${period} ${timeZone}`);
      }
    }
  }
  for (const account of ACCOUNTS) {
    const { spentNanoUsd, heldNanoUsd, windows: inWindows = [] } = await ledger.readAccount(account, windows);
    assert.deepEqual({ spent: spentNanoUsd, held: heldNanoUsd }, accountSums(model, account));
    windows.forEach((window, index) => {
      const { spentNanoUsd: spent, heldNanoUsd: held } = inWindows[index] ?? {};
      const expected = accountSums(model, account, { window, ms: nowMs });
      assert.deepEqual({ spent, held }, expected, `${account} ${window.kind} ${window.timeZone}`);
    });
  }
}

const KINDS = ['Day', 'Week', 'Month'] as const;
