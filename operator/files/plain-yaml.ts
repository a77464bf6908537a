/**
 * [P] The YAML that nearly all manifests are written in, read twenty times as fast as by a whole YAML parser, so that ten thousand
 * of them start within a second: block maps and lists of one-line scalars, and flow collections on one line, JSON among them.
 * Whatever is not certainly that is left to the whole parser: multi-line text, tabs, anchors, tags, escapes, numbers other than
 * plain whole ones, mistakes of every kind. What is read here is what it would have read; a test compares the two.
 */
import type { Json, JsonObject } from '#crds/json.ts';

export interface PlainDocument {
  readonly object: JsonObject;
  /** At which the object begins, from 1. */
  readonly line: number;
}

/** The only object of a text, or undefined: a YAML parser has to look. */
export function parsePlainYaml(text: string): PlainDocument | undefined {
  const reader: Reader = { text, at: 0, column: 0, depth: 0 };
  if (text.length > MOST_CHARACTERS) return undefined;
  try {
    if (text.startsWith('---')) {
      reader.at = 3;
      endLine(reader);
    } else nextLine(reader);
    const line = countLines(text, reader.at);
    const object = readDocument(reader);
    return { object, line };
  } catch (error) {
    if (error === NOT_PLAIN) return undefined;
    throw error;
  }
}

interface Reader {
  readonly text: string;
  at: number;
  /** Of `at`, where a line's content begins. At the end of the text: -1. */
  column: number;
  depth: number;
}

const NOT_PLAIN = new Error('not plain YAML');
/** So that no pattern has far to go. */
const MOST_CHARACTERS = 65_536;
const MOST_DEPTH = 32;

