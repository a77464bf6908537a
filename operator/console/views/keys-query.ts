/**
 * [P] Which keys the reader of the list wants to see, from its query string. Every control is one parameter, so that a view can be
 * bookmarked and works without scripts: q, namespace, group, ready, enabled, sort (`-` in front: descending), page.
 */

/** The columns that can be sorted by, in the table's order. */
export const KEY_COLUMNS = ['name', 'key', 'group', 'enabled', 'spent', 'remaining', 'used', 'expires', 'ready'] as const;
export type KeyColumn = (typeof KEY_COLUMNS)[number];

export type YesNo = 'yes' | 'no';

export interface KeysQuery {
  /** Words that name, namespace, prefix or group must hold. */
  readonly text: string;
  readonly namespace: string;
  readonly group: string;
  readonly ready: YesNo | undefined;
  readonly enabled: YesNo | undefined;
  readonly sort: { readonly column: KeyColumn; readonly descending: boolean };
  /** From 1. */
  readonly page: number;
}

const LONGEST_TEXT = 200;
const LONGEST_NAME = 253;
const LAST_PAGE = 1_000_000;
const DEFAULT_SORT: KeysQuery['sort'] = { column: 'name', descending: false };

/** As asked, as far as it means anything. */
export function parseKeysQuery(parameters: URLSearchParams): KeysQuery {
  const text = (name: string): string => (parameters.get(name) ?? '').trim();
  return {
    text: text('q').slice(0, LONGEST_TEXT),
    namespace: text('namespace').slice(0, LONGEST_NAME),
    group: text('group').slice(0, LONGEST_NAME),
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
