/**
 * [P] The balances: what every key and account has spent and holds. A key is counted in its day, in its month and in
 * total at once, so that a changed period is exact from the start. A call stays in the windows that it was admitted in:
 * one that ends after midnight counts in the day before, whose window is kept until then. ledger-core.ts moves money
 * between the tallies, and logs each movement in the same step.
 */
import { CallMap } from './call-map.ts';
import { createJobs } from './jobs.ts';
import type { Job, Jobs } from './jobs.ts';
import type { Limits, QuotaPeriod, SpendingChanges } from './ledger.ts';
import { spanAt, windowKindOf } from './periods.ts';
import type { Span, WindowKind } from './periods.ts';
import type { CallOrigin, CallProgress, UsageRecord } from './usage-record.ts';

export interface Tally {
  spentNanoUsd: bigint;
  heldNanoUsd: bigint;
}

/** One day or month of a key. */
export interface Window extends Tally {
  readonly kind: WindowKind;
  readonly startMs: number;
  /** Calls in flight that were admitted in it. */
  holds: number;
}

/** Limits as last seen, and the generation that they come from. Not kept on disk. */
export interface SeenKeyLimit {
  readonly generation: bigint;
  readonly limitNanoUsd: bigint | null;
  readonly period: QuotaPeriod;
}

export interface SeenCredit {
  readonly generation: bigint;
  readonly creditNanoUsd: bigint;
}

export interface KeyBalance {
  readonly uid: string;
  readonly total: Tally;
  day: Window;
  month: Window;
  /** Earlier windows (and later ones, where the clock was set back): those with calls in flight, and the latest few. */
  past: Window[];
  lastUsedMs: number | null;
  seen: SeenKeyLimit | undefined;
}

export interface AccountBalance extends Tally {
  readonly id: string;
  seen: SeenCredit | undefined;
}

/** A call in flight. */
export interface Hold {
  readonly origin: CallOrigin;
  readonly limits: Limits;
  readonly key: KeyBalance;
  readonly account: AccountBalance;
  readonly day: Window;
  readonly month: Window;
  readonly grantedNanoUsd: bigint;
  /** What the tallies count of it: while a replacement is not durable, the larger of the two amounts. */
  countedNanoUsd: bigint;
  progress: CallProgress;
  renewedMs: number;
  /** Granted, but not durable yet. */
  pending: boolean;
}

/** A call that is over, and what its settlement answered. */
export interface SettledCall {
  readonly record: UsageRecord;
  readonly keySpentNanoUsd: bigint;
  readonly keyRemainingNanoUsd: bigint | null;
  readonly settledMs: number;
}

/** Told of every movement as it happens, in order: replaying it makes the same balances again. */
export interface MovementLog {
  /** A hold is new, replaces another of its call, or is the earlier one again. */
  held(hold: Hold): void;
  withdrawn(callId: string): void;
  /** A hold's progress is new. */
  renewed(hold: Hold): void;
  /** A hold was replaced by the cost of its call, in its windows. */
  settled(call: SettledCall, hold: Hold): void;
  /** A job is new, or has ended; the cost of one that failed was given back. */
  job(job: Job): void;
}

/** Calls that were settled lately, by id, so that a repetition gets the same answer. */
export interface RecentCalls {
  has(callId: string): boolean;
  get(callId: string): SettledCall | undefined;
}

/** Changes since a mark that a checkpoint has and the reader of spending has not. */
interface UnreportedChanges {
  readonly mark: object;
  readonly keys: Set<KeyBalance>;
  readonly accounts: Set<AccountBalance>;
}

export interface Balances {
  readonly keys: Map<string, KeyBalance>;
  readonly accounts: Map<string, AccountBalance>;
  readonly holds: CallMap<Hold>;
  readonly jobs: Jobs;
  recent: RecentCalls;
  log: MovementLog;
  /** Keys and accounts whose spending or windows have changed since the last checkpoint. */
  readonly changedKeys: Set<KeyBalance>;
  readonly changedAccounts: Set<AccountBalance>;
  /** Undefined until somebody asks for changes. */
  unreported: UnreportedChanges | undefined;
  /** The calendar at the latest moment asked for. */
  today: Span;
  thisMonth: Span;
}

