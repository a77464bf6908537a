/** [P] Which keys a view of the list shows: its query string, and the keys that it selects. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ApiKey } from '#crds/types.gen.ts';
import { factsOf } from '../queries/key-facts.ts';
import type { KeyFacts } from '../queries/key-facts.ts';
import { KEY_STATUSES } from '../queries/key-status.ts';
import type { KeyStatus, KeyStatusFinding } from '../queries/key-status.ts';
import { queryText } from '../request-schema.ts';

/** The columns that can be sorted by, in the table's order. */
export const KEY_COLUMNS = ['name', 'status', 'enabled', 'group', 'spent', 'remaining', 'used', 'expires'] as const;
export type KeyColumn = (typeof KEY_COLUMNS)[number];

export interface KeysQuery {
  /** Search terms that name, namespace, prefix or group must hold. */
  readonly text: string;
  readonly namespace: string;
  readonly group: string;
  readonly status: KeyStatus | undefined;
  readonly sort: { readonly column: KeyColumn; readonly descending: boolean };
  /** From 1. */
  readonly page: number;
}

const LAST_PAGE = 1_000_000;
/** Worst first. */
const DEFAULT_SORT: KeysQuery['sort'] = { column: 'status', descending: false };

/** The query of the list of keys. */
export const KEYS_QUERY = Type.Object({
  q: queryText(),
  namespace: queryText(),
  group: queryText(),
  status: queryText(),
  sort: queryText(),
  page: queryText(),
});

/** Unknown values are ignored. */
export function parseKeysQuery(query: Static<typeof KEYS_QUERY>): KeysQuery {
  const text = (name: keyof typeof query): string => (query[name] ?? '').trim();
  return {
    text: text('q'),
    namespace: text('namespace'),
    group: text('group'),
    status: KEY_STATUSES.find((status) => status === text('status')),
    sort: parseSort(text('sort')),
    page: parsePage(text('page')),
  };
}

