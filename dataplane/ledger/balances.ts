/**
 * [P] The balances of keys and accounts: what each has spent and holds. A key's spending is counted by day, by month
 * and in total at the same time, so that a change of its period takes effect exactly. A call counts in the windows of
 * its admission, even if it ends after midnight. ledger-core.ts changes balances and logs each movement.
 */
import { CallMap } from './call-map.ts';
import { createJobs } from './jobs.ts';
import type { Job, Jobs } from './jobs.ts';
import type { CalendarWindow, SpendingChanges } from '#ledger/spending.ts';
import type { MoneyLimit } from './ledger.ts';
import { createMarks, isMarked, mark, moveBefore, sumsIn } from './marks.ts';
import type { Marked, Marks } from './marks.ts';
import { contains, spanAt, windowOf } from '#ledger/periods.ts';
import type { Span } from '#ledger/periods.ts';
import type { CallOrigin, CallProgress, UsageRecord } from '#usage/record.ts';

export interface Tally {
  spentNanoUsd: bigint;
  heldNanoUsd: bigint;
}

/** The windows in UTC that every key counts in. */
type CountedKind = 'Day' | 'Month';

/** The tally of one day or month of a key. */
export interface Window extends Tally {
  readonly kind: CountedKind;
  readonly startMs: number;
  /** The number of calls in flight that were admitted in the window. */
  holds: number;
}

export interface KeyBalance {
  readonly uid: string;
  readonly total: Tally;
  day: Window;
  month: Window;
  /** Windows other than the current ones: those with calls in flight, and the latest few. */
  past: Window[];
  lastUsedMs: number | null;
  readonly marks: Marks;
  seen: SeenLimits;
}

export interface AccountBalance extends Tally {
  readonly id: string;
  readonly marks: Marks;
  seen: SeenLimits;
}

/** The latest limits of an owner that calls came with, and when the latest was admitted. Kept in memory only. */
export interface SeenLimits {
  readonly limits: readonly MoneyLimit[];
  readonly atMs: number;
}

export const NONE_SEEN: SeenLimits = { limits: [], atMs: 0 };

/** A call in flight. */
export interface Hold {
  readonly origin: CallOrigin;
  readonly limits: readonly MoneyLimit[];
  readonly key: KeyBalance;
  readonly account: AccountBalance;
  /** When the first hold of the call was granted. */
  readonly admittedMs: number;
  readonly day: Window;
  readonly month: Window;
  readonly grantedNanoUsd: bigint;
  /** The amount that the tallies include: until a replacement is durable, the larger of the old and the new amount. */
  countedNanoUsd: bigint;
  progress: CallProgress;
  renewedMs: number;
  /** Granted, but not durable yet. */
  pending: boolean;
}

/** A settled call, and what its settlement returned. */
export interface SettledCall {
  readonly record: UsageRecord;
  readonly keySpentNanoUsd: bigint;
  readonly keyRemainingNanoUsd: bigint | null;
  readonly settledMs: number;
}

/** Receives every movement in order. */
export interface MovementLog {
  /** Logs a hold that is new, has new progress, replaces its call's earlier hold, or restores it. */
  held(hold: Hold): void;
  withdrawn(callId: string): void;
  /** Logs that a call's cost has replaced its hold, in the hold's windows. */
  settled(call: SettledCall, hold: Hold): void;
  /** Logs that a job is new or has ended; a failed job's cost has been refunded. */
  job(job: Job): void;
}

/** Recently settled calls by id. A repeated settlement returns the first result. */
export interface RecentCalls {
  has(callId: string): boolean;
  get(callId: string): SettledCall | undefined;
}

/** Changes since a mark that were written but that changesSince has not reported yet. */
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
  /** Keys and accounts whose spending or windows have changed since their balances were written. */
  readonly changedKeys: Set<KeyBalance>;
  readonly changedAccounts: Set<AccountBalance>;
  /** Some of them have new marks. */
  hasNewMarks: boolean;
  /** Undefined until changesSince is first called. */
  unreported: UnreportedChanges | undefined;
  /** The calendar day and month of the latest operation. */
  today: Span;
  thisMonth: Span;
}

export const NO_MOVEMENT_LOG: MovementLog = {
  held: () => undefined,
  withdrawn: () => undefined,
  settled: () => undefined,
  job: () => undefined,
};

/** How many windows of each kind are kept without calls in flight, in case the clock is set back. */
const PAST_WINDOWS_KEPT = 2;
const NO_SPAN: Span = { startMs: 0, endMs: 0 };