export const NO_LOG: MovementLog = {
  held: () => undefined, withdrawn: () => undefined, renewed: () => undefined, settled: () => undefined,
  job: () => undefined,
};

/**
 * Windows of one kind that are kept although no call is in flight in them: a clock that is set back finds its day
 * again.
 */
const PAST_WINDOWS_KEPT = 2;
const NO_SPAN: Span = { startMs: 0, endMs: 0 };

export function createBalances(): Balances {
  return {
    keys: new Map(), accounts: new Map(), holds: new CallMap(), jobs: createJobs(),
    recent: new Map<string, SettledCall>(), log: NO_LOG,
    changedKeys: new Set(), changedAccounts: new Set(), unreported: undefined, today: NO_SPAN, thisMonth: NO_SPAN,
  };
}

export function newWindow(kind: WindowKind, startMs: number, spentNanoUsd = 0n): Window {
  return { kind, startMs, spentNanoUsd, heldNanoUsd: 0n, holds: 0 };
}

/** A key's balance, opened where there is none, in the windows of this moment. */
export function openKey(balances: Balances, uid: string, nowMs: number): KeyBalance {
  turnCalendar(balances, nowMs);
  const key = balances.keys.get(uid);
  if (!key) return addKey(balances, uid);
  if (key.day.startMs !== balances.today.startMs) turnWindow(balances, key, 'Day');
  if (key.month.startMs !== balances.thisMonth.startMs) turnWindow(balances, key, 'Month');
  return key;
}

function addKey(balances: Balances, uid: string): KeyBalance {
  const key: KeyBalance = {
    uid, total: { spentNanoUsd: 0n, heldNanoUsd: 0n }, day: newWindow('Day', balances.today.startMs),
    month: newWindow('Month', balances.thisMonth.startMs), past: [], lastUsedMs: null, seen: undefined,
  };
  balances.keys.set(uid, key);
  balances.changedKeys.add(key);
  return key;
}

function turnCalendar(balances: Balances, nowMs: number): void {
  if (nowMs >= balances.today.startMs && nowMs < balances.today.endMs) return;
  balances.today = spanAt('Day', nowMs);
  balances.thisMonth = spanAt('Month', nowMs);
}

function turnWindow(balances: Balances, key: KeyBalance, kind: WindowKind): void {
  const previous = currentWindow(key, kind);
  const window = takePast(key, kind, (kind === 'Day' ? balances.today : balances.thisMonth).startMs);
  if (kind === 'Day') key.day = window;
  else key.month = window;
  key.past.push(previous);
  trimPast(key);
  balances.changedKeys.add(key);
}

function currentWindow(key: KeyBalance, kind: WindowKind): Window {
  return kind === 'Day' ? key.day : key.month;
}

function takePast(key: KeyBalance, kind: WindowKind, startMs: number): Window {
  const known = key.past.find((window) => window.kind === kind && window.startMs === startMs);
  if (!known) return newWindow(kind, startMs);
  key.past = key.past.filter((window) => window !== known);
  return known;
}

/** The window of a call that was admitted at its start: a current, a past or a forgotten one. */
export function windowStarting(key: KeyBalance, kind: WindowKind, startMs: number): Window {
  const current = currentWindow(key, kind);
  if (current.startMs === startMs) return current;
  const window = takePast(key, kind, startMs);
  key.past.push(window);
  return window;
}

/** A key's window, where it is known. */
export function findWindow(key: KeyBalance, kind: WindowKind, startMs: number): Window | undefined {
  return [currentWindow(key, kind), ...key.past].find((window) => window.kind === kind && window.startMs === startMs);
}

/** A key's window as it is known, or an empty one. The key's current windows stay. */
export function knownWindow(key: KeyBalance, kind: WindowKind, startMs: number): Window {
  return findWindow(key, kind, startMs) ?? newWindow(kind, startMs);
}

