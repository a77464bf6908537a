/** [P] What was spent today and this month, and what this month will cost at the pace of the last seven days. */
import { monthStart } from '#ledger/periods.ts';
import { addAll, NO_CALLS } from '../data/add-sums.ts';
import type { SeriesSum, SpendingSum } from '../data/usage.ts';

export interface MonthSummary {
  readonly today: SpendingSum;
  readonly month: SpendingSum;
  readonly lastMonth: SpendingSum;
  /** Nano-USD; undefined: too little was spent for a forecast. */
  readonly forecastNanoUsd: bigint | undefined;
  /** "November" */
  readonly monthName: string;
}

const DAY_MS = 86_400_000;
const PACE_DAYS = 7;
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** The start of the days that the figures need. */
export function summarySince(nowMs: number): number {
  return Math.min(monthStart(nowMs, -1), startOfDay(nowMs) - PACE_DAYS * DAY_MS);
}

/** Computed from sums by day; sums of other days are ignored. */
export function monthSummary(sums: readonly SeriesSum[], nowMs: number): MonthSummary {
  const between = (fromMs: number, toMs: number): SpendingSum =>
    addAll(sums.filter(({ startMs }) => startMs >= fromMs && startMs < toMs));
  const today = startOfDay(nowMs);
  const [begin, end] = [monthStart(nowMs, 0), monthStart(nowMs, 1)];
  const month = between(begin, end);
  const pace = between(today - PACE_DAYS * DAY_MS, today);
  const leftMs = BigInt(end - nowMs);
  return {
    today: between(today, today + DAY_MS),
    month,
    lastMonth: between(monthStart(nowMs, -1), begin),
    forecastNanoUsd:
      pace === NO_CALLS ? undefined : month.costNanoUsd + (pace.costNanoUsd * leftMs) / BigInt(PACE_DAYS * DAY_MS),
    monthName: MONTHS[new Date(nowMs).getUTCMonth()] ?? '',
  };
}

function startOfDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS;
}
