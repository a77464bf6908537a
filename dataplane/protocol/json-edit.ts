/**
 * Edits members of a JSON object in its bytes. All other members keep their order, white space, escapes and numbers of
 * any precision, so that a request passes through losslessly although its model is renamed.
 */
import { Buffer } from 'node:buffer';
import type { JsonRecord } from './fields.ts';
import { writeJson } from './json-value.ts';
import { scanObject } from './json-scan.ts';
import type { JsonMember, JsonObject } from './json-scan.ts';

/** The new value as JSON text; undefined: the member is removed. */
export type JsonEdit = string | Uint8Array | undefined;

/** The members of an object that change, with their new values; undefined: the member is removed. */
export type ChangedMembers = ReadonlyMap<string, unknown>;

/** The edits of the object's bytes. */
export function editsOf(changed: ChangedMembers): ReadonlyMap<string, JsonEdit> {
  return new Map([...changed].map(([name, value]) => [name, value === undefined ? undefined : writeJson(value)]));
}

/** The same changes of an object that is not written yet. */
export function withChanges(object: JsonRecord, changed: ChangedMembers): JsonRecord {
  return changed.size === 0 ? object : { ...object, ...Object.fromEntries(changed) };
}

/**
 * The same object with the named members replaced, removed, or added at its end. White space around the object stays.
 * Throws SyntaxError where the bytes hold no JSON object. `scanned` spares a scan, if it is of these bytes.
 */
export function editObject(bytes: Uint8Array, edits: ReadonlyMap<string, JsonEdit>, scanned?: JsonObject): Uint8Array {
  if (edits.size === 0) return bytes;
  const object = scanned?.bytes === bytes ? scanned : scanObject(bytes);
  if (!object) throw new SyntaxError('not a JSON object');
  const pieces: Uint8Array[] = [];
  let copiedTo = 0;
  for (const { from, to, text } of listChanges(object, edits)) {
    pieces.push(bytes.subarray(copiedTo, from), Buffer.from(text));
    copiedTo = to;
  }
  return Buffer.concat([...pieces, bytes.subarray(copiedTo)]);
}

/** The bytes from `from` to `to` become this text. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string | Uint8Array;
}

/** In the order of the bytes. */
function listChanges({ start, members }: JsonObject, edits: ReadonlyMap<string, JsonEdit>): readonly Change[] {
  const changes: Change[] = [];
  const missing = new Map(edits);
  let kept = 0;
  for (const [index, member] of members.entries()) {
    missing.delete(member.name);
    const edit = edits.get(member.name);
    const removed = edit === undefined && edits.has(member.name);
    if (edit !== undefined) changes.push({ from: member.valueStart, to: member.valueEnd, text: edit });
    if (removed) changes.push(removeMember(members, index, kept > 0));
    else kept++;
  }
  const end = members.at(-1)?.valueEnd ?? start + 1;
  return [...changes, { from: end, to: end, text: writeMembers(missing, kept > 0) }];
}

/** Removes the comma before the member, or the one after it if no member precedes. */
function removeMember(members: readonly JsonMember[], index: number, follows: boolean): Change {
  const [before, member, after] = [members[index - 1], members[index], members[index + 1]];
  const { nameStart = 0, valueEnd = 0 } = member ?? {};
  const [from, to] = follows ? [before?.valueEnd ?? nameStart, valueEnd] : [nameStart, after?.nameStart ?? valueEnd];
  return { from, to, text: '' };
}

function writeMembers(edits: ReadonlyMap<string, JsonEdit>, follows: boolean): string {
  const written = [...edits]
    .filter(([, edit]) => edit !== undefined)
    .map(([name, edit]) => `${JSON.stringify(name)}:${Buffer.from(edit ?? '').toString('utf8')}`);
  return (written.length > 0 && follows ? ',' : '') + written.join(',');
}

/** One member's value as its own bytes; undefined: there is none of this name. */
export function memberBytes(bytes: Uint8Array, name: string): Uint8Array | undefined {
  const member = scanObject(bytes)?.members.find((candidate) => candidate.name === name);
  return member && bytes.subarray(member.valueStart, member.valueEnd);
}
