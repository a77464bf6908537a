/** Continues a response that the gateway keeps: its items come before those of the request, which then has them all. */
import { Buffer } from 'node:buffer';
import { asBuffer } from '../bytes.ts';
import { editObject, memberBytes } from '../json-edit.ts';
import type { JsonEdit } from '../json-edit.ts';
import { scanObject } from '../json-scan.ts';
import type { JsonMember } from '../json-scan.ts';

/** An id that the gateway gave a response which it wrote itself. */
const OWN_ID = /^resp_[0-9a-f]{32}$/;

const SPACE = 0x20;
const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = Buffer.from(',');
const OPENING = Buffer.from('[');
const CLOSING = Buffer.from(']');

/** The id where it is one of the gateway's own, which no provider knows. */
export function ownResponseId(value: unknown): string | undefined {
  return typeof value === 'string' && OWN_ID.test(value) ? value : undefined;
}

/** A response with the input that it answers. */
export interface ContinuedResponse {
  /** An array of items, as JSON. */
  readonly input: Uint8Array;
  /** An object, as JSON. */
  readonly response: Uint8Array;
}

/**
 * The request with the items of the response and its input before its own, and without `previous_response_id`. Throws
 * SyntaxError where the body is no JSON object.
 */
export function continueInput(body: Uint8Array, { input: before, response }: ContinuedResponse): Uint8Array {
  const output = memberBytes(response, 'output');
  const scanned = scanObject(body);
  const input = scanned?.members.findLast(({ name }) => name === 'input'); // as JSON.parse does
  const lists = [before, ...(output ? [output] : []), ...(input ? [ownItems(body, input)] : [])].map(withoutBrackets);
  const inner = lists.filter((list) => list.length > 0).flatMap((list, index) => (index > 0 ? [COMMA, list] : [list]));
  const edits: [string, JsonEdit][] = [
    ['previous_response_id', undefined],
    ['input', Buffer.concat([OPENING, ...inner, CLOSING])],
  ];
  return editObject(body, new Map(edits), scanned);
}

/** The request's own input as an array; a text is a message. What is neither stays, for the reader to refuse. */
function ownItems(body: Uint8Array, { valueStart, valueEnd }: JsonMember): Buffer {
  const value = asBuffer(body).subarray(valueStart, valueEnd);
  if (value[0] === OPEN_BRACKET) return value;
  if (value.equals(Buffer.from('null'))) return Buffer.from('[]');
  const item = value[0] === QUOTE ? [Buffer.from('{"role":"user","content":'), value, Buffer.from('}')] : [value];
  return Buffer.concat([OPENING, ...item, CLOSING]);
}

/** Empty where the array is. */
function withoutBrackets(array: Uint8Array): Buffer {
  const text = asBuffer(array);
  const inner = text.subarray(text.indexOf(OPEN_BRACKET) + 1, text.lastIndexOf(CLOSE_BRACKET));
  return inner.some((byte) => byte > SPACE) ? inner : Buffer.alloc(0);
}