export function createBalances(): Balances {
  return {
    keys: new Map(),
    accounts: new Map(),
    holds: new CallMap(),
    jobs: createJobs(),
    recent: new Map<string, SettledCall>(),
    log: NO_MOVEMENT_LOG,
    changedKeys: new Set(),
    changedAccounts: new Set(),
    hasNewMarks: false,
    unreported: undefined,
    today: NO_SPAN,
    thisMonth: NO_SPAN,
  };
}

export function newWindow(kind: CountedKind, startMs: number, spentNanoUsd = 0n): Window {
  return { kind, startMs, spentNanoUsd, heldNanoUsd: 0n, holds: 0 };
}

/** A key's balance with its current windows at `nowMs`; created if missing. */
export function openKey(balances: Balances, uid: string, nowMs: number): KeyBalance {
  advanceCalendar(balances, nowMs);
  const key = balances.keys.get(uid);
  if (!key) return addKey(balances, uid);
  if (key.day.startMs !== balances.today.startMs) rollWindow(balances, key, 'Day');
  if (key.month.startMs !== balances.thisMonth.startMs) rollWindow(balances, key, 'Month');
  return key;
}

function addKey(balances: Balances, uid: string): KeyBalance {
  const key: KeyBalance = {
    uid,
    total: { spentNanoUsd: 0n, heldNanoUsd: 0n },
    day: newWindow('Day', balances.today.startMs),
    month: newWindow('Month', balances.thisMonth.startMs),
    past: [],
    lastUsedMs: null,
    marks: createMarks(),
    seen: NONE_SEEN,
  };
  balances.keys.set(uid, key);
  balances.changedKeys.add(key);
  return key;
}

function advanceCalendar(balances: Balances, nowMs: number): void {
  if (nowMs >= balances.today.startMs && nowMs < balances.today.endMs) return;
  balances.today = spanAt('Day', nowMs);
  balances.thisMonth = spanAt('Month', nowMs);
}

function rollWindow(balances: Balances, key: KeyBalance, kind: CountedKind): void {
  const previous = currentWindow(key, kind);
  const window = takePastWindow(key, kind, (kind === 'Day' ? balances.today : balances.thisMonth).startMs);
  if (kind === 'Day') key.day = window;
  else key.month = window;
  key.past.push(previous);
  trimPastWindows(key);
  balances.changedKeys.add(key);
}

function currentWindow(key: KeyBalance, kind: CountedKind): Window {
  return kind === 'Day' ? key.day : key.month;
}

function takePastWindow(key: KeyBalance, kind: CountedKind, startMs: number): Window {
  const known = key.past.find((window) => window.kind === kind && window.startMs === startMs);
  if (!known) return newWindow(kind, startMs);
  key.past = key.past.filter((window) => window !== known);
  return known;
}

/** The window that starts at `startMs`; created among the past ones if missing. */
export function openWindow(key: KeyBalance, kind: CountedKind, startMs: number): Window {
  const current = currentWindow(key, kind);
  if (current.startMs === startMs) return current;
  const window = takePastWindow(key, kind, startMs);
  key.past.push(window);
  return window;
}

export function findWindow(key: KeyBalance, kind: CountedKind, startMs: number): Window | undefined {
  return [currentWindow(key, kind), ...key.past].find((window) => window.kind === kind && window.startMs === startMs);
}

/** A key's window, or an empty one. Creates nothing in the balance. */
export function windowOrEmpty(key: KeyBalance, kind: CountedKind, startMs: number): Window {
  return findWindow(key, kind, startMs) ?? newWindow(kind, startMs);
}

/** Drops past windows without calls in flight, except the latest few. */
export function trimPastWindows(key: KeyBalance): void {
  const kept = { Day: 0, Month: 0 };
  key.past = key.past
    .toSorted((a, b) => b.startMs - a.startMs)
    .filter((window) => window.holds > 0 || ++kept[window.kind] <= PAST_WINDOWS_KEPT);
}

/** An account's balance; created if missing. */
export function openAccount(balances: Balances, id: string): AccountBalance {
  let account = balances.accounts.get(id);
  if (!account) {
    account = { id, spentNanoUsd: 0n, heldNanoUsd: 0n, marks: createMarks(), seen: NONE_SEEN };
    balances.accounts.set(id, account);
    balances.changedAccounts.add(account);
  }
  return account;
}

/** What a call counts in: its key's and account's balances, and the windows of its admission. */
export type Counted = Pick<Hold, 'key' | 'account' | 'admittedMs' | 'day' | 'month'>;

/** The tally of a call's key or account that a limit bounds. */
export function tallyOf(limit: MoneyLimit, counted: Counted): Readonly<Tally> {
  const { scope, window } = limit;
  const { key, account, admittedMs, day, month } = counted;
  const calendar = windowOf(limit);
  if (!calendar) return scope === 'Account' ? account : key.total;
  if (scope === 'Key' && !isMarked(scope, calendar)) return window === 'Day' ? day : month;
  return windowTally(scope === 'Account' ? account : key, calendar, admittedMs);
}

