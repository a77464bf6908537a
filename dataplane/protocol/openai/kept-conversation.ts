/**
 * Conversations that the gateway keeps: what POST /v1/conversations and the requests below it make of one. It is a line
 * of JSON that describes it and has an id for each item, and then its items, so that a call gets them without a parse.
 */
import { Buffer } from 'node:buffer';
import { asBuffer, decodeUtf8 } from '../bytes.ts';
import { RequestFault } from '../call-facts.ts';
import { isGiven, isRecord, itemsOf, recordOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseLossless, parseObject, writeJson } from '../json-value.ts';
import { itemId, listedItem, writeList, writePage } from './input-items.ts';

/** What can stand in a path. */
const ITEM_ID = /^[\w-]{1,128}$/;
const HEAD_END = 0x0a;
const NO_ITEMS = Buffer.from('[]');
const MOST_METADATA = 16;
const MOST_NAME_CHARACTERS = 64;
const MOST_VALUE_CHARACTERS = 512;

/** `suffix` makes ids of items that have none; it is another one each time. */
export type ConversationWork =
  /** Of a request's body. */
  | { readonly work: 'Create'; readonly id: string; readonly suffix: string; readonly createdSeconds: number }
  | { readonly work: 'Describe'; readonly id: string }
  | { readonly work: 'Update'; readonly id: string; readonly request: Uint8Array }
  | { readonly work: 'List'; readonly query: string }
  | { readonly work: 'Add'; readonly suffix: string; readonly request: Uint8Array }
  | { readonly work: 'Item'; readonly item: string }
  | { readonly work: 'Remove'; readonly id: string; readonly item: string }
  /** Adds the items of a call: arrays, as JSON. */
  | { readonly work: 'AddTurn'; readonly suffix: string; readonly lists: readonly Uint8Array[] };

export interface WorkedConversation {
  /** What is to be kept; absent: nothing changes. */
  readonly conversation?: Uint8Array;
  /** The response; absent: there is no such item, or none is asked for. */
  readonly body?: Uint8Array;
}

/** The conversation's items: an array, as JSON. */
export function itemsOfConversation(conversation: Uint8Array): Uint8Array {
  const end = asBuffer(conversation).indexOf(HEAD_END);
  return end < 0 ? NO_ITEMS : conversation.subarray(end + 1);
}

/** `bytes`: the conversation, or for Create the request. Throws RequestFault for what the request has wrong. */
export function workOnConversation(bytes: Uint8Array, work: ConversationWork): WorkedConversation {
  switch (work.work) {
    case 'Create':
      return create(parseObject(bytes, parseLossless), work);
    case 'Describe':
      return { body: describe(readHead(bytes).head, work.id) };
    case 'Update':
      return update(bytes, work);
    case 'List':
      return { body: writePage(listedItems(unpack(bytes)), work.query) };
    case 'Add':
      return add(unpack(bytes), work);
    case 'Item':
      return itemOf(unpack(bytes), work.item);
    case 'Remove':
      return remove(unpack(bytes), work);
    case 'AddTurn': {
      const items = work.lists.flatMap((list) => itemsOf(parseLossless(decodeUtf8(list))));
      return { conversation: pack(withItems(unpack(bytes), items, work.suffix)) };
    }
  }
}

interface Head {
  readonly createdSeconds: unknown;
  readonly metadata: JsonRecord;
}

/** A conversation without its items. */
interface Headed {
  readonly head: Head;
  /** Of each item. */
  readonly ids: readonly string[];
}

interface Conversation extends Headed {
  readonly items: readonly JsonRecord[];
}

function pack(conversation: Conversation): Uint8Array {
  return Buffer.from(writeHead(conversation) + writeJson(conversation.items));
}

function unpack(bytes: Uint8Array): Conversation {
  const items = parseLossless(decodeUtf8(itemsOfConversation(bytes)));
  return { ...readHead(bytes), items: itemsOf(items).filter(isRecord) };
}

function writeHead({ head: { createdSeconds, metadata }, ids }: Headed): string {
  return `${writeJson([createdSeconds, metadata, ids])}\n`;
}

