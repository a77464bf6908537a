/**
 * Parses a request body; errors describe the fault without quoting the body. It is stricter than JSON where two parsers
 * could read different requests with different prices: it refuses duplicate members at any depth, and names of the body
 * and the objects in it that differ only in case from one that is read, which some JSON libraries ignore.
 */
import { RequestFault } from './call-facts.ts';
import { isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { refuseFoldedFields } from './folded-names.ts';
import { checkSize, findDuplicate, findSyntaxFault, scanObject } from './json-scan.ts';
import type { JsonObject } from './json-scan.ts';
import { parseJson } from './parse-json.ts';

/** A body as a value, and the positions of its members. */
export interface ReadBody {
  readonly parsed: JsonRecord;
  readonly scanned: JsonObject | undefined;
}

/** The value alone. Throws as `readBody` does. */
export function parseBody(bytes: Uint8Array): JsonRecord {
  return readBody(bytes).parsed;
}

/**
 * Throws RequestFault: invalid_json with the position, invalid_request for duplicate or ambiguous members.
 * @param scan of these bytes, if they have been scanned already
 */
export function readBody(bytes: Uint8Array, scan?: JsonObject): ReadBody {
  if (bytes.length === 0) throw new RequestFault('invalid_json', 'The body is empty; it must be a JSON object.');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    throw new RequestFault('invalid_json', 'The body starts with a byte order mark; send UTF-8 without one.');
  // before anything is parsed: deep nesting and many values make a small body expensive
  const object = scan ?? scanObject(bytes);
  if (!object) checkSize(bytes);
  const parsed = parseText(bytes);
  if (!isRecord(parsed)) throw new RequestFault('invalid_json', 'The body must be a JSON object.');
  if (object) checkNames(bytes, object, parsed);
  return { parsed, scanned: object };
}

function parseText(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  try {
    return parseJson(text);
  } catch {
    const offset = findSyntaxFault(bytes) ?? bytes.length;
    const what = offset >= bytes.length ? 'it ends too early, at' : 'unexpected';
    throw new RequestFault('invalid_json', `The body is not valid JSON: ${what} ${describePosition(bytes, offset)}.`);
  }
}

/** "byte 17 (line 2, column 4)", counted from 1. */
function describePosition(bytes: Uint8Array, offset: number): string {
  let line = 1;
  let lineStart = 0;
  for (let at = bytes.indexOf(0x0a); at >= 0 && at < offset; at = bytes.indexOf(0x0a, at + 1)) {
    line++;
    lineStart = at + 1;
  }
  return `byte ${offset + 1} (line ${line}, column ${offset - lineStart + 1})`;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new RequestFault('invalid_json', 'The body is not valid UTF-8.');
  }
}

function checkNames(bytes: Uint8Array, object: JsonObject, parsed: JsonRecord): void {
  // parsing keeps the last of several members of one name, so that the value has fewer than the text
  if (countMembers(parsed) !== object.memberCount) throw givenTwice(findDuplicate(bytes) ?? '');
  refuseFoldedFields(parsed);
}

/** Members of a value and of everything within it. */
function countMembers(value: object): number {
  const pending: object[] = [value];
  let count = 0;
  for (let container = pending.pop(); container; container = pending.pop()) {
    const values: readonly unknown[] = Array.isArray(container) ? container : Object.values(container);
    if (!Array.isArray(container)) count += values.length;
    for (const inner of values) if (typeof inner === 'object' && inner !== null) pending.push(inner);
  }
  return count;
}

function givenTwice(param: string): RequestFault {
  const path = param.length > 100 ? `${param.slice(0, 100)}…` : param;
  return new RequestFault('invalid_request', `The field "${path}" is given twice.`, path);
}
