/**
 * Where a text stops being JSON: the engine's own message quotes the text around the place, and a prompt has no business in an
 * error message. Runs only on bodies that did not parse.
 */

const SPACE = new Set([0x20, 0x0a, 0x0d, 0x09]);
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));
const LITERALS = ['true', 'false', 'null'].map((word) => Buffer.from(word));
const [QUOTE, BACKSLASH, LOWER_U] = [0x22, 0x5c, 0x75];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
const [COMMA, COLON, MINUS, ZERO, DOT] = [0x2c, 0x3a, 0x2d, 0x30, 0x2e];

/** What may come next. */
type Expect = 'Value' | 'ValueOrEnd' | 'Name' | 'NameOrEnd' | 'Colon' | 'CommaOrEnd' | 'Nothing';

const CLOSABLE: ReadonlySet<Expect> = new Set(['ValueOrEnd', 'NameOrEnd', 'CommaOrEnd']);

interface Position {
  at: number;
  expect: Expect;
  /** Closing bytes of the containers that are open. */
  readonly open: number[];
}

/** Offset of the first byte that no JSON text could have there; the length, where the text ends too early. Undefined: it is JSON. */
export function findSyntaxFault(bytes: Uint8Array): number | undefined {
  const position: Position = { at: 0, expect: 'Value', open: [] };
  for (;;) {
    while (SPACE.has(bytes[position.at] ?? -1)) position.at++;
    if (position.at >= bytes.length) return position.expect === 'Nothing' ? undefined : bytes.length;
    const fault = step(bytes, position);
    if (fault !== undefined) return fault;
  }
}

/** "byte 17 (line 2, column 4)", counted from 1 for people. */
export function describePosition(bytes: Uint8Array, offset: number): string {
  let line = 1;
  let lineStart = 0;
  for (let at = bytes.indexOf(0x0a); at >= 0 && at < offset; at = bytes.indexOf(0x0a, at + 1)) {
    line++;
    lineStart = at + 1;
  }
  return `byte ${offset + 1} (line ${line}, column ${offset - lineStart + 1})`;
}

function step(bytes: Uint8Array, position: Position): number | undefined {
  const { at, expect } = position;
  const byte = bytes[at];
  if (CLOSABLE.has(expect) && byte === position.open.at(-1)) return close(position);
  if (expect === 'Value' || expect === 'ValueOrEnd') return stepValue(bytes, position);
  if (expect === 'Name' || expect === 'NameOrEnd') return stepScalar(position, byte === QUOTE ? endOfString(bytes, at) : -1 - at, 'Colon');
  return stepPunctuation(byte, position);
}

function stepPunctuation(byte: number | undefined, position: Position): number | undefined {
  if (position.expect === 'Colon' && byte === COLON) return advance(position, 'Value');
  if (position.expect === 'CommaOrEnd' && byte === COMMA) return advance(position, position.open.at(-1) === CLOSE_BRACE ? 'Name' : 'Value');
  return position.at;
}

function advance(position: Position, expect: Expect): undefined {
  position.at++;
  position.expect = expect;
}

function close(position: Position): undefined {
  position.open.pop();
  advance(position, afterValue(position));
}

function afterValue(position: Position): Expect {
  return position.open.length > 0 ? 'CommaOrEnd' : 'Nothing';
}

function stepValue(bytes: Uint8Array, position: Position): number | undefined {
  const byte = bytes[position.at];
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
    position.open.push(byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET);
    return advance(position, byte === OPEN_BRACE ? 'NameOrEnd' : 'ValueOrEnd');
  }
  return stepScalar(position, endOfScalar(bytes, position.at), afterValue(position));
}

/** `end` is after the scalar, or -1 less the offset of its fault. */
function stepScalar(position: Position, end: number, expect: Expect): number | undefined {
  if (end < 0) return -1 - end;
  position.at = end;
  position.expect = expect;
  return undefined;
}

function endOfScalar(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === QUOTE) return endOfString(bytes, at);
  if (byte === MINUS || isDigit(byte)) return endOfNumber(bytes, at);
  const literal = LITERALS.find((word) => word[0] === byte);
  if (!literal) return -1 - at;
  const wrong = literal.findIndex((letter, index) => bytes[at + index] !== letter);
  return wrong < 0 ? at + literal.length : -1 - (at + wrong);
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  for (;;) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === undefined || byte < 0x20) return -1 - at;
    if (byte !== BACKSLASH) at++;
    else {
      at = endOfEscape(bytes, at);
      if (at < 0) return at;
    }
  }
}

function endOfEscape(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1] ?? -1;
  if (ESCAPES.has(letter)) return at + 2;
  if (letter !== LOWER_U) return -1 - (at + 1);
  for (let digit = at + 2; digit < at + 6; digit++) if (!isHexDigit(bytes[digit])) return -1 - digit;
  return at + 6;
}

function endOfNumber(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  if (!isDigit(bytes[at])) return -1 - at;
  at = bytes[at] === ZERO ? at + 1 : skipDigits(bytes, at);
  if (bytes[at] === DOT) {
    if (!isDigit(bytes[at + 1])) return -1 - (at + 1);
    at = skipDigits(bytes, at + 1);
  }
  return bytes[at] === 0x65 || bytes[at] === 0x45 ? endOfExponent(bytes, at + 1) : at;
}

function endOfExponent(bytes: Uint8Array, start: number): number {
  const at = bytes[start] === MINUS || bytes[start] === 0x2b ? start + 1 : start;
  return isDigit(bytes[at]) ? skipDigits(bytes, at) : -1 - at;
}

function skipDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(bytes[at])) at++;
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66));
}
