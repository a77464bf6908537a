/**
 * [P] The books: what every key and account has spent and holds. A key is counted in its day, in its month and in total at
 * once, so that a changed period is exact from the start. A call stays in the windows that it was admitted in: one that ends
 * after midnight is booked on the day before, whose window is kept until then.
 * ledger-core.ts moves money between the tallies; `changes` says what of it is not on disk yet.
 */
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

/** What is not on disk yet. Values are read from the books when they are written, so that writing twice does no harm. */
export interface Changes {
  readonly keys: Set<KeyBook>;
  readonly accounts: Set<AccountBook>;
  /** Call ids whose hold is new, replaced or gone. */
  readonly holds: Set<string>;
  /** Call ids of which only the progress is new. */
  readonly progress: Set<string>;
  readonly settled: SettledCall[];
}

export interface Books {
  readonly keys: Map<string, KeyBook>;
  readonly accounts: Map<string, AccountBook>;
  readonly holds: Map<string, Hold>;
  /** The latest settlements by call id, so that a repetition gets the same answer. */
  readonly recent: Map<string, SettledCall>;
  changes: Changes;
  heldNanoUsd: bigint;
  /** The calendar at the latest moment asked for. */
  today: Span;
  thisMonth: Span;
}

/** Windows of one kind that are kept although no call is in flight in them: a clock that is set back finds its day again. */
const PAST_WINDOWS_KEPT = 2;
const NO_SPAN: Span = { startMs: 0, endMs: 0 };

export function createBooks(): Books {
  return {
    keys: new Map(), accounts: new Map(), holds: new Map(), recent: new Map(), changes: noChanges(),
    heldNanoUsd: 0n, today: NO_SPAN, thisMonth: NO_SPAN,
  };
}

export function noChanges(): Changes {
  return { keys: new Set(), accounts: new Set(), holds: new Set(), progress: new Set(), settled: [] };
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
  books.changes.keys.add(key);
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
  books.changes.keys.add(key);
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

/** A key's window as it is known, or an empty one; the key is not turned to it. */
export function knownWindow(key: KeyBook, kind: WindowKind, startMs: number): Window {
  return [key.day, key.month, ...key.past].find((window) => window.kind === kind && window.startMs === startMs) ?? newWindow(kind, startMs);
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
    books.changes.accounts.add(account);
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
export function recount(books: Books, hold: Hold, amountNanoUsd: bigint): void {
  const by = amountNanoUsd - hold.countedNanoUsd;
  if (by === 0n) return;
  hold.countedNanoUsd = amountNanoUsd;
  for (const tally of [hold.day, hold.month, hold.key.total, hold.account]) tally.heldNanoUsd += by;
  books.heldNanoUsd += by;
}
