/**
 * Finds the members of a JSON object in bytes, without making values of them: what an edit at byte level needs, and a guard
 * against bodies that would cost more to parse than they are worth. Iterative, so that no nesting exhausts the stack; strings
 * are skipped natively. It takes malformed text for granted (undefined): saying what is wrong is the parser's part.
 */
import type { Buffer } from 'node:buffer';
import { RequestFault } from './call-facts.ts';
import { asBuffer } from './bytes.ts';

/** One member of an object: offsets into the bytes that were scanned. */
export interface JsonMember {
  readonly name: string;
  /** At the name's opening quote. */
  readonly nameStart: number;
  readonly valueStart: number;
  /** After the value's last byte. */
  readonly valueEnd: number;
}

export interface JsonObject {
  /** What was scanned. */
  readonly bytes: Uint8Array;
  /** At the opening brace. */
  readonly start: number;
  /** After the closing brace. */
  readonly end: number;
  readonly members: readonly JsonMember[];
  /** Members of the objects within them. */
  readonly nestedMembers: number;
}

/** Deeper nesting than any API's schema; recursive code behind this one relies on it. */
export const MAX_DEPTH = 512;
/** Every value costs tens of bytes of heap once parsed, however few it has in the text: `[[],[],…]`. */
export const MAX_VALUES = 2_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Strings up to this length are cheaper to walk than to search natively. */
const SHORT_STRING = 48;

/** Values seen so far in one scan. */
interface Budget {
  values: number;
  members: number;
}

/**
 * The object that starts at `from` (white space before it is skipped); undefined where there is none, or malformed text.
 * Throws RequestFault where it nests too deeply or holds too many values.
 */
export function scanObject(bytes: Uint8Array, from = 0): JsonObject | undefined {
  const text = asBuffer(bytes);
  const start = skipSpace(text, from);
  if (text[start] !== OPEN_BRACE) return undefined;
  const members: JsonMember[] = [];
  const budget: Budget = { values: 0, members: 0 };
  let at = skipSpace(text, start + 1);
  if (text[at] === CLOSE_BRACE) return { bytes, start, end: at + 1, members, nestedMembers: budget.members };
  for (;;) {
    const member = scanMember(text, at, budget);
    if (!member) return undefined;
    members.push(member);
    at = skipSpace(text, member.valueEnd);
    if (text[at] === CLOSE_BRACE) return { bytes, start, end: at + 1, members, nestedMembers: budget.members };
    if (text[at] !== COMMA) return undefined;
    at = skipSpace(text, at + 1);
  }
}

/** Throws RequestFault where the text, whatever it is, nests too deeply or holds too many values to be parsed. */
export function checkSize(bytes: Uint8Array): void {
  const text = asBuffer(bytes);
  skipValue(text, skipSpace(text, 0), { values: 0, members: 0 });
}

function scanMember(text: Buffer, at: number, budget: Budget): JsonMember | undefined {
  if (text[at] !== QUOTE) return undefined;
  const nameEnd = skipString(text, at);
  if (nameEnd < 0) return undefined;
  const colon = skipSpace(text, nameEnd);
  if (text[colon] !== COLON) return undefined;
  const name = decodeName(text, at, nameEnd);
  const valueStart = skipSpace(text, colon + 1);
  count(budget);
  const valueEnd = skipValue(text, valueStart, budget);
  return name === undefined || valueEnd < 0 ? undefined : { name, nameStart: at, valueStart, valueEnd };
}

function decodeName(text: Buffer, start: number, end: number): string | undefined {
  const plain = text.toString('utf8', start + 1, end - 1);
  if (!plain.includes('\\')) return plain;
  try {
    return String(JSON.parse(`"${plain}"`));
  } catch {
    // a bad escape: the parser says where
    return undefined;
  }
}

/** After the value at `at`, or -1 where it does not end. */
function skipValue(text: Buffer, at: number, budget: Budget): number {
  const first = text[at];
  if (first === QUOTE) return skipString(text, at);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipContainer(text, at, budget);
  let end = at;
  while (end < text.length && !isDelimiter(text[end])) end++;
  return end > at ? end : -1;
}

function skipContainer(text: Buffer, start: number, budget: Budget): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const byte = text[at];
    if (byte === QUOTE) {
      at = skipString(text, at);
      if (at < 0) return -1;
      continue;
    }
    const change = depthChange(byte);
    depth += change;
    if (change > 0 || byte === COMMA) count(budget);
    else if (byte === COLON) budget.members++;
    if (depth >= MAX_DEPTH) throw new RequestFault('invalid_json', `The body nests deeper than ${MAX_DEPTH} levels.`);
    at++;
    if (depth === 0) return at;
  }
  return -1;
}

function depthChange(byte: number | undefined): number {
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return 1;
  return byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? -1 : 0;
}

/** After the closing quote of the string that opens at `start`, or -1. */
function skipString(text: Buffer, start: number): number {
  let at = start + 1;
  const near = Math.min(text.length, at + SHORT_STRING);
  while (at < near) {
    const byte = text[at];
    if (byte === QUOTE) return at + 1;
    at += byte === BACKSLASH ? 2 : 1;
  }
  for (;;) {
    const quote = text.indexOf(QUOTE, at);
    if (quote < 0) return -1;
    if (!isEscaped(text, at, quote)) return quote + 1;
    at = quote + 1;
  }
}

/** An odd number of backslashes stands before it; `from` is where no escape is open. */
function isEscaped(text: Buffer, from: number, quote: number): boolean {
  let at = quote;
  while (at > from && text[at - 1] === BACKSLASH) at--;
  return (quote - at) % 2 === 1;
}

function skipSpace(text: Buffer, from: number): number {
  let at = from;
  while (isSpace(text[at])) at++;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isDelimiter(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isSpace(byte);
}

function count(budget: Budget): void {
  if (++budget.values > MAX_VALUES) throw new RequestFault('invalid_json', `The body holds more than ${MAX_VALUES} values.`);
}
