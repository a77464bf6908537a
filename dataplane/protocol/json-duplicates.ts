/**
 * Members that are given twice in one object, at any depth: readers disagree on which of them counts, and so on what was asked and
 * what it costs. Told by numbers first: a text has as many colons outside its strings as the value made of it has members.
 */
import { isRecord } from './fields.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Members of a parsed value and of everything in it. */
export function countMembers(value: object): number {
  const pending: object[] = [value];
  let count = 0;
  for (let container = pending.pop(); container; container = pending.pop()) {
    if (Array.isArray(container)) for (const item of container) pushContainer(pending, item);
    else if (isRecord(container)) {
      for (const name of Object.keys(container)) {
        count++;
        pushContainer(pending, container[name]);
      }
    }
  }
  return count;
}

function pushContainer(pending: object[], value: unknown): void {
  if (typeof value === 'object' && value !== null) pending.push(value);
}

/** An object's names so far, or how far an array has come. */
interface Level {
  readonly names: Set<string> | undefined;
  index: number;
  name: string;
}

/** The path of the first one, of a text that is JSON; undefined: there is none. */
export function findDuplicate(bytes: Uint8Array): string | undefined {
  const levels: Level[] = [];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const end = endOfString(bytes, at);
      if (isName(bytes, end) && isTaken(levels.at(-1), nameOf(bytes, at, end))) return pathOf(levels);
      at = end - 1;
    } else step(levels, byte);
  }
  return undefined;
}

function step(levels: Level[], byte: number | undefined): void {
  if (byte === OPEN_BRACE) levels.push({ names: new Set(), index: 0, name: '' });
  else if (byte === OPEN_BRACKET) levels.push({ names: undefined, index: 0, name: '' });
  else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) levels.pop();
  else if (byte === COMMA) {
    const level = levels.at(-1);
    if (level) level.index++;
  }
}

function isTaken(level: Level | undefined, name: string): boolean {
  if (!level?.names) return false;
  level.name = name;
  return level.names.size === level.names.add(name).size;
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

function isName(bytes: Uint8Array, end: number): boolean {
  let at = end;
  while (at < bytes.length && (bytes[at] ?? 0) <= 0x20) at++;
  return bytes[at] === COLON;
}

function nameOf(bytes: Uint8Array, start: number, end: number): string {
  return String(JSON.parse(Buffer.from(bytes.subarray(start, end)).toString('utf8')));
}

function pathOf(levels: readonly Level[]): string {
  return levels.map(({ names, name, index }) => (names ? `.${name}` : `[${index}]`)).join('').replace(/^\./, '');
}
