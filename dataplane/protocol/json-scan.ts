/**
 * Scans JSON in bytes without creating values. The scan of a request yields the offsets of its members, which
 * byte-level edits need, and refuses bodies that are too expensive to parse. A second, thorough scan finds the fault in
 * a body that is refused. The scanner is iterative, so that deep nesting cannot exhaust the stack.
 */
import { Buffer } from 'node:buffer';
import { RequestFault } from './call-facts.ts';
import { asBuffer } from './bytes.ts';

/** One member of an object, as offsets into the scanned bytes. */
export interface JsonMember {
  readonly name: string;
  /** At the name's opening quote. */
  readonly nameStart: number;
  readonly valueStart: number;
  /** After the value's last byte. */
  readonly valueEnd: number;
}

export interface JsonObject {
  /** The scanned bytes. */
  readonly bytes: Uint8Array;
  /** At the opening brace. */
  readonly start: number;
  /** After the closing brace. */
  readonly end: number;
  readonly members: readonly JsonMember[];
  /** Members of this object and of all objects within it. */
  readonly memberCount: number;
}

/** Deeper than any API's schema; recursive code that reads bodies relies on it. */
export const MAX_DEPTH = 512;
/** Each value costs time and tens of bytes of heap once parsed, however short it is in the text: `[[],[],…]`. */
export const MAX_VALUES = 100_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LOWER_U = 0x75;
const SIMPLE_ESCAPES: ReadonlySet<number | undefined> = new Set(Buffer.from('"\\/bfnrt'));
const NO_NAMES: Set<string> = new Set();
const LITERALS = ['true', 'false', 'null'].map((literal) => Buffer.from(literal));

/** Strings up to this length are walked; in longer ones, such as images, the closing quote is searched for natively. */
const SHORT_STRING = 48;

/**
 * The object that starts at `from`, white space before it aside; undefined where there is none, or it is malformed.
 * Strings are only skipped: that their characters and escapes are valid is for JSON.parse to check. Throws RequestFault
 * where it nests too deeply or holds too many values.
 */
export function scanObject(bytes: Uint8Array, from = 0): JsonObject | undefined {
  const object = scanUpTo(MAX_VALUES, bytes, from);
  return object === 'TooManyValues' ? undefined : object;
}

/** The same, but stops after so many values, fewer than MAX_VALUES: the rest of the text is not looked at. */
export function scanUpTo(maxValues: number, bytes: Uint8Array, from = 0): JsonObject | 'TooManyValues' | undefined {
  const text = asBuffer(bytes);
  const start = skipSpace(text, from);
  if (text[start] !== OPEN_BRACE) return undefined;
  const scanner = new Scanner(text, start, false, maxValues);
  if (!scanner.scanValue()) return scanner.valueCount > maxValues ? 'TooManyValues' : undefined;
  return { bytes, start, end: scanner.offset, members: scanner.members, memberCount: scanner.memberCount };
}

/** Throws RequestFault where the text, valid or not, nests too deeply or holds too many values to be parsed. */
export function checkSize(bytes: Uint8Array): void {
  new Scanner(asBuffer(bytes), 0, false).scanValue();
}

/**
 * Offset of the first byte that no JSON text could have there; the length, where the text ends too early; undefined: it
 * is JSON. The engine's own message cannot be used, because it quotes the text, and errors must not contain
 * prompts.
 */
export function findSyntaxFault(bytes: Uint8Array): number | undefined {
  const text = asBuffer(bytes);
  const scanner = new Scanner(text, 0, true);
  if (!scanner.scanValue()) return scanner.offset;
  const end = skipSpace(text, scanner.offset);
  return end < text.length ? end : undefined;
}

/**
 * Path of the first member that is given twice in one object, at any depth, of a text that is JSON; undefined: there is
 * none.
 */
export function findDuplicate(bytes: Uint8Array): string | undefined {
  const scanner = new Scanner(asBuffer(bytes), 0, true);
  scanner.scanValue();
  return scanner.duplicate;
}

interface Container {
  readonly closing: number;
  /** The object's names so far, where they are compared. */
  readonly names: Set<string>;
  /** Of an object: its latest member. */
  name: string;
  nameStart: number;
  valueStart: number;
  /** Of an array: how many items precede. */
  index: number;
}

