/**
 * [P] The YAML that nearly all manifests are written in, read thirty times as fast as by a whole YAML parser, so that ten thousand
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
const MOST_DEPTH = 32;

/** Characters that mean the same in every part of a line. */
const TEXT = '\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff';
/** Empty lines, comments, and the indentation of the line that follows them. */
const BETWEEN = new RegExp(`(?: *(?:#[${TEXT}]*)?\\n)* *`, 'y');
const LINE_END = new RegExp(`(?: +(?:#[${TEXT}]*)?)?(?:\\n|$)`, 'y');
/** A key of up to 100 characters, which is far from the thousand after which YAML wants a question mark. */
const BLOCK_KEY = /([A-Za-z][\w./-]{0,99}):(?: +(?=[^ #\n])|(?= *(?:\n|#)))/y;
const FLOW_KEY = /(?:([A-Za-z][\w./-]{0,99}): +|"([\w./-]{1,100})": *)/y;
/** Words, a letter or slash first, then nothing that could end a scalar, in a flow collection neither; or a whole number. */
const SCALAR = /[A-Za-z/](?:[\w./@+=-]|[: ](?=[\w./@+=-]))*|(?:0|[1-9]\d{0,14})(?=[ \n,\]}]|$)/y;
const FIRST_DIGIT = /^\d/;
const DOUBLE_QUOTED = new RegExp(`"((?:(?!["\\\\])[${TEXT}])*)"`, 'y');
const SINGLE_QUOTED = new RegExp(`'((?:(?!')[${TEXT}])*)'`, 'y');
/** Words that are no text, or are to some parsers. */
const CONSTANT = /^(?:true|false|null|__proto__)$/i;

function readDocument(reader: Reader): JsonObject {
  const isFlow = reader.text[reader.at] === '{';
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
    const key = expectMatch(reader, BLOCK_KEY)[1] ?? '';
    define(object, key, readEntry(reader, column));
  } while (reader.column === column);
  if (reader.column > column) throw NOT_PLAIN;
  return object;
}

/** What follows a key: on its line, or on further lines below it. */
function readEntry(reader: Reader, column: number): Json {
  const first = reader.text[reader.at];
  if (first !== '\n' && first !== ' ' && first !== '#') return readLineRest(reader);
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

/** "- " and something on the same line. */
function startsItem({ text, at }: Reader): boolean {
  return text[at] === '-' && text[at + 1] === ' ';
}

function atBlockKey({ text, at }: Reader): boolean {
  BLOCK_KEY.lastIndex = at;
  return BLOCK_KEY.test(text);
}

function readLineRest(reader: Reader): Json {
  const value = readValue(reader);
  endLine(reader);
  return value;
}

function readValue(reader: Reader): Json {
  switch (reader.text[reader.at]) {
    case '{': return deeper(reader, readFlowMap);
    case '[': return deeper(reader, readFlowList);
    case '"': return expectMatch(reader, DOUBLE_QUOTED)[1] ?? '';
    case '\'': return expectMatch(reader, SINGLE_QUOTED)[1] ?? '';
    default: return readPlainScalar(reader);
  }
}

function readPlainScalar(reader: Reader): Json {
  const [scalar] = expectMatch(reader, SCALAR);
  if (FIRST_DIGIT.test(scalar)) return Number(scalar);
  if (!CONSTANT.test(scalar)) return scalar;
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
    const [, plain, quoted = ''] = expectMatch(reader, FLOW_KEY);
    define(object, plain ?? quoted, readValue(reader));
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
  if (CONSTANT.test(key) || Object.hasOwn(object, key)) throw NOT_PLAIN;
  object[key] = value;
}

function deeper<T>(reader: Reader, read: (reader: Reader) => T): T {
  if (++reader.depth > MOST_DEPTH) throw NOT_PLAIN;
  const value = read(reader);
  reader.depth--;
  return value;
}

function expectMatch(reader: Reader, pattern: RegExp): RegExpExecArray {
  pattern.lastIndex = reader.at;
  const match = pattern.exec(reader.text);
  if (!match) throw NOT_PLAIN;
  reader.at = pattern.lastIndex;
  return match;
}

function skipSpaces(reader: Reader): void {
  while (reader.text[reader.at] === ' ') reader.at++;
}

/** Nothing but a comment may be left on the line. */
function endLine(reader: Reader): void {
  expectMatch(reader, LINE_END);
  nextLine(reader);
}

function nextLine(reader: Reader): void {
  expectMatch(reader, BETWEEN);
  const isEnd = reader.at === reader.text.length;
  reader.column = isEnd ? -1 : reader.at - reader.text.lastIndexOf('\n', reader.at - 1) - 1;
}

function countLines(text: string, end: number): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}