/** What a key or an account has spent and holds in the window that a moment is in. */
export function windowTally(owner: KeyBalance | AccountBalance, window: CalendarWindow, atMs: number): Readonly<Tally> {
  return sumsIn('total' in owner ? markedKey(owner) : owner, window, spanAt(window.kind, atMs, window.timeZone));
}

/** Those of the latest limits that bound a call: of those in windows, the ones of the call's own window. */
export function seenFor({ limits, atMs }: SeenLimits, admittedMs: number): readonly MoneyLimit[] {
  return limits.filter((limit) => {
    const window = windowOf(limit);
    if (!window || !isMarked(limit.scope, window)) return true;
    return contains(spanAt(window.kind, atMs, window.timeZone), admittedMs);
  });
}

/** Marks the beginnings of windows for a call that is admitted now (marks.ts). */
export function markWindows(
  balances: Balances,
  { key, account }: Pick<Hold, 'key' | 'account'>,
  { limits, nowMs }: { readonly limits: readonly MoneyLimit[]; readonly nowMs: number },
): void {
  const isNewKey = mark(markedKey(key), markedWindows(limits, 'Key'), nowMs);
  const isNewAccount = mark(account, markedWindows(limits, 'Account'), nowMs);
  if (isNewKey) balances.changedKeys.add(key);
  if (isNewAccount) balances.changedAccounts.add(account);
  balances.hasNewMarks ||= isNewKey || isNewAccount;
}

function markedKey({ total: { spentNanoUsd, heldNanoUsd }, marks }: KeyBalance): Marked {
  return { spentNanoUsd, heldNanoUsd, marks };
}

function markedWindows(limits: readonly MoneyLimit[], of: MoneyLimit['scope']): CalendarWindow[] {
  return limits.flatMap((limit) => {
    const window = limit.scope === of && limit.window !== 'Total' ? windowOf(limit) : undefined;
    return window && isMarked(of, window) ? [window] : [];
  });
}

/** Adds a hold to the counts of its windows (1), or removes it (-1). */
export function countHold({ day, month }: { day: Window; month: Window }, by: 1 | -1): void {
  day.holds += by;
  month.holds += by;
}

/** Sets how much of a hold the tallies count. */
export function setCountedAmount(hold: Hold, amountNanoUsd: bigint): void {
  const by = amountNanoUsd - hold.countedNanoUsd;
  if (by === 0n) return;
  hold.countedNanoUsd = amountNanoUsd;
  hold.day.heldNanoUsd += by;
  hold.month.heldNanoUsd += by;
  hold.key.total.heldNanoUsd += by;
  hold.account.heldNanoUsd += by;
  moveBefore(hold.key.marks, hold.admittedMs, { heldNanoUsd: by });
  moveBefore(hold.account.marks, hold.admittedMs, { heldNanoUsd: by });
}

export function sumHeld({ holds }: Balances): bigint {
  let sum = 0n;
  for (const { countedNanoUsd } of holds.values()) sum += countedNanoUsd;
  return sum;
}

/** The tallies that an amount counts in; a window is undefined if it was dropped. */
export interface Tallies {
  readonly key: KeyBalance;
  readonly account: AccountBalance;
  /** When the call was admitted. */
  readonly admittedMs: number;
  readonly day: Window | undefined;
  readonly month: Window | undefined;
}

/** Adds a cost to all tallies; a negative amount is a refund. */
export function spend(balances: Balances, tallies: Tallies, amountNanoUsd: bigint): void {
  const { key, account, admittedMs, day, month } = tallies;
  if (day) day.spentNanoUsd += amountNanoUsd;
  if (month) month.spentNanoUsd += amountNanoUsd;
  key.total.spentNanoUsd += amountNanoUsd;
  account.spentNanoUsd += amountNanoUsd;
  moveBefore(key.marks, admittedMs, { spentNanoUsd: amountNanoUsd });
  moveBefore(account.marks, admittedMs, { spentNanoUsd: amountNanoUsd });
  balances.changedKeys.add(key);
  balances.changedAccounts.add(account);
}

/**
 * The keys and accounts whose spending may have changed since `mark`, if it is the latest mark: those with changes, and
 * those with a call in flight now or at that mark.
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

/** Clears the changes whose balances were written; changesSince still reports them. */
export function markWritten(balances: Balances): void {
  const { unreported, changedKeys, changedAccounts } = balances;
  for (const key of changedKeys) unreported?.keys.add(key);
  for (const account of changedAccounts) unreported?.accounts.add(account);
  changedKeys.clear();
  changedAccounts.clear();
  balances.hasNewMarks = false;
}
