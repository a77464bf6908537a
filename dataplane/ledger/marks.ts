/**
 * [P] What an owner of limits (a key or an account) has spent and held in calendar windows, derived from its totals: a
 * mark has the sums of all calls that were admitted before a moment, so a window has what is between two marks. An
 * ordinary call changes no mark. A call that crosses the beginning of a window corrects the marks after its admission.
 *
 * Marks are made by the first call in each day in UTC, of every owner, and in each window of the owner's limits. A
 * limit that is added in the middle of its window counts from the beginning of the day in UTC in which the window
 * began: exactly its window in UTC, else up to a day more.
 */
import type { CalendarWindow } from '#ledger/spending.ts';
import { monthStart, spanAt } from '#ledger/periods.ts';
import { UTC } from '#snapshot/time-zone.ts';
import type { Span } from '#ledger/periods.ts';

/** Amounts in nano-USD. */
interface Sums {
  spentNanoUsd: bigint;
  heldNanoUsd: bigint;
}

/** The sums of the calls that were admitted before `fromMs`. */
export interface Mark extends Sums {
  /** The beginning of the window for which it was made. */
  readonly startMs: number;
  /** At `startMs`, or where the ledger knew no better. */
  readonly fromMs: number;
}

export interface Marks {
  /** In the order of `fromMs`. */
  list: readonly Mark[];
  /** The windows of the owner's limits. */
  tracked: readonly TrackedWindow[];
  /** The day of the latest call, which has its mark. */
  dayMs: number;
}

/** Every call since then has made its mark in the window. */
interface TrackedWindow extends CalendarWindow {
  readonly sinceMs: number;
}

/** An owner's totals and its marks. */
export interface Marked extends Sums {
  readonly marks: Marks;
}

const DAY_MS = 86_400_000;
/** Marks of so many days are kept; older ones only if a month begins near them. */
const KEPT_MS = 9 * DAY_MS;

export function createMarks(): Marks {
  return { list: [], tracked: [], dayMs: -1 };
}

/** Makes the marks of a call that is admitted now. Returns whether anything has changed. */
export function mark(owner: Marked, windows: readonly CalendarWindow[], nowMs: number): boolean {
  const { marks } = owner;
  const { startMs: dayMs } = spanAt('Day', nowMs);
  const before = marks.list;
  if (marks.dayMs !== dayMs) markDay(owner, dayMs, nowMs);
  for (const window of windows) {
    const { startMs } = spanAt(window.kind, nowMs, window.timeZone);
    markAt(owner, startMs, isKnown(marks, window, startMs));
  }
  const tracked = windows.map((window) => findTracked(marks, window));
  if (marks.tracked.length === windows.length && !tracked.includes(undefined)) return before !== marks.list;
  // calls of a clock that was set back since are of no use
  const latestMs = marks.list.at(-1)?.fromMs ?? 0;
  const sinceMs = latestMs > nowMs ? spanAt('Day', latestMs).endMs : nowMs;
  marks.tracked = windows.map(({ kind, timeZone }, index) => tracked[index] ?? { kind, timeZone, sinceMs });
  return true;
}

function markDay(owner: Marked, dayMs: number, nowMs: number): void {
  const { marks } = owner;
  marks.dayMs = dayMs;
  // an earlier version has spent something without marks
  const isFirst = marks.list.length === 0 && (owner.spentNanoUsd !== 0n || owner.heldNanoUsd !== 0n);
  if (isFirst) insert(marks, { startMs: dayMs, fromMs: nowMs, ...sumsOf(owner) });
  else markAt(owner, dayMs, true);
  marks.list = trimmed(marks.list, nowMs);
}

function findTracked({ tracked }: Marks, { kind, timeZone }: CalendarWindow): TrackedWindow | undefined {
  return tracked.find((each) => each.kind === kind && each.timeZone === timeZone);
}

/** Whether every call in the window that begins then has made its mark. */
function isKnown(marks: Marks, window: CalendarWindow, startMs: number): boolean {
  const { sinceMs = Infinity } = findTracked(marks, window) ?? {};
  return startMs >= sinceMs;
}

/** `isExact`: no call was admitted since `startMs`, unless a later mark says so. */
function markAt(owner: Marked, startMs: number, isExact: boolean): void {
  const { marks } = owner;
  if (marks.list.some((each) => each.startMs === startMs)) return;
  const { fromMs, ...sums } = firstFrom(owner, isExact ? startMs : spanAt('Day', startMs).startMs);
  insert(marks, { startMs, fromMs: isExact ? startMs : fromMs, ...sums });
}

