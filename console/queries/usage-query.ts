/** [P] The query strings of Usage and of its calls: whose, when, which, and how they are shown. Times are UTC. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { monthStart } from '#ledger/periods.ts';
import { CALL_STATUSES } from '#usage/record.ts';
import type { CallStatus } from '#usage/record.ts';
import type { SeriesKind } from '../data/usage.ts';
import { MAX_ID_LENGTH, queryText } from '../request-schema.ts';

export const MEASURES: readonly Measure[] = ['cost', 'calls', 'tokens'];
export const SPLITS = ['model', 'key', 'group', 'account'] as const;
export type Split = (typeof SPLITS)[number];
export const UNITS = ['day', 'hour'] as const;
export type Unit = (typeof UNITS)[number];
/** Ranges by name, with their labels. */
export const RANGES = {
  today: 'Today',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
  month: 'This month',
  'last-month': 'Last month',
} as const;
export type RangeName = keyof typeof RANGES;
export const RANGE_NAMES: readonly RangeName[] = ['today', '7d', '30d', '90d', 'month', 'last-month'];

/** Which calls; empty: any. */
export interface UsagePageFilter {
  /** "namespace/name" */
  readonly account: string;
  /** "namespace/name", or a name alone. */
  readonly key: string;
  /** A key by its identity in the ledger, for keys that are gone. */
  readonly uid: string;
  readonly model: string;
  readonly group: string;
  /** "route/channel" */
  readonly channel: string;
  readonly status: CallStatus | undefined;
}

/** Any call. */
export const NO_FILTER: UsagePageFilter = {
  account: '',
  key: '',
  uid: '',
  model: '',
  group: '',
  channel: '',
  status: undefined,
};

