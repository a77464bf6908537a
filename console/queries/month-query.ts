/** [P] The query string of the month's report: which month (UTC), and what its lines are. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { monthStart } from '#ledger/periods.ts';
import { queryText } from '../request-schema.ts';
import type { MarginName } from '../data/usage.ts';
import { parseUsageQuery, USAGE_QUERY } from './usage-query.ts';
import type { UsagePageFilter } from './usage-query.ts';

/** What a line can stand for. */
export const MONTH_SPLITS = ['account', 'model', 'key', 'group', 'labels'] as const;
export type MonthSplit = (typeof MONTH_SPLITS)[number];

export const MARGIN_NAMES: Readonly<Record<MonthSplit, MarginName>> = {
  account: 'account',
  model: 'model',
  key: 'keyUid',
  group: 'group',
  labels: 'labels',
};

export interface MonthQuery extends UsagePageFilter {
  /** "2026-10" */
  readonly month: string;
  readonly sinceMs: number;
  /** The first moment that does not belong to it. */
  readonly untilMs: number;
  readonly rows: MonthSplit;
  /** Splits each of the rows; undefined: they are not split. */
  readonly by: MonthSplit | undefined;
}

const DAY_MS = 86_400_000;
const LISTED_MONTHS = 13;

/** The query of the month's report. */
export const MONTH_QUERY = Type.Object({ ...USAGE_QUERY.properties, month: queryText(), rows: queryText() });

/** A month that is not one, or has not begun, is this month. */
export function parseMonthQuery(query: Static<typeof MONTH_QUERY>, nowMs: number): MonthQuery {
  const splitOf = (name: string | undefined): MonthSplit | undefined => MONTH_SPLITS.find((split) => split === name);
  const rows = splitOf(query.rows) ?? 'account';
  const by = splitOf(query.by) ?? (query.by === 'none' ? undefined : 'model');
  const sinceMs = startOf(query.month ?? '', nowMs);
  return {
    ...parseUsageQuery(query, nowMs),
    status: undefined, // a month is of all calls
    month: monthText(sinceMs),
    sinceMs,
    untilMs: monthStart(sinceMs, 1),
    rows,
    by: by === rows ? undefined : by,
  };
}

/** What a month's report depends on, as the query string has it. */
export function monthParameters({ month, rows, by }: MonthQuery): Record<string, string> {
  return { month, rows: rows === 'account' ? '' : rows, by: by === 'model' ? '' : (by ?? 'none') };
}

/** The last thirteen months, the latest first, and the one that is asked for. */
export function listedMonths(query: Pick<MonthQuery, 'month'>, nowMs: number): string[] {
  const latest = Array.from({ length: LISTED_MONTHS }, (_, at) => monthText(monthStart(nowMs, -at)));
  return latest.includes(query.month) ? latest : [...latest, query.month];
}

/**
 * When a month's sums change no more, unless jobs of it are still running: a day after its end, when its last calls have
 * ended.
 */
export function closesAtMs({ untilMs }: Pick<MonthQuery, 'untilMs'>): number {
  return untilMs + DAY_MS;
}

function startOf(month: string, nowMs: number): number {
  const ms = /^\d{4}-\d{2}$/.test(month) ? Date.parse(`${month}-01`) : NaN;
  return ms >= 0 && ms <= nowMs ? ms : monthStart(nowMs, 0);
}

function monthText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}