/** Forgets windows that no call is in, but for the latest few. */
export function trimPast(key: KeyBalance): void {
  const kept = { Day: 0, Month: 0 };
  key.past = key.past.toSorted((a, b) => b.startMs - a.startMs)
    .filter((window) => window.holds > 0 || ++kept[window.kind] <= PAST_WINDOWS_KEPT);
}

/** An account's balance, opened where there is none. */
export function openAccount(balances: Balances, id: string): AccountBalance {
  let account = balances.accounts.get(id);
  if (!account) {
    account = { id, spentNanoUsd: 0n, heldNanoUsd: 0n, seen: undefined };
    balances.accounts.set(id, account);
    balances.changedAccounts.add(account);
  }
  return account;
}

/** Where a key's spending counts for a quota's period: of a call, or (without one) now. */
export function tallyOf(period: QuotaPeriod, { key, day, month }: Pick<Hold, 'key' | 'day' | 'month'>): Tally {
  const kind = windowKindOf(period);
  if (!kind) return key.total;
  return kind === 'Day' ? day : month;
}

/** Counts a hold in its windows (1), or no longer (-1). */
export function admitTo({ day, month }: { day: Window; month: Window }, by: 1 | -1): void {
  day.holds += by;
  month.holds += by;
}

/** Makes the tallies count this much of a hold. */
export function recount(hold: Hold, amountNanoUsd: bigint): void {
  const by = amountNanoUsd - hold.countedNanoUsd;
  if (by === 0n) return;
  hold.countedNanoUsd = amountNanoUsd;
  hold.day.heldNanoUsd += by;
  hold.month.heldNanoUsd += by;
  hold.key.total.heldNanoUsd += by;
  hold.account.heldNanoUsd += by;
}

/** What all calls in flight hold. */
export function sumHeld({ holds }: Balances): bigint {
  let sum = 0n;
  for (const { countedNanoUsd } of holds.values()) sum += countedNanoUsd;
  return sum;
}

/** The tallies that an amount counts in. A window that is forgotten counts nothing. */
export interface Tallies {
  readonly key: KeyBalance;
  readonly account: AccountBalance;
  readonly day: Window | undefined;
  readonly month: Window | undefined;
}

/** Adds what a call cost to all that it counts in, or takes it back (a negative amount). */
export function spend(balances: Balances, { key, account, day, month }: Tallies, amountNanoUsd: bigint): void {
  if (day) day.spentNanoUsd += amountNanoUsd;
  if (month) month.spentNanoUsd += amountNanoUsd;
  key.total.spentNanoUsd += amountNanoUsd;
  account.spentNanoUsd += amountNanoUsd;
  balances.changedKeys.add(key);
  balances.changedAccounts.add(account);
}

/**
 * Whose spending may have changed since `mark`, if that is the latest that was given out: those with changes for the
 * next checkpoint, and those with a call in flight now or when this was asked for last.
 */
export function changesSince(balances: Balances, mark: object | undefined): SpendingChanges {
  const { unreported, holds } = balances;
  const next: UnreportedChanges = { mark: {}, keys: new Set(), accounts: new Set() };
  for (const { key, account } of holds.values()) {
    next.keys.add(key);
    next.accounts.add(account);
  }
  balances.unreported = next;
  if (!unreported || unreported.mark !== mark) return { mark: next.mark };
  const keys = unreported.keys.union(next.keys).union(balances.changedKeys);
  const accounts = unreported.accounts.union(next.accounts).union(balances.changedAccounts);
  return { mark: next.mark, keys: [...keys].map(({ uid }) => uid), accounts: [...accounts].map(({ id }) => id) };
}

/** The checkpoint has what has changed; the reader of spending is still to be told. */
export function changesCheckpointed({ unreported, changedKeys, changedAccounts }: Balances): void {
  for (const key of changedKeys) unreported?.keys.add(key);
  for (const account of changedAccounts) unreported?.accounts.add(account);
  changedKeys.clear();
  changedAccounts.clear();
}
