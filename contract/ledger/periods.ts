/**
 * [P] Calendar periods in UTC, as milliseconds since the epoch.
 */
import type { QuotaPeriod } from './spending.ts';

export type WindowKind = 'Day' | 'Month';

export interface Span {
  readonly startMs: number;
  /** The first moment after the span. */
  readonly endMs: number;
}

const DAY_MS = 86_400_000;
const KIND_OF_PERIOD: Readonly<Record<QuotaPeriod, WindowKind | undefined>> = {
  Never: undefined,
  Daily: 'Day',
  Monthly: 'Month',
};

/** The calendar day or month that a moment is in. */
export function spanAt(kind: WindowKind, atMs: number): Span {
  if (kind === 'Day') {
    const startMs = Math.floor(atMs / DAY_MS) * DAY_MS;
    return { startMs, endMs: startMs + DAY_MS };
  }
  const at = new Date(atMs);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return { startMs: Date.UTC(year, month, 1), endMs: Date.UTC(year, month + 1, 1) };
}

/** The kind of window that a quota of this period counts in; undefined: the total of all time. */
export function windowKindOf(period: QuotaPeriod): WindowKind | undefined {
  return KIND_OF_PERIOD[period];
}