/** The path with its query; defaults are left out. */
export function keysPath(query: KeysQuery, path: '/keys' | '/keys.csv' = '/keys'): string {
  const { column, descending } = query.sort;
  const sort = formatSort(query.sort);
  const parameters = new URLSearchParams(
    Object.entries({
      q: query.text,
      namespace: query.namespace,
      group: query.group,
      status: query.status ?? '',
      sort: column === DEFAULT_SORT.column && !descending ? '' : sort,
      page: query.page === 1 ? '' : String(query.page),
    }).filter(([, value]) => value !== ''),
  );
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

/** The same view, sorted by a column: the other way round where it is sorted by it already. */
export function sortedBy(query: KeysQuery, column: KeyColumn): KeysQuery {
  const current = query.sort.column === column;
  return { ...query, sort: { column, descending: current && !query.sort.descending }, page: 1 };
}

/** Whether anything is left out of the list. */
export function isFiltered({ text, namespace, group, status }: KeysQuery): boolean {
  return text !== '' || namespace !== '' || group !== '' || status !== undefined;
}

export function formatSort({ column, descending }: KeysQuery['sort']): string {
  return `${descending ? '-' : ''}${column}`;
}

function parseSort(text: string): KeysQuery['sort'] {
  const descending = text.startsWith('-');
  const column = KEY_COLUMNS.find((name) => name === text.slice(descending ? 1 : 0));
  return column ? { column, descending } : DEFAULT_SORT;
}

function parsePage(text: string): number {
  const page = Number(text);
  return Number.isInteger(page) && page >= 1 && page <= LAST_PAGE ? page : 1;
}

export const KEYS_PER_PAGE = 100;

/** A key as the list shows it. */
export interface KeyRow {
  readonly facts: KeyFacts;
  readonly finding: KeyStatusFinding;
  /** The display name of its group. */
  readonly group: string;
}

/** The parts of a row that are not the key's own figures. */
export interface RowFacts {
  readonly statusOf: (apiKey: ApiKey) => KeyStatusFinding;
  /** Display names by group name; groups that do not exist are missing. */
  readonly groupNames: ReadonlyMap<string, string>;
}

export interface KeysSelection {
  readonly rows: readonly KeyRow[];
  /** As asked, or the last one that there is. */
  readonly page: number;
  /** At least 1. */
  readonly pages: number;
  readonly matches: number;
  readonly total: number;
  /** All of them, whatever the filter, in order. */
  readonly namespaces: readonly string[];
  /** Names with what people call them. */
  readonly groups: readonly (readonly [name: string, displayName: string])[];
  /** How many keys of all have each status. */
  readonly statuses: ReadonlyMap<KeyStatus, number>;
}

/** What a column sorts by; undefined goes last in either direction. */
type SortValue = string | number | bigint | undefined;

const SORT_VALUES: Readonly<Record<KeyColumn, (row: KeyRow) => SortValue>> = {
  name: ({ facts }) => facts.order,
  status: ({ finding }) => KEY_STATUSES.indexOf(finding.status),
  enabled: ({ facts }) => (facts.apiKey.spec.enabled ? 0 : 1),
  group: ({ group }) => group.toLowerCase(),
  spent: ({ facts }) => facts.spentNanoUsd,
  remaining: ({ facts }) => facts.remainingNanoUsd,
  used: ({ facts }) => facts.lastUsedMs,
  expires: ({ facts }) => facts.expiresMs,
};

/** Filters, sorts and cuts out the page. */
export function selectKeys(apiKeys: readonly ApiKey[], query: KeysQuery, row: RowFacts): KeysSelection {
  const all = keyRows(apiKeys, row);
  const found = findRows(all, query);
  const pages = Math.max(1, Math.ceil(found.length / KEYS_PER_PAGE));
  const page = Math.min(query.page, pages);
  return {
    rows: found.slice((page - 1) * KEYS_PER_PAGE, page * KEYS_PER_PAGE),
    page,
    pages,
    matches: found.length,
    total: all.length,
    namespaces: [...new Set(all.map(({ facts }) => facts.apiKey.metadata.namespace))].sort(),
    groups: [...new Map(all.map(({ facts, group }) => [facts.apiKey.spec.groupRef.name, group]))].sort(([a], [b]) =>
      a < b ? -1 : 1,
    ),
    statuses: countStatuses(all),
  };
}

export function keyRows(apiKeys: readonly ApiKey[], { statusOf, groupNames }: RowFacts): KeyRow[] {
  return apiKeys.map((apiKey) => ({
    facts: factsOf(apiKey),
    finding: statusOf(apiKey),
    group: groupNames.get(apiKey.spec.groupRef.name) ?? apiKey.spec.groupRef.name,
  }));
}

/** All that match, in order. */
export function findRows(rows: readonly KeyRow[], query: KeysQuery): KeyRow[] {
  return sorted(rows.filter(matching(query)), query.sort);
}

function countStatuses(rows: readonly KeyRow[]): Map<KeyStatus, number> {
  const counts = new Map<KeyStatus, number>();
  for (const {
    finding: { status },
  } of rows)
    counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

function matching({ text, namespace, group, status }: KeysQuery): (row: KeyRow) => boolean {
  const terms = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return ({
    facts: {
      apiKey: { metadata, spec },
      text: own,
    },
    finding,
    group: displayName,
  }) =>
    (namespace === '' || metadata.namespace === namespace) &&
    (group === '' || spec.groupRef.name === group) &&
    (status === undefined || finding.status === status) &&
    terms.every((term) => own.includes(term) || displayName.toLowerCase().includes(term));
}

function sorted(rows: readonly KeyRow[], { column, descending }: KeysQuery['sort']): KeyRow[] {
  const valueOf = SORT_VALUES[column];
  const direction = descending ? -1 : 1;
  return rows
    .map((each) => ({ each, value: valueOf(each) }))
    .sort((a, b) => compare(a.value, b.value, direction) || compare(a.each.facts.order, b.each.facts.order, 1))
    .map(({ each }) => each);
}

function compare(a: SortValue, b: SortValue, direction: number): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return a < b ? -direction : direction;
}