class Scanner {
  /** Of the outermost object. */
  readonly members: JsonMember[] = [];
  /** Of all objects. */
  memberCount = 0;
  valueCount = 0;
  duplicate: string | undefined;
  /** After scanning: the end of the value, or the position of its fault. */
  offset: number;
  readonly #text: Buffer;
  /** Checks every character of strings, and compares the names of every object. */
  readonly #thorough: boolean;
  readonly #maxValues: number;
  readonly #open: Container[] = [];
  #expect: 'Value' | 'Name' | 'Colon' | 'Comma' | 'Nothing' = 'Value';
  /** The innermost container may also end here. */
  #mayClose = false;

  constructor(text: Buffer, offset: number, thorough: boolean, maxValues = MAX_VALUES) {
    this.#maxValues = maxValues;
    this.#text = text;
    this.offset = offset;
    this.#thorough = thorough;
  }

  /** False: the value is malformed. */
  scanValue(): boolean {
    while (this.#expect !== 'Nothing') {
      this.offset = skipSpace(this.#text, this.offset);
      if (!this.#scanToken()) return false;
    }
    return true;
  }

  #scanToken(): boolean {
    const byte = this.#text[this.offset];
    if (this.#mayClose && byte === this.#open.at(-1)?.closing) return this.#close();
    if (this.#expect === 'Value') return this.#scanItem(byte);
    if (this.#expect === 'Name') return byte === QUOTE && this.#scanName();
    if (this.#expect === 'Colon') return byte === COLON && this.#advance('Value');
    return byte === COMMA && this.#scanComma();
  }

  #advance(expect: 'Value' | 'Name', mayClose = false): true {
    this.offset++;
    this.#expect = expect;
    this.#mayClose = mayClose;
    return true;
  }

  #scanItem(byte: number | undefined): boolean {
    const container = this.#open.at(-1);
    if (container) container.valueStart = this.offset;
    if (++this.valueCount > this.#maxValues) {
      if (this.#maxValues < MAX_VALUES) return false;
      throw new RequestFault('invalid_json', `The body holds more than ${MAX_VALUES} values.`);
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.#openContainer(byte === OPEN_BRACE);
    if (!this.#skip(byte === QUOTE ? this.#endOfString() : endOfScalar(this.#text, this.offset))) return false;
    return this.#endItem();
  }

  #openContainer(isObject: boolean): boolean {
    if (this.#open.length >= MAX_DEPTH)
      throw new RequestFault('invalid_json', `The body nests deeper than ${MAX_DEPTH} levels.`);
    const names = this.#thorough ? new Set<string>() : NO_NAMES;
    this.#open.push({
      closing: isObject ? CLOSE_BRACE : CLOSE_BRACKET,
      names,
      name: '',
      nameStart: 0,
      valueStart: 0,
      index: 0,
    });
    return this.#advance(isObject ? 'Name' : 'Value', true);
  }

  #close(): boolean {
    this.#open.pop();
    this.offset++;
    return this.#endItem();
  }

  #endItem(): true {
    const [outermost] = this.#open;
    this.#expect = outermost ? 'Comma' : 'Nothing';
    this.#mayClose = true;
    if (outermost?.closing === CLOSE_BRACE && this.#open.length === 1) {
      const { name, nameStart, valueStart } = outermost;
      this.members.push({ name, nameStart, valueStart, valueEnd: this.offset });
    }
    return true;
  }

  #scanComma(): boolean {
    const container = this.#open.at(-1);
    if (container) container.index++;
    return this.#advance(container?.closing === CLOSE_BRACE ? 'Name' : 'Value');
  }

  #scanName(): boolean {
    const start = this.offset;
    if (!this.#skip(this.#endOfString())) return false;
    this.memberCount++;
    this.#expect = 'Colon';
    this.#mayClose = false;
    return this.#thorough || this.#open.length === 1 ? this.#readName(start) : true;
  }

  #readName(start: number): boolean {
    const container = this.#open.at(-1);
    const name = decodeName(this.#text, start, this.offset);
    if (!container || name === undefined) return false;
    container.name = name;
    container.nameStart = start;
    if (!this.#thorough) return true;
    if (container.names.has(name)) this.duplicate ??= pathOf(this.#open);
    container.names.add(name);
    return true;
  }

  /** `end`: after what is skipped; where that is malformed, -1 less the offset of the fault. */
  #skip(end: number): boolean {
    this.offset = end < 0 ? -1 - end : end;
    return end >= 0;
  }

  #endOfString(): number {
    return this.#thorough ? endOfCheckedString(this.#text, this.offset) : endOfString(this.#text, this.offset);
  }
}

function decodeName(text: Buffer, start: number, end: number): string | undefined {
  const name = text.toString('utf8', start + 1, end - 1);
  if (!name.includes('\\')) return name;
  try {
    return String(JSON.parse(`"${name}"`));
  } catch {
    // a bad escape: findSyntaxFault says where
    return undefined;
  }
}

/** `messages[1].content` */
function pathOf(open: readonly Container[]): string {
  return open
    .map(({ closing, name, index }) => (closing === CLOSE_BRACE ? `.${name}` : `[${index}]`))
    .join('')
    .replace(/^\./, '');
}

/** After the closing quote of the string that opens at `start`. */
function endOfString(text: Buffer, start: number): number {
  let offset = start + 1;
  const near = Math.min(text.length, offset + SHORT_STRING);
  while (offset < near) {
    const byte = text[offset];
    if (byte === QUOTE) return offset + 1;
    offset += byte === BACKSLASH ? 2 : 1;
  }
  for (;;) {
    const quote = text.indexOf(QUOTE, offset);
    if (quote < 0) return -1 - text.length;
    if (!isEscaped(text, offset, quote)) return quote + 1;
    offset = quote + 1;
  }
}

/** An odd number of backslashes precedes; `from` is where no escape is open. */
function isEscaped(text: Buffer, from: number, quote: number): boolean {
  let offset = quote;
  while (offset > from && text[offset - 1] === BACKSLASH) offset--;
  return (quote - offset) % 2 === 1;
}

/** As endOfString, with every character and escape checked. */
function endOfCheckedString(text: Buffer, start: number): number {
  let offset = start + 1;
  for (;;) {
    const byte = text[offset];
    if (byte === QUOTE) return offset + 1;
    if (byte === undefined || byte < 0x20) return -1 - offset;
    offset = byte === BACKSLASH ? endOfEscape(text, offset) : offset + 1;
    if (offset < 0) return offset;
  }
}

function endOfEscape(text: Buffer, offset: number): number {
  const letter = text[offset + 1];
  if (SIMPLE_ESCAPES.has(letter)) return offset + 2;
  if (letter !== LOWER_U) return -1 - (offset + 1);
  for (let digit = offset + 2; digit < offset + 6; digit++) if (!isHexDigit(text[digit])) return -1 - digit;
  return offset + 6;
}

function endOfScalar(text: Buffer, offset: number): number {
  const byte = text[offset];
  if (byte === MINUS || isDigit(byte)) return endOfNumber(text, offset);
  const literal = LITERALS.find(([first]) => first === byte);
  if (!literal) return -1 - offset;
  const wrong = literal.findIndex((letter, index) => text[offset + index] !== letter);
  return wrong < 0 ? offset + literal.length : -1 - (offset + wrong);
}

function endOfNumber(text: Buffer, start: number): number {
  let offset = text[start] === MINUS ? start + 1 : start;
  if (!isDigit(text[offset])) return -1 - offset;
  offset = text[offset] === ZERO ? offset + 1 : skipDigits(text, offset);
  if (text[offset] === DOT) {
    if (!isDigit(text[offset + 1])) return -1 - (offset + 1);
    offset = skipDigits(text, offset + 1);
  }
  return text[offset] === 0x65 || text[offset] === 0x45 ? endOfExponent(text, offset + 1) : offset;
}

function endOfExponent(text: Buffer, start: number): number {
  const offset = text[start] === MINUS || text[start] === PLUS ? start + 1 : start;
  return isDigit(text[offset]) ? skipDigits(text, offset) : -1 - offset;
}

function skipDigits(text: Buffer, from: number): number {
  let offset = from;
  while (isDigit(text[offset])) offset++;
  return offset;
}

function skipSpace(text: Buffer, from: number): number {
  let offset = from;
  while (text[offset] === 0x20 || text[offset] === 0x0a || text[offset] === 0x0d || text[offset] === 0x09) offset++;
  return offset;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39;
}

function isHexDigit(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}