export interface UsagePageQuery extends UsagePageFilter {
  /** undefined: of its own days or hours. */
  readonly range: RangeName | undefined;
  /** As typed: "2026-11-21", or "2026-11-21T13"; empty where a named range is shown. */
  readonly since: string;
  /** The last day or hour that belongs to it. */
  readonly until: string;
  readonly sinceMs: number;
  /** The first moment that does not belong to it. */
  readonly untilMs: number;
  /** Why calls were refused, for the list of those; empty: any reason. */
  readonly reason: string;
  readonly show: Measure;
  readonly by: Split;
  readonly unit: Unit;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MAX_DAYS = 400;
/** Ranges of at most so many days may be shown by hour. */
export const MAX_HOURLY_DAYS = 7;
const DEFAULT_RANGE: RangeName = '30d';

/** The query of pages that show usage. */
export const USAGE_QUERY = Type.Object({
  account: queryText(MAX_ID_LENGTH),
  key: queryText(MAX_ID_LENGTH),
  uid: queryText(),
  model: queryText(),
  group: queryText(),
  channel: queryText(MAX_ID_LENGTH),
  reason: queryText(),
  status: queryText(),
  range: queryText(),
  since: queryText(),
  until: queryText(),
  show: queryText(),
  by: queryText(),
  unit: queryText(),
});

/** Unknown values are ignored. */
export function parseUsageQuery(query: Static<typeof USAGE_QUERY>, nowMs: number): UsagePageQuery {
  const text = (name: keyof typeof query): string => (query[name] ?? '').trim();
  const status = text('status');
  const period = parsePeriod(query, nowMs);
  const days = (period.untilMs - period.sinceMs) / DAY_MS;
  const unit = UNITS.find((each) => each === text('unit')) ?? (days <= 2 ? 'hour' : 'day');
  return {
    account: text('account'),
    key: text('key'),
    uid: text('uid'),
    model: text('model'),
    group: text('group'),
    channel: text('channel'),
    status: CALL_STATUSES.find((each) => each === status),
    ...period,
    reason: text('reason'),
    show: MEASURES.find((each) => each === text('show')) ?? 'cost',
    by: SPLITS.find((each) => each === text('by')) ?? 'model',
    unit: days > MAX_HOURLY_DAYS ? 'day' : unit,
  };
}

type Period = Pick<UsagePageQuery, 'range' | 'since' | 'until' | 'sinceMs' | 'untilMs'>;

function parsePeriod({ since: from, until: to, range }: Static<typeof USAGE_QUERY>, nowMs: number): Period {
  const [since, until] = [momentOf(from), momentOf(to)];
  if (!since && !until) return namedPeriod(rangeOf(range), nowMs);
  return { range: undefined, since: since?.text ?? '', until: until?.text ?? '', ...bounded(since, until, nowMs) };
}

/** A range whose end precedes its start has no calls. */
function bounded(
  since: Moment | undefined,
  until: Moment | undefined,
  nowMs: number,
): Pick<Period, 'sinceMs' | 'untilMs'> {
  const untilMs = until ? until.ms + until.lengthMs : endOfDay(Math.max(nowMs, since?.ms ?? 0));
  const sinceMs = since?.ms ?? untilMs - 30 * DAY_MS;
  return { sinceMs: Math.min(Math.max(sinceMs, untilMs - MAX_DAYS * DAY_MS), untilMs), untilMs };
}

function namedPeriod(range: RangeName, nowMs: number): Period {
  return { range, since: '', until: '', ...boundsOf(range, nowMs) };
}

function boundsOf(range: RangeName, nowMs: number): Pick<Period, 'sinceMs' | 'untilMs'> {
  const untilMs = endOfDay(nowMs);
  switch (range) {
    case 'today':
      return { sinceMs: untilMs - DAY_MS, untilMs };
    case '7d':
      return { sinceMs: untilMs - 7 * DAY_MS, untilMs };
    case '30d':
      return { sinceMs: untilMs - 30 * DAY_MS, untilMs };
    case '90d':
      return { sinceMs: untilMs - 90 * DAY_MS, untilMs };
    case 'month':
      return { sinceMs: monthStart(nowMs, 0), untilMs };
    case 'last-month':
      return { sinceMs: monthStart(nowMs, -1), untilMs: monthStart(nowMs, 0) };
  }
}

function rangeOf(text: string | undefined): RangeName {
  return RANGE_NAMES.find((name) => name === text) ?? DEFAULT_RANGE;
}

function endOfDay(ms: number): number {
  return (Math.floor(ms / DAY_MS) + 1) * DAY_MS;
}

interface Moment {
  readonly text: string;
  readonly ms: number;
  readonly lengthMs: number;
}

/** A day, or an hour of one; undefined where it is neither. */
function momentOf(text: string | undefined): Moment | undefined {
  const [, day = '', hour = ''] = /^(\d{4}-\d{2}-\d{2})(T\d{2})?$/.exec(text?.trim() ?? '') ?? [];
  const ms = Date.parse(`${day}${hour === '' ? 'T00' : hour}:00:00Z`);
  // a day that a month does not have would be one of the next
  if (!(ms >= 0) || !new Date(ms).toISOString().startsWith(day)) return undefined;
  return { text: day + hour, ms, lengthMs: hour === '' ? DAY_MS : HOUR_MS };
}

export const lengthOf = (unit: Unit): number => (unit === 'day' ? DAY_MS : HOUR_MS);

/** The kind of series that a query asks for. */
export function kindOf({ by, unit }: Pick<UsagePageQuery, 'by' | 'unit'>): SeriesKind {
  const splits = { model: 'Model', key: 'Key', group: 'Group', account: 'Account' } as const;
  return { by: splits[by], unit: unit === 'day' ? 'Day' : 'Hour' };
}

/** Where each column begins. */
export function columnsOf({ sinceMs, untilMs, unit }: Pick<UsagePageQuery, 'sinceMs' | 'untilMs' | 'unit'>): number[] {
  const step = lengthOf(unit);
  return Array.from({ length: Math.ceil((untilMs - sinceMs) / step) }, (_, index) => sinceMs + index * step);
}

/** A column's start as the address of its calls contains it. */
export function momentText(startMs: number, unit: Unit): string {
  return new Date(startMs).toISOString().slice(0, unit === 'day' ? 10 : 13);
}

/** For people: "2026-11-21", "2026-11-21 13:00". */
export function columnLabel(startMs: number, unit: Unit): string {
  const text = momentText(startMs, unit);
  return unit === 'day' ? text : `${text.replace('T', ' ')}:00`;
}

/** As the query string has the filter; what is empty is left out by whoever writes it. */
export function filterParameters(filter: UsagePageFilter): Record<string, string> {
  const { account, key, uid, model, group, channel, status } = filter;
  return { account, key, uid, model, group, channel, status: status ?? '' };
}

/** As the query string has the period. */
export function periodParameters({
  range,
  since,
  until,
}: Pick<UsagePageQuery, 'range' | 'since' | 'until'>): Record<string, string> {
  return range === undefined ? { since, until } : { range: range === DEFAULT_RANGE ? '' : range };
}

/** As the query string has what is shown; what is the default is left out. */
export function viewParameters({ show, by, unit, sinceMs, untilMs }: UsagePageQuery): Record<string, string> {
  const hours = untilMs - sinceMs <= 2 * DAY_MS;
  return {
    show: show === 'cost' ? '' : show,
    by: by === 'model' ? '' : by,
    unit: (unit === 'hour') === hours ? '' : unit,
  };
}

/** What the columns of a chart measure. */
export type Measure = 'cost' | 'calls' | 'tokens';
