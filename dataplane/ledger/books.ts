/**
 * [P] The books: what every key and account has spent and holds. A key is counted in its day, in its month and in total at
 * once, so that a changed period is exact from the start. A call stays in the windows that it was admitted in: one that ends
 * after midnight is booked on the day before, whose window is kept until then.
 * ledger-core.ts moves money between the tallies, and tells the log of each movement in the same step.
 */
import { CallMap } from './call-map.ts';
import { createJobs } from './jobs.ts';
import type { Job, Jobs } from './jobs.ts';
import type { Limits, QuotaPeriod } from './ledger.ts';
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

export interface KeyBook {
  readonly uid: string;
  readonly total: Tally;
  day: Window;
  month: Window;
  /** Earlier windows (and later ones, where the clock was set back): those with calls in flight, and the latest few. */
  past: Window[];
  lastUsedMs: number | null;
  seen: SeenKeyLimit | undefined;
}

export interface AccountBook extends Tally {
  readonly id: string;
  seen: { readonly generation: bigint; readonly creditNanoUsd: bigint } | undefined;
}

/** A call in flight. */
export interface Hold {
  readonly origin: CallOrigin;
  readonly limits: Limits;
  readonly key: KeyBook;
  readonly account: AccountBook;
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

/** Told of every movement as it happens, in order: replaying it makes the same books again. */
export interface MovementLog {
  /** A hold is new, replaces another of its call, or is the earlier one again. */
  held(hold: Hold): void;
  /** A hold was withdrawn. */
  gone(callId: string): void;
  /** A hold's progress is new. */
  renewed(hold: Hold): void;
  /** A hold was replaced by the cost of its call, in its windows. */
  settled(call: SettledCall, hold: Hold): void;
  /** A job is new, or has ended; one that failed was given back. */
  job(job: Job): void;
}

/** Settlements of the last moments by call id, so that a repetition gets the same answer. */
export interface RecentCalls {
  has(callId: string): boolean;
  get(callId: string): SettledCall | undefined;
}

/** Changes since a mark that the file has and who reads spending has not. */
export interface Untold {
  readonly mark: object;
  readonly keys: Set<KeyBook>;
  readonly accounts: Set<AccountBook>;
}

export interface Books {
  readonly keys: Map<string, KeyBook>;
  readonly accounts: Map<string, AccountBook>;
  readonly holds: CallMap<Hold>;
  readonly jobs: Jobs;
  recent: RecentCalls;
  log: MovementLog;
  /** Keys and accounts whose spending or windows have changed since the file took them in. */
  readonly changedKeys: Set<KeyBook>;
  readonly changedAccounts: Set<AccountBook>;
  /** Undefined until somebody asks. */
  untold: Untold | undefined;
  /** The calendar at the latest moment asked for. */
  today: Span;
  thisMonth: Span;
}

/** Tells nobody. */
export const NO_LOG: MovementLog = {
  held: () => undefined, gone: () => undefined, renewed: () => undefined, settled: () => undefined, job: () => undefined,
};

/** Windows of one kind that are kept although no call is in flight in them: a clock that is set back finds its day again. */
const PAST_WINDOWS_KEPT = 2;
const NO_SPAN: Span = { startMs: 0, endMs: 0 };

export function createBooks(): Books {
  return {
    keys: new Map(), accounts: new Map(), holds: new CallMap(), jobs: createJobs(), recent: new Map<string, SettledCall>(), log: NO_LOG,
    changedKeys: new Set(), changedAccounts: new Set(), untold: undefined, today: NO_SPAN, thisMonth: NO_SPAN,
  };
}

export function newWindow(kind: WindowKind, startMs: number, spentNanoUsd = 0n): Window {
  return { kind, startMs, spentNanoUsd, heldNanoUsd: 0n, holds: 0 };
}

/** A key's book, opened where there is none, turned to the windows of this moment. */
export function openKey(books: Books, uid: string, nowMs: number): KeyBook {
  turnCalendar(books, nowMs);
  const key = books.keys.get(uid);
  if (!key) return addKey(books, uid);
  if (key.day.startMs !== books.today.startMs) turnWindow(books, key, 'Day');
  if (key.month.startMs !== books.thisMonth.startMs) turnWindow(books, key, 'Month');
  return key;
}

function addKey(books: Books, uid: string): KeyBook {
  const key: KeyBook = {
    uid, total: { spentNanoUsd: 0n, heldNanoUsd: 0n }, day: newWindow('Day', books.today.startMs),
    month: newWindow('Month', books.thisMonth.startMs), past: [], lastUsedMs: null, seen: undefined,
  };
  books.keys.set(uid, key);
  books.changedKeys.add(key);
  return key;
}

function turnCalendar(books: Books, nowMs: number): void {
  if (nowMs >= books.today.startMs && nowMs < books.today.endMs) return;
  books.today = spanAt('Day', nowMs);
  books.thisMonth = spanAt('Month', nowMs);
}

function turnWindow(books: Books, key: KeyBook, kind: WindowKind): void {
  const previous = kind === 'Day' ? key.day : key.month;
  const window = takePast(key, kind, (kind === 'Day' ? books.today : books.thisMonth).startMs);
  if (kind === 'Day') key.day = window;
  else key.month = window;
  key.past.push(previous);
  trimPast(key);
  books.changedKeys.add(key);
}

function takePast(key: KeyBook, kind: WindowKind, startMs: number): Window {
  const known = key.past.find((window) => window.kind === kind && window.startMs === startMs);
  if (!known) return newWindow(kind, startMs);
  key.past = key.past.filter((window) => window !== known);
  return known;
}

/** The window of a call that was admitted at its start: a current, a past or a forgotten one. */
export function windowStarting(key: KeyBook, kind: WindowKind, startMs: number): Window {
  const current = kind === 'Day' ? key.day : key.month;
  if (current.startMs === startMs) return current;
  const window = takePast(key, kind, startMs);
  key.past.push(window);
  return window;
}

/** A key's window, where it is known. */
export function findWindow(key: KeyBook, kind: WindowKind, startMs: number): Window | undefined {
  const current = kind === 'Day' ? key.day : key.month;
  return current.startMs === startMs ? current : key.past.find((window) => window.kind === kind && window.startMs === startMs);
}

/** A key's window as it is known, or an empty one; the key is not turned to it. */
export function knownWindow(key: KeyBook, kind: WindowKind, startMs: number): Window {
  return findWindow(key, kind, startMs) ?? newWindow(kind, startMs);
}

/** Forgets windows that no call is in, but for the latest few. */
export function trimPast(key: KeyBook): void {
  const kept = { Day: 0, Month: 0 };
  key.past = key.past.toSorted((a, b) => b.startMs - a.startMs)
    .filter((window) => window.holds > 0 || ++kept[window.kind] <= PAST_WINDOWS_KEPT);
}

/** An account's book, opened where there is none. */
export function openAccount(books: Books, id: string): AccountBook {
  let account = books.accounts.get(id);
  if (!account) {
    account = { id, spentNanoUsd: 0n, heldNanoUsd: 0n, seen: undefined };
    books.accounts.set(id, account);
    books.changedAccounts.add(account);
  }
  return account;
}

/** Where a key's spending counts for a quota's period: of a call, or (without one) now. */
export function tallyOf(period: QuotaPeriod, of: { readonly key: KeyBook; readonly day: Window; readonly month: Window }): Tally {
  const kind = windowKindOf(period);
  if (!kind) return of.key.total;
  return kind === 'Day' ? of.day : of.month;
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

/** What all calls in flight hold. Asked for now and then, so that no call keeps a sum of it. */
export function sumHeld({ holds }: Books): bigint {
  let sum = 0n;
  for (const { countedNanoUsd } of holds.values()) sum += countedNanoUsd;
  return sum;
}

/** Adds what a call cost to all that it counts in, or takes it back (a negative amount). Windows that are forgotten count nothing. */
export function spend(books: Books, of: Pick<Hold, 'key' | 'account'> & { day: Window | undefined; month: Window | undefined }, amountNanoUsd: bigint): void {
  const { key, account, day, month } = of;
  if (day) day.spentNanoUsd += amountNanoUsd;
  if (month) month.spentNanoUsd += amountNanoUsd;
  key.total.spentNanoUsd += amountNanoUsd;
  account.spentNanoUsd += amountNanoUsd;
  books.changedKeys.add(key);
  books.changedAccounts.add(account);
}