/** Does not parse the items, which may take megabytes. */
function readHead(bytes: Uint8Array): Headed {
  const line = bytes.subarray(0, asBuffer(bytes).indexOf(HEAD_END));
  const [createdSeconds, metadata, ids] = itemsOf(parseLossless(decodeUtf8(line)));
  return {
    head: { createdSeconds, metadata: recordOf(metadata) },
    ids: itemsOf(ids).map(stringOf),
  };
}

function create(
  given: JsonRecord,
  { id, suffix, createdSeconds }: Extract<ConversationWork, { readonly work: 'Create' }>,
): WorkedConversation {
  const head = { createdSeconds, metadata: readMetadata(given['metadata']) };
  const conversation = withItems({ head, ids: [], items: [] }, itemsOf(given['items']), suffix);
  return { conversation: pack(conversation), body: describe(head, id) };
}

function describe({ createdSeconds, metadata }: Head, id: string): Uint8Array {
  return Buffer.from(writeJson({ id, object: 'conversation', created_at: createdSeconds, metadata }));
}

function update(
  bytes: Uint8Array,
  { id, request }: Extract<ConversationWork, { readonly work: 'Update' }>,
): WorkedConversation {
  const { metadata: given } = parseObject(request, parseLossless);
  const { head: known, ids } = readHead(bytes);
  const head = { ...known, ...(given !== undefined && { metadata: readMetadata(given) }) };
  const conversation = Buffer.concat([Buffer.from(writeHead({ head, ids })), itemsOfConversation(bytes)]);
  return { conversation, body: describe(head, id) };
}

/** Adds items, each with its own id if no other has it. */
function withItems({ head, ids, items }: Conversation, added: readonly unknown[], suffix: string): Conversation {
  const taken = new Set(ids);
  const all = [...items];
  for (const [index, item] of added.filter(isRecord).entries()) {
    const { id: given, ...rest } = item;
    const own = textOf(given);
    const isFree = own !== undefined && ITEM_ID.test(own) && !taken.has(own);
    taken.add(isFree ? own : itemId(item, `${suffix}_${index}`));
    all.push(isFree ? item : rest);
  }
  return { head, ids: [...taken], items: all };
}

function add(
  conversation: Conversation,
  { suffix, request }: Extract<ConversationWork, { readonly work: 'Add' }>,
): WorkedConversation {
  const { items } = parseObject(request, parseLossless);
  if (!Array.isArray(items) || items.length === 0)
    throw new RequestFault('invalid_request', '"items" must be a list of items.', 'items');
  const changed = withItems(conversation, items, suffix);
  const added = listedItems(changed).slice(conversation.items.length);
  return { conversation: pack(changed), body: writeList(added, false) };
}

function listedItems({ ids, items }: Conversation): readonly JsonRecord[] {
  return items.map((item, index) => ({ ...listedItem(item, ''), id: ids[index] }));
}

function itemOf(conversation: Conversation, item: string): WorkedConversation {
  const found = listedItems(conversation)[conversation.ids.indexOf(item)];
  return found ? { body: Buffer.from(writeJson(found)) } : {};
}

function remove(
  { head, ids, items }: Conversation,
  { id, item }: Extract<ConversationWork, { readonly work: 'Remove' }>,
): WorkedConversation {
  const index = ids.indexOf(item);
  if (index < 0) return {};
  const left = { head, ids: ids.toSpliced(index, 1), items: items.toSpliced(index, 1) };
  return { conversation: pack(left), body: describe(head, id) };
}

/** As at OpenAI: a few short texts by name. */
function readMetadata(given: unknown): JsonRecord {
  if (!isGiven(given)) return {};
  if (!isRecord(given)) throw badMetadata();
  const entries = Object.entries(given);
  const fits = entries.every(
    ([name, value]) =>
      name.length <= MOST_NAME_CHARACTERS && typeof value === 'string' && value.length <= MOST_VALUE_CHARACTERS,
  );
  if (!fits || entries.length > MOST_METADATA) throw badMetadata();
  return given;
}

function badMetadata(): RequestFault {
  const message =
    `"metadata" may have ${MOST_METADATA} members, with names of ${MOST_NAME_CHARACTERS} characters and texts of ` +
    `${MOST_VALUE_CHARACTERS}.`;
  return new RequestFault('invalid_request', message, 'metadata');
}
