/** The list of a response's input items, as GET /v1/responses/{id}/input_items returns it. */
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

/** A page, latest items first unless the query wants another order. `items`: an array as JSON. Throws RequestFault. */
export function writeItemList(items: Uint8Array, { responseId, query }: ItemQuery): Uint8Array {
  const { isAscending, limit, after } = readQuery(query);
  const all = itemsOf(parseLossless(decodeUtf8(items)))
    .filter(isRecord)
    .map((item, index) => listed(item, `${responseId.replace('resp_', '')}_${index}`));
  const ordered = isAscending ? all : all.toReversed();
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) throw invalid('The response has no such item.', 'after');
  const data = ordered.slice(start, start + limit);
  const list = {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: start + limit < ordered.length,
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
function listed(item: JsonRecord, suffix: string): JsonRecord {
  const { type = 'message', role, content } = item;
  const id = `${type === 'message' ? 'msg' : 'item'}_${suffix}`;
  if (typeof content !== 'string') return { id, type, ...item };
  const part = role === 'assistant' ? { type: 'output_text', annotations: [] } : { type: 'input_text' };
  return { id, type, status: 'completed', ...item, content: [{ ...part, text: content }] };
}
