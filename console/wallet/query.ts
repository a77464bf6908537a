/** [P] The Wallet's query strings: accounts, range of days and filter of calls. Days are UTC. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { CALL_STATUSES } from '#usage/record.ts';
import type { CallStatus } from '#usage/record.ts';
import { ACCOUNT_STATUSES } from '../queries/account-status.ts';
import type { AccountStatus } from '../queries/account-status.ts';
import { queryText } from '../request-schema.ts';

export const ACCOUNT_COLUMNS = ['name', 'status', 'balance', 'credit', 'spent', 'held', 'keys'] as const;
export type AccountColumn = (typeof ACCOUNT_COLUMNS)[number];

/** The list of accounts. */
export interface AccountsQuery {
  readonly text: string;
  readonly status: AccountStatus | undefined;
  readonly column: AccountColumn;
  readonly descending: boolean;
  /** From 1. */
  readonly page: number;
}

export const RANGES = [7, 30, 90] as const;
type RangeDays = (typeof RANGES)[number];

/** Some whole days; the last one is today. */
export interface DayRange {
  readonly days: RangeDays;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** As typed into the filter of calls; empty: any. */
export interface CallListFilter {
  /** A key's name. */
  readonly key: string;
  /** A key by its identity in the ledger, for keys that are gone. */
  readonly uid: string;
  readonly model: string;
  readonly status: CallStatus | undefined;
  /** "2026-11-21" */
  readonly since: string;
  /** The last day that belongs to it. */
  readonly until: string;
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS: RangeDays = 30;

/** The query of the list of accounts. */
export const ACCOUNTS_QUERY = Type.Object({
  q: queryText(),
  status: queryText(),
  sort: queryText(),
  page: queryText(),
});

/** Unknown values are ignored. */
export function parseAccountsQuery(query: Static<typeof ACCOUNTS_QUERY>): AccountsQuery {
  const { q = '', sort = '' } = query;
  const descending = sort.startsWith('-');
  const page = Number(query.page ?? '1');
  return {
    text: q.trim(),
    status: ACCOUNT_STATUSES.find((status) => status === query.status),
    column: ACCOUNT_COLUMNS.find((name) => name === sort.slice(descending ? 1 : 0)) ?? 'status',
    descending,
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
}

/** The range that `days` names, up to the end of today. */
export function parseRange(query: { readonly days?: string }, nowMs: number): DayRange {
  const asked = Number(query.days);
  const days = RANGES.find((each) => each === asked) ?? DEFAULT_DAYS;
  const untilMs = (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
  return { days, sinceMs: untilMs - days * DAY_MS, untilMs };
}

/** Every day of a range, "2026-11-21", in order. */
export function daysOf({ sinceMs, untilMs }: Pick<DayRange, 'sinceMs' | 'untilMs'>): string[] {
  return Array.from({ length: Math.round((untilMs - sinceMs) / DAY_MS) }, (_, index) =>
    new Date(sinceMs + index * DAY_MS).toISOString().slice(0, 10),
  );
}

/** The query of an account's calls. */
export const CALLS_QUERY = Type.Object({
  key: queryText(),
  uid: queryText(),
  model: queryText(),
  status: queryText(),
  since: queryText(),
  until: queryText(),
  before: queryText(),
});

/** Unknown values are ignored. */
export function parseCallFilter(query: Static<typeof CALLS_QUERY>): CallListFilter {
  const text = (name: keyof typeof query): string => (query[name] ?? '').trim();
  const status = text('status');
  return {
    key: text('key'),
    uid: text('uid'),
    model: text('model'),
    status: CALL_STATUSES.find((each) => each === status),
    since: dayOf(text('since')),
    until: dayOf(text('until')),
  };
}

/** The moments that a filter's days begin and end at. */
export function momentsOf({ since, until }: Pick<CallListFilter, 'since' | 'until'>): {
  readonly sinceMs?: number;
  readonly untilMs?: number;
} {
  return {
    ...(since === '' ? {} : { sinceMs: Date.parse(since) }),
    ...(until === '' ? {} : { untilMs: Date.parse(until) + DAY_MS }),
  };
}

export function isCallFilter({ key, uid, model, status, since, until }: CallListFilter): boolean {
  return [key, uid, model, status ?? '', since, until].some((value) => value !== '');
}

/** As the query string has it; what is empty is left out. */
export function filterParameters({ key, uid, model, status, since, until }: CallListFilter): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ key, uid, model, status: status ?? '', since, until }).filter(([, value]) => value !== ''),
  );
}

/** "" where it is no day. */
function dayOf(text: string): string {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text) ? text : '';
}
