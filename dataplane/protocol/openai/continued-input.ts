/**
 * Continues a response or a conversation that the gateway keeps: its items come before those of the request, which then
 * has them all.
 */
import { Buffer } from 'node:buffer';
import { asBuffer } from '../bytes.ts';
import { isRecord } from '../fields.ts';
import { editObject, memberBytes } from '../json-edit.ts';
import type { JsonEdit } from '../json-edit.ts';
import { scanObject } from '../json-scan.ts';
import type { JsonMember } from '../json-scan.ts';

/** An id that the gateway gave a response which it wrote itself. */
const OWN_ID = /^resp_[0-9a-f]{32}$/;
/** An id that the gateway gave a conversation which it keeps itself. */
const OWN_CONVERSATION_ID = /^conv_[0-9a-f]{32}$/;

const SPACE = 0x20;
const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = Buffer.from(',');
const OPENING = Buffer.from('[');
const CLOSING = Buffer.from(']');
const NO_ITEMS = Buffer.from('[]');

/** The id where it is one of the gateway's own, which no provider knows. */
export function ownResponseId(value: unknown): string | undefined {
  return typeof value === 'string' && OWN_ID.test(value) ? value : undefined;
}

/** The id of a conversation where it is one of the gateway's own, as itself or in an object. */
export function ownConversationId(value: unknown): string | undefined {
  const id = isRecord(value) ? value['id'] : value;
  return typeof id === 'string' && OWN_CONVERSATION_ID.test(id) ? id : undefined;
}

/** A conversation, or a response with the input that it answers. */
export interface Continued {
  /** An array of items, as JSON. */
  readonly input: Uint8Array;
  /** The response: an object, as JSON. Undefined: a conversation is continued. */
  readonly response?: Uint8Array | undefined;
}

/** A request that has the items of what it continues. */
export interface ContinuedRequest {
  readonly body: Uint8Array;
  /** The items that were the request's own: an array, as JSON. */
  readonly own: Uint8Array;
}

/**
 * The request with the items of what it continues before its own, and without the fields that name it. Throws
 * SyntaxError where the body is no JSON object.
 */
export function continueInput(body: Uint8Array, { input: before, response }: Continued): ContinuedRequest {
  const output = response && memberBytes(response, 'output');
  const scanned = scanObject(body);
  const input = scanned?.members.findLast(({ name }) => name === 'input'); // as JSON.parse does
  const own = input ? ownItems(body, input) : NO_ITEMS;
  const lists = [before, ...(output ? [output] : []), own].map(withoutBrackets);
  const inner = lists.filter((list) => list.length > 0).flatMap((list, index) => (index > 0 ? [COMMA, list] : [list]));
  const edits: [string, JsonEdit][] = [
    ['previous_response_id', undefined],
    ['conversation', undefined],
    ['input', Buffer.concat([OPENING, ...inner, CLOSING])],
  ];
  return { body: editObject(body, new Map(edits), scanned), own };
}

/** The request's own input as an array; a text is a message. What is neither stays, for the reader to refuse. */
function ownItems(body: Uint8Array, { valueStart, valueEnd }: JsonMember): Buffer {
  const value = asBuffer(body).subarray(valueStart, valueEnd);
  if (value[0] === OPEN_BRACKET) return value;
  if (value.equals(Buffer.from('null'))) return NO_ITEMS;
  const item = value[0] === QUOTE ? [Buffer.from('{"role":"user","content":'), value, Buffer.from('}')] : [value];
  return Buffer.concat([OPENING, ...item, CLOSING]);
}

/** Empty where the array is. */
function withoutBrackets(array: Uint8Array): Buffer {
  const text = asBuffer(array);
  const inner = text.subarray(text.indexOf(OPEN_BRACKET) + 1, text.lastIndexOf(CLOSE_BRACKET));
  return inner.some((byte) => byte > SPACE) ? inner : Buffer.alloc(0);
}
