/**
 * [P] Which rows of an account's columns a query asks for: a span of their order, and what must hold of each.
 */
import { STATUSES } from './columns.ts';
import type { RecordColumns, RowKey } from './columns.ts';
import type { CallQuery } from './usage.ts';

interface RowSpan {
  /** In `order`; `end` is the first that does not belong to it. */
  readonly begin: number;
  readonly end: number;
  readonly wants: (row: number) => boolean;
}

const NO_ROWS: RowSpan = { begin: 0, end: 0, wants: () => false };
/** No row has it: what is not asked for. */
const ANY = -1;

export function rowsAskedFor(columns: RecordColumns, { keyUid, model, status, sinceMs, untilMs }: CallQuery): RowSpan {
  const wanted = [numberOf(keyUid, columns.keys.find), numberOf(model, columns.models.find), numberOf(status, (word) => STATUSES.findIndex((each) => each === word))];
  const [key = ANY, modelNumber = ANY, statusNumber = ANY] = wanted;
  if (wanted.includes(undefined)) return NO_ROWS;
  const begin = sinceMs === undefined ? 0 : columns.firstFrom(momentKey(sinceMs));
  const end = untilMs === undefined ? columns.count : columns.firstFrom(momentKey(untilMs));
  return {
    begin, end,
    wants: (row) => (key === ANY || columns.key[row] === key) && (modelNumber === ANY || columns.model[row] === modelNumber) && (statusNumber === ANY || columns.status[row] === statusNumber),
  };
}

/** ANY where nothing is asked for, undefined where no row can have it. */
function numberOf(word: string | undefined, find: (word: string) => number | undefined): number | undefined {
  return word === undefined ? ANY : find(word);
}

/** The first key that a moment can have. */
function momentKey(createdMs: number): RowKey {
  return { createdMs, hashA: 0, hashB: 0 };
}

/** A row, and what it is ordered by. */
export interface FoundRow {
  readonly columns: RecordColumns;
  readonly row: number;
  readonly key: RowKey;
}

/** The latest rows before a key, newest first; no key: the latest of all. */
export function rowsBefore(columns: RecordColumns, query: CallQuery, { key, most }: { readonly key: RowKey | undefined; readonly most: number }): FoundRow[] {
  const { begin, end, wants } = rowsAskedFor(columns, query);
  const found: FoundRow[] = [];
  for (let at = (key ? Math.min(end, columns.firstFrom(key)) : end) - 1; at >= begin && found.length < most; at--) {
    const row = columns.order[at] ?? 0;
    if (wants(row)) found.push({ columns, row, key: columns.rowKey(row) });
  }
  return found;
}

/** The first rows after a key, oldest first; no key: the first of all. */
export function rowsAfter(columns: RecordColumns, query: CallQuery, { key, most }: { readonly key: RowKey | undefined; readonly most: number }): FoundRow[] {
  const { begin, end, wants } = rowsAskedFor(columns, query);
  const found: FoundRow[] = [];
  const from = key ? Math.max(begin, columns.firstFrom({ ...key, hashB: key.hashB + 1 })) : begin;
  for (let at = from; at < end && found.length < most; at++) {
    const row = columns.order[at] ?? 0;
    if (wants(row)) found.push({ columns, row, key: columns.rowKey(row) });
  }
  return found;
}

/** As text, for the address of a page: it says only a moment and what tells its calls apart. */
export function formatKey({ createdMs, hashA, hashB }: RowKey): string {
  return [createdMs, hashA, hashB].map((number) => number.toString(36)).join('-');
}

/** undefined: it is none. */
export function parseKey(text: string): RowKey | undefined {
  const [createdMs, hashA, hashB] = /^[0-9a-z]{1,11}-[0-9a-z]{1,7}-[0-9a-z]{1,7}$/.test(text) ? text.split('-').map((part) => Number.parseInt(part, 36)) : [];
  return createdMs === undefined || hashA === undefined || hashB === undefined ? undefined : { createdMs, hashA, hashB };
}