/** The first mark from a moment on; where there is none, the totals. */
function firstFrom({ marks, ...totals }: Marked, ms: number): Pick<Mark, 'fromMs' | 'spentNanoUsd' | 'heldNanoUsd'> {
  const { fromMs, ...sums } = marks.list.find((each) => each.fromMs >= ms) ?? { fromMs: ms, ...totals };
  return { fromMs, ...sumsOf(sums) };
}

function sumsOf({ spentNanoUsd, heldNanoUsd }: Sums): Sums {
  return { spentNanoUsd, heldNanoUsd };
}

function insert(marks: Marks, mark: Mark): void {
  const next = marks.list.findIndex(({ fromMs }) => fromMs > mark.fromMs);
  marks.list = marks.list.toSpliced(next === -1 ? marks.list.length : next, 0, mark);
}

/** Without old marks that no window needs any more. */
export function trimmed<T extends Pick<Mark, 'fromMs'>>(list: readonly T[], nowMs: number): readonly T[] {
  const months = [monthStart(nowMs), monthStart(nowMs, -1)];
  const kept = list.filter(({ fromMs }, index) => {
    if (fromMs >= nowMs - KEPT_MS) return true;
    const previousMs = list[index - 1]?.fromMs ?? 0;
    return months.some((ms) => previousMs < ms + DAY_MS && fromMs >= ms - DAY_MS);
  });
  return kept.length === list.length ? list : kept;
}

/** Corrects the marks after the admission of a call whose spending or hold changes. Returns whether there are any. */
export function moveBefore({ list }: Marks, admittedMs: number, by: Partial<Readonly<Sums>>): boolean {
  const { spentNanoUsd = 0n, heldNanoUsd = 0n } = by;
  let isChanged = false;
  for (let index = list.length - 1; index >= 0; index--) {
    const each = list[index];
    if (!each || each.fromMs <= admittedMs) break;
    each.spentNanoUsd += spentNanoUsd;
    each.heldNanoUsd += heldNanoUsd;
    isChanged = true;
  }
  return isChanged;
}

/** What an owner has spent and holds in a window. */
export function sumsIn(owner: Marked, window: CalendarWindow, span: Span): Readonly<Sums> {
  const { startMs } = span;
  const from =
    owner.marks.list.find((each) => each.startMs === startMs) ??
    firstFrom(owner, isKnown(owner.marks, window, startMs) ? startMs : spanAt('Day', startMs).startMs);
  const till = firstFrom(owner, span.endMs);
  return {
    spentNanoUsd: till.spentNanoUsd - from.spentNanoUsd,
    heldNanoUsd: till.heldNanoUsd - from.heldNanoUsd,
  };
}

/** Formats the marks' windows and what was spent before them; what is held is not stored. */
export function formatMarks({ list, tracked }: Marks): string {
  const lines = list.map(({ startMs, fromMs, spentNanoUsd }) => [startMs, fromMs, String(spentNanoUsd)]);
  const windows = tracked.map(({ kind, timeZone, sinceMs }) => [kind, timeZone, sinceMs]);
  return list.length === 0 ? '' : JSON.stringify([windows, lines]);
}

/** Parses what formatMarks has written. Throws if it is anything else. */
export function parseMarks(text: string): Marks {
  if (text === '') return createMarks();
  const [windows, lines] = listIn(JSON.parse(text));
  return { list: listIn(lines).map(parseMark), tracked: listIn(windows).map(parseWindow), dayMs: -1 };
}

function parseMark(line: unknown): Mark {
  const [startMs, fromMs, spent] = listIn(line);
  return { startMs: Number(startMs), fromMs: Number(fromMs), spentNanoUsd: BigInt(String(spent)), heldNanoUsd: 0n };
}

function parseWindow(window: unknown): TrackedWindow {
  const [kind, timeZone, sinceMs] = listIn(window);
  if (kind !== 'Day' && kind !== 'Week' && kind !== 'Month') throw new Error('a window of no known kind');
  return { kind, timeZone: String(timeZone), sinceMs: Number(sinceMs) };
}

function listIn(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error('the marks of an owner are no list');
  return value;
}

/** Whether a window is counted apart: a key's day and month in UTC have counters of their own (balances.ts). */
export function isMarked(scope: 'Key' | 'Account', { kind, timeZone }: CalendarWindow): boolean {
  return scope === 'Account' || kind === 'Week' || timeZone !== UTC;
}
