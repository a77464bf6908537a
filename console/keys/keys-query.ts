/** [P] Which keys a view of the list shows: its query string, and the keys that it selects. */
import type { ApiKey } from '#crds/types.gen.ts';
import { factsOf } from './key-facts.ts';
import type { KeyFacts } from './key-facts.ts';

/** The columns that can be sorted by, in the table's order. */
export const KEY_COLUMNS =
  ['name', 'key', 'group', 'enabled', 'spent', 'remaining', 'used', 'expires', 'ready'] as const;
export type KeyColumn = (typeof KEY_COLUMNS)[number];

export type YesNo = 'yes' | 'no';

export interface KeysQuery {
  /** Search terms that name, namespace, prefix or group must hold. */
  readonly text: string;
  readonly namespace: string;
  readonly group: string;
  readonly ready: YesNo | undefined;
  readonly enabled: YesNo | undefined;
  readonly sort: { readonly column: KeyColumn; readonly descending: boolean };
  /** From 1. */
  readonly page: number;
}

const MAX_TEXT_LENGTH = 200;
const MAX_NAME_LENGTH = 253;
const LAST_PAGE = 1_000_000;
const DEFAULT_SORT: KeysQuery['sort'] = { column: 'name', descending: false };

/** As asked, as far as it means anything. */
export function parseKeysQuery(parameters: URLSearchParams): KeysQuery {
  const text = (name: string): string => (parameters.get(name) ?? '').trim();
  return {
    text: text('q').slice(0, MAX_TEXT_LENGTH),
    namespace: text('namespace').slice(0, MAX_NAME_LENGTH),
    group: text('group').slice(0, MAX_NAME_LENGTH),
    ready: parseYesNo(text('ready')),
    enabled: parseYesNo(text('enabled')),
    sort: parseSort(text('sort')),
    page: parsePage(text('page')),
  };
}

/** The path with its query; what is as it is by default is left out. */
export function keysPath(query: KeysQuery): string {
  const { column, descending } = query.sort;
  const sort = formatSort(query.sort);
  const parameters = new URLSearchParams(Object.entries({
    q: query.text,
    namespace: query.namespace,
    group: query.group,
    ready: query.ready ?? '',
    enabled: query.enabled ?? '',
    sort: column === DEFAULT_SORT.column && !descending ? '' : sort,
    page: query.page === 1 ? '' : String(query.page),
  }).filter(([, value]) => value !== ''));
  return parameters.size === 0 ? '/keys' : `/keys?${parameters.toString()}`;
}

/** The same view, sorted by a column: the other way round where it is sorted by it already. */
export function sortedBy(query: KeysQuery, column: KeyColumn): KeysQuery {
  const current = query.sort.column === column;
  return { ...query, sort: { column, descending: current && !query.sort.descending }, page: 1 };
}

/** Whether anything is left out of the list. */
export function isFiltered({ text, namespace, group, ready, enabled }: KeysQuery): boolean {
  return text !== '' || namespace !== '' || group !== '' || ready !== undefined || enabled !== undefined;
}

export function formatSort({ column, descending }: KeysQuery['sort']): string {
  return `${descending ? '-' : ''}${column}`;
}

function parseYesNo(text: string): YesNo | undefined {
  return text === 'yes' || text === 'no' ? text : undefined;
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

export interface KeysSelection {
  readonly rows: readonly KeyFacts[];
  /** As asked, or the last one that there is. */
  readonly page: number;
  /** At least 1. */
  readonly pages: number;
  readonly matches: number;
  readonly total: number;
  /** All that there are, whatever is asked for, in order. */
  readonly namespaces: readonly string[];
  readonly groups: readonly string[];
}

/** What a column sorts by; undefined goes last in either direction. */
type SortValue = string | number | bigint | undefined;

const SORT_VALUES: Readonly<Record<KeyColumn, (facts: KeyFacts) => SortValue>> = {
  name: ({ order }) => order,
  key: ({ apiKey }) => apiKey.status?.keyPrefix,
  group: ({ apiKey }) => apiKey.spec.groupRef.name,
  enabled: ({ apiKey }) => apiKey.spec.enabled ? 0 : 1,
  spent: ({ spentNanoUsd }) => spentNanoUsd,
  remaining: ({ remainingNanoUsd }) => remainingNanoUsd,
  used: ({ lastUsedMs }) => lastUsedMs,
  expires: ({ expiresMs }) => expiresMs,
  // what needs attention first
  ready: ({ readiness: { state, reason } }) => `${{ NotReady: 0, Unknown: 1, Ready: 2 }[state]} ${reason}`,
};

/** Filters, sorts and cuts out the page. */
export function selectKeys(apiKeys: readonly ApiKey[], query: KeysQuery): KeysSelection {
  const all = apiKeys.map(factsOf);
  const found = all.filter(matching(query));
  const pages = Math.max(1, Math.ceil(found.length / KEYS_PER_PAGE));
  const page = Math.min(query.page, pages);
  return {
    rows: sorted(found, query.sort).slice((page - 1) * KEYS_PER_PAGE, page * KEYS_PER_PAGE),
    page,
    pages,
    matches: found.length,
    total: all.length,
    namespaces: distinct(all, ({ apiKey }) => apiKey.metadata.namespace),
    groups: distinct(all, ({ apiKey }) => apiKey.spec.groupRef.name),
  };
}

function matching({ text, namespace, group, ready, enabled }: KeysQuery): (facts: KeyFacts) => boolean {
  const terms = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  return ({
    apiKey: { metadata, spec }, text: own, readiness,
  }) => (namespace === '' || metadata.namespace === namespace)
    && (group === '' || spec.groupRef.name === group)
    && (ready === undefined || (readiness.state === 'Ready') === (ready === 'yes'))
    && (enabled === undefined || spec.enabled === (enabled === 'yes'))
    && terms.every((term) => own.includes(term));
}

function sorted(facts: readonly KeyFacts[], { column, descending }: KeysQuery['sort']): KeyFacts[] {
  const valueOf = SORT_VALUES[column];
  const direction = descending ? -1 : 1;
  return facts.map((each) => ({ each, value: valueOf(each) }))
    .sort((a, b) => compare(a.value, b.value, direction) || compare(a.each.order, b.each.order, 1))
    .map(({ each }) => each);
}

function compare(a: SortValue, b: SortValue, direction: number): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return a < b ? -direction : direction;
}

function distinct(facts: readonly KeyFacts[], nameOf: (facts: KeyFacts) => string): string[] {
  return [...new Set(facts.map(nameOf))].sort();
}
