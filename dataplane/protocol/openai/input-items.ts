/** Lists of items: a response's input, as GET /v1/responses/{id}/input_items returns it, and a conversation's. */
import { decodeUtf8 } from '../bytes.ts';
import { RequestFault } from '../call-facts.ts';
import { isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless, writeJson } from '../json-value.ts';

/** Which page of the list is asked for. */
export interface ItemQuery {
  readonly responseId: string;
  /** Of the request, without its question mark. */
  readonly query: string;
}

const DEFAULT_ITEMS = 20;
const MOST_ITEMS = 100;

/** A page of a response's input. `items`: an array as JSON. Throws RequestFault. */
export function writeItemList(items: Uint8Array, { responseId, query }: ItemQuery): Uint8Array {
  const suffix = responseId.replace('resp_', '');
  const listed = itemsOf(parseLossless(decodeUtf8(items)))
    .filter(isRecord)
    .map((item, index) => listedItem(item, `${suffix}_${index}`));
  return writePage(listed, query);
}

/** A page of items that are listed, latest first unless the query wants another order. Throws RequestFault. */
export function writePage(items: readonly JsonRecord[], query: string): Uint8Array {
  const { isAscending, limit, after } = readQuery(query);
  const ordered = isAscending ? items : items.toReversed();
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) throw invalid('The list has no such item.', 'after');
  return writeList(ordered.slice(start, start + limit), start + limit < ordered.length);
}

/** A list of items that has, or has not, more than these. */
export function writeList(data: readonly JsonRecord[], hasMore: boolean): Uint8Array {
  const list = {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: hasMore,
  };
  return Buffer.from(writeJson(list));
}

interface Page {
  readonly isAscending: boolean;
  readonly limit: number;
  /** The id of the item before the page. */
  readonly after: string | undefined;
}

function readQuery(query: string): Page {
  const parameters = new URLSearchParams(query);
  const limit = Number(parameters.get('limit') ?? DEFAULT_ITEMS);
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_ITEMS)
    throw invalid(`limit must be from 1 to ${MOST_ITEMS}.`, 'limit');
  return { isAscending: parameters.get('order') === 'asc', limit, after: parameters.get('after') ?? undefined };
}

function invalid(message: string, param: string): RequestFault {
  return new RequestFault('invalid_request', message, param);
}

/** As clients read an item of a list: with an id and a type, and a message's text as a part. */
export function listedItem(item: JsonRecord, suffix: string): JsonRecord {
  const { type = 'message', role, content } = item;
  const id = itemId(item, suffix);
  if (typeof content !== 'string') return { id, type, ...item };
  const part = role === 'assistant' ? { type: 'output_text', annotations: [] } : { type: 'input_text' };
  return { id, type, status: 'completed', ...item, content: [{ ...part, text: content }] };
}

/** An id for an item that has none. */
export function itemId({ type = 'message' }: JsonRecord, suffix: string): string {
  return `${type === 'message' ? 'msg' : 'item'}_${suffix}`;
}