/** Characters that mean the same in every part of a line. */
const TEXT = '\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff';
/** Empty lines, comments, and the indentation of the line that follows them. */
const BETWEEN = new RegExp(`(?: *(?:#[${TEXT}]*)?\\n)* *`, 'y');
const LINE_END = new RegExp(`(?: +(?:#[${TEXT}]*)?)?(?:\\n|$)`, 'y');
/** A key of up to 100 characters, which is far from the thousand after which YAML wants a question mark. */
const BLOCK_KEY = /[A-Za-z][\w./-]{0,99}:(?: +(?=[^ #\n])|(?= *(?:\n|#)))/y;
const FLOW_KEY = /(?:[A-Za-z][\w./-]{0,99}: +|"[\w./-]{1,100}": *)/y;
/** Words, a letter or slash first, then nothing that could end a scalar, in a flow collection neither; or a whole number. */
const SCALAR = /[A-Za-z/](?:[\w./@+=-]|[: ](?=[\w./@+=-]))*|(?:0|[1-9]\d{0,14})(?=[ \n,\]}]|$)/y;
const DOUBLE_QUOTED = new RegExp(`"(?:(?!["\\\\])[${TEXT}])*"`, 'y');
const SINGLE_QUOTED = new RegExp(`'(?:(?!')[${TEXT}])*'`, 'y');
/** Words that are no text, as scalars and as keys. */
const CONSTANTS: ReadonlySet<string> = new Set(['true', 'True', 'TRUE', 'false', 'False', 'FALSE', 'null', 'Null', 'NULL']);
const LINE_BREAK = 0x0a;
const SPACE = 0x20;
const DOUBLE_QUOTE = 0x22;
const HASH = 0x23;
const SINGLE_QUOTE = 0x27;
const DASH = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LEFT_BRACKET = 0x5b;
const LEFT_BRACE = 0x7b;

/** What patterns took of block YAML before, each in a place that its text says: thousands of manifests have the same keys and many of the same values. */
const knownKeys: (string | undefined)[] = Array.from({ length: 256 });
const knownRests: (KnownRest | undefined)[] = Array.from({ length: 1024 });

/** What stood from the beginning of a value to the end of its line. */
interface KnownRest {
  readonly text: string;
  readonly value: Json;
}

/** Where V8 makes a copy of a piece of a text: what is longer keeps all of the text that it was cut out of. */
const COPIED_CHARACTERS = 12;

function readDocument(reader: Reader): JsonObject {
  const isFlow = reader.text.charCodeAt(reader.at) === LEFT_BRACE;
  const object = isFlow ? readFlowMap(reader) : readMap(reader);
  if (isFlow) endLine(reader);
  if (reader.column !== -1) throw NOT_PLAIN;
  return object;
}

/** Reads what stands at the column of the reader and deeper. */
function readMap(reader: Reader): JsonObject {
  const { column } = reader;
  const object: Record<string, Json> = {};
  do {
    const key = readBlockKey(reader);
    const value = readEntry(reader, column);
    if (Object.hasOwn(object, key)) throw NOT_PLAIN;
    object[key] = value;
  } while (reader.column === column);
  if (reader.column > column) throw NOT_PLAIN;
  return object;
}

/** A key with its colon, and the spaces before a value on the same line. */
function readBlockKey(reader: Reader): string {
  const { text, at } = reader;
  const colon = text.indexOf(':', at);
  const place = (text.charCodeAt(at) * 7 + text.charCodeAt(colon - 1) * 3 + colon - at) & 255;
  const known = knownKeys[place];
  if (known !== undefined && known.length === colon - at && text.startsWith(known, at) && endsKey(reader, colon)) return known;
  expectMatch(reader, BLOCK_KEY);
  const [key = ''] = Object.keys({ [text.slice(at, colon)]: true }); // the name that V8 has for it
  if (isForbidden(key)) throw NOT_PLAIN;
  knownKeys[place] = key;
  return key;
}

/** Steps over a colon, where the line ends with it or one space and a value follow it. */
function endsKey(reader: Reader, colon: number): boolean {
  const { text } = reader;
  const next = text.charCodeAt(colon + 1);
  if (next === LINE_BREAK) {
    reader.at = colon + 1;
    return true;
  }
  const first = text.charCodeAt(colon + 2);
  if (next !== SPACE || first === SPACE || first === HASH || first === LINE_BREAK) return false;
  reader.at = colon + 2;
  return true;
}

/** What follows a key: on its line, or on further lines below it. */
function readEntry(reader: Reader, column: number): Json {
  if (!atLineEnd(reader)) return readLineRest(reader);
  endLine(reader);
  const isList = startsItem(reader);
  if (reader.column > column || (isList && reader.column === column)) return isList ? deeper(reader, readList) : deeper(reader, readMap);
  throw NOT_PLAIN;
}

function readList(reader: Reader): Json[] {
  const { column } = reader;
  const items: Json[] = [];
  do {
    reader.at += 2;
    reader.column += 2;
    items.push(atBlockKey(reader) ? deeper(reader, readMap) : readLineRest(reader));
  } while (reader.column === column && startsItem(reader));
  if (reader.column > column) throw NOT_PLAIN;
  return items;
}

/** Nothing is left on the line, or spaces and a comment. */
function atLineEnd({ text, at }: Reader): boolean {
  const next = text.charCodeAt(at);
  return next === LINE_BREAK || next === SPACE || next === HASH;
}

/** "- " and something on the same line. */
function startsItem({ text, at }: Reader): boolean {
  return text.charCodeAt(at) === DASH && text.charCodeAt(at + 1) === SPACE;
}

function atBlockKey({ text, at }: Reader): boolean {
  BLOCK_KEY.lastIndex = at;
  return BLOCK_KEY.test(text);
}

function readLineRest(reader: Reader): Json {
  const { text, at } = reader;
  const end = text.indexOf('\n', at);
  if (end < 0 || end - at > COPIED_CHARACTERS) return readNewRest(reader);
  const place = (text.charCodeAt(at) * 31 + text.charCodeAt(end - 1) * 7 + text.charCodeAt(end - 2) * 3 + end - at) & 1023;
  const known = knownRests[place];
  if (known?.text.length === end - at && text.startsWith(known.text, at)) {
    reader.at = end + 1;
    nextLine(reader);
    return known.value;
  }
  const value = readNewRest(reader);
  if (typeof value !== 'object') knownRests[place] = { text: text.slice(at, end), value };
  return value;
}

function readNewRest(reader: Reader): Json {
  const value = readValue(reader);
  endLine(reader);
  return value;
}

function readValue(reader: Reader): Json {
  switch (reader.text.charCodeAt(reader.at)) {
    case LEFT_BRACE: return deeper(reader, readFlowMap);
    case LEFT_BRACKET: return deeper(reader, readFlowList);
    case DOUBLE_QUOTE: return expectMatch(reader, DOUBLE_QUOTED).slice(1, -1);
    case SINGLE_QUOTE: return expectMatch(reader, SINGLE_QUOTED).slice(1, -1);
    default: return readPlainScalar(reader);
  }
}

function readPlainScalar(reader: Reader): Json {
  const scalar = expectMatch(reader, SCALAR);
  const first = scalar.charCodeAt(0);
  if (first >= DIGIT_0 && first <= DIGIT_9) return Number(scalar);
  if (!isConstant(scalar)) return scalar;
  if (scalar === 'true' || scalar === 'false') return scalar === 'true';
  throw NOT_PLAIN;
}

function readFlowList(reader: Reader): Json[] {
  const items: Json[] = [];
  readFlow(reader, ']', () => { items.push(readValue(reader)); });
  return items;
}

function readFlowMap(reader: Reader): JsonObject {
  const object: Record<string, Json> = {};
  readFlow(reader, '}', () => {
    const key = expectMatch(reader, FLOW_KEY).trimEnd().slice(0, -1);
    define(object, key.startsWith('"') ? key.slice(1, -1) : key, readValue(reader));
  });
  return object;
}

/** A flow collection from its bracket to the one that ends it, on one line. */
function readFlow(reader: Reader, end: string, readItem: () => void): void {
  let separator: string | undefined = ',';
  advance(reader);
  if (reader.text[reader.at] === end) separator = end;
  while (separator === ',') {
    readItem();
    skipSpaces(reader);
    separator = reader.text[reader.at];
    if (separator === ',') advance(reader);
  }
  if (separator !== end) throw NOT_PLAIN;
  reader.at++;
}

function advance(reader: Reader): void {
  reader.at++;
  skipSpaces(reader);
}

function define(object: Record<string, Json>, key: string, value: Json): void {
  if (Object.hasOwn(object, key) || isForbidden(key)) throw NOT_PLAIN;
  object[key] = value;
}

/** As a key. */
function isForbidden(key: string): boolean {
  return isConstant(key) || key === '__proto__';
}

/** The set is asked only where it may know: most words are longer. */
function isConstant(word: string): boolean {
  return word.length <= 5 && CONSTANTS.has(word);
}

function deeper<T>(reader: Reader, read: (reader: Reader) => T): T {
  if (++reader.depth > MOST_DEPTH) throw NOT_PLAIN;
  const value = read(reader);
  reader.depth--;
  return value;
}

/** The text that the pattern takes. */
function expectMatch(reader: Reader, pattern: RegExp): string {
  const { text, at } = reader;
  pattern.lastIndex = at;
  if (!pattern.test(text)) throw NOT_PLAIN;
  reader.at = pattern.lastIndex;
  return text.slice(at, reader.at);
}

function skipSpaces(reader: Reader): void {
  while (reader.text.charCodeAt(reader.at) === SPACE) reader.at++;
}

/** Nothing but a comment may be left on the line. */
function endLine(reader: Reader): void {
  if (reader.text.charCodeAt(reader.at) === LINE_BREAK) reader.at++;
  else expectMatch(reader, LINE_END);
  nextLine(reader);
}

/** To the first character of the next line that has content, which is mostly the next one. */
function nextLine(reader: Reader): void {
  const { text, at } = reader;
  skipSpaces(reader);
  const next = text.charCodeAt(reader.at);
  let start = at;
  if (next === LINE_BREAK || next === HASH) {
    reader.at = at;
    expectMatch(reader, BETWEEN);
    start = text.lastIndexOf('\n', reader.at - 1) + 1;
  }
  reader.column = reader.at === text.length ? -1 : reader.at - start;
}

function countLines(text: string, end: number): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}
