/**
 * [P] Calendar periods in a time zone, as milliseconds since the epoch. A day begins at the first moment of its date
 * there, a week on Monday, a month on the 1st; where clocks are changed, a day has 23 or 25 hours.
 */
import { UTC } from '#snapshot/time-zone.ts';
import type { CalendarWindow, PeriodOf, QuotaPeriod, SpendingWindow } from './spending.ts';

export type WindowKind = CalendarWindow['kind'];

export interface Span {
  readonly startMs: number;
  /** The first moment after the span. */
  readonly endMs: number;
}

/** The quota's period that counts in a window. */
export const PERIOD_OF_WINDOW = { Total: 'Never', Day: 'Daily', Week: 'Weekly', Month: 'Monthly' } as const;
const DAY_MS = 86_400_000;
const KIND_OF_PERIOD: Readonly<Record<QuotaPeriod, WindowKind | undefined>> = {
  Never: undefined,
  Daily: 'Day',
  Weekly: 'Week',
  Monthly: 'Month',
};

/** The latest span of each kind in each time zone, which most calls ask for again. */
const latest = new Map<string, Span>();
const latestEdges = new Map<string, readonly number[]>();

/** The calendar day, week or month that a moment is in. Throws a RangeError if the time zone is unknown. */
export function spanAt(kind: WindowKind, atMs: number, timeZone = UTC): Span {
  if (kind === 'Day' && timeZone === UTC) {
    const startMs = Math.floor(atMs / DAY_MS) * DAY_MS;
    return { startMs, endMs: startMs + DAY_MS };
  }
  const name = windowName({ kind, timeZone });
  const known = latest.get(name);
  if (known && contains(known, atMs)) return known;
  const span = spanIn(kind, atMs, timeZone);
  latest.set(name, span);
  return span;
}

function spanIn(kind: WindowKind, atMs: number, timeZone: string): Span {
  const at = Temporal.Instant.fromEpochMilliseconds(Math.floor(atMs)).toZonedDateTimeISO(timeZone);
  const date = at.toPlainDate();
  const first =
    kind === 'Month' ? date.with({ day: 1 }) : kind === 'Week' ? date.subtract({ days: date.dayOfWeek - 1 }) : date;
  const next = kind === 'Month' ? first.add({ months: 1 }) : first.add({ days: kind === 'Week' ? 7 : 1 });
  const startOf = (day: Temporal.PlainDate): number => day.toZonedDateTime(timeZone).epochMilliseconds;
  return { startMs: startOf(first), endMs: startOf(next) };
}

/** Whether a moment is in the span. */
export function contains({ startMs, endMs }: Span, atMs: number): boolean {
  return atMs >= startMs && atMs < endMs;
}

/** The name of a kind of window in a time zone, "Week Europe/Berlin". */
export function windowName({ kind, timeZone }: CalendarWindow): string {
  return `${kind} ${timeZone}`;
}

/** The beginnings of the window before the one that a moment is in, of that, and of the next two. */
export function edgesOf({ kind, timeZone }: CalendarWindow, atMs: number): readonly number[] {
  const { startMs, endMs } = spanAt(kind, atMs, timeZone);
  const name = windowName({ kind, timeZone });
  const known = latestEdges.get(name);
  if (known?.[1] === startMs) return known;
  const edges = [spanIn(kind, startMs - 1, timeZone).startMs, startMs, endMs, spanIn(kind, endMs, timeZone).endMs];
  latestEdges.set(name, edges);
  return edges;
}

/** A period alone is one in UTC. */
export function periodIn(period: QuotaPeriod | PeriodOf): PeriodOf {
  return typeof period === 'string' ? { period } : period;
}

/** The kind of window that a quota of this period counts in; undefined: the total of all time. */
export function windowKindOf(period: QuotaPeriod): WindowKind | undefined {
  return KIND_OF_PERIOD[period];
}

/** The calendar window of a limit; undefined: the total of all time. */
export function windowOf({
  window: kind,
  timeZone = UTC,
}: {
  readonly window: SpendingWindow;
  readonly timeZone?: string;
}): CalendarWindow | undefined {
  return kind === 'Total' ? undefined : { kind, timeZone };
}

/** The first moment of the calendar month in UTC, so many months later. */
export function monthStart(atMs: number, later = 0): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + later, 1);
}
