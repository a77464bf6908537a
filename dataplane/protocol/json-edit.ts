/**
 * Changes members of a JSON object in its bytes: what is not named stays exactly as it was, with its order, white space, escapes
 * and numbers of any precision. This is how a request passes through losslessly although its model is renamed.
 */
import { Buffer } from 'node:buffer';
import { scanObject } from './json-scan.ts';
import type { JsonMember, JsonObject } from './json-scan.ts';

/** The new value as JSON text, or undefined: the member is taken out. */
export type JsonEdit = string | Uint8Array | undefined;

/**
 * The same object with the named members replaced, added at its end, or removed. White space around the object stays.
 * Throws SyntaxError where the bytes hold no JSON object. `scanned`: spares a scan, if it is of these bytes.
 */
export function editObject(bytes: Uint8Array, edits: ReadonlyMap<string, JsonEdit>, scanned?: JsonObject): Uint8Array {
  if (edits.size === 0) return bytes;
  const object = scanned?.bytes === bytes ? scanned : scanObject(bytes);
  if (!object) throw new SyntaxError('not a JSON object');
  if (!object.members.some(({ name }) => edits.has(name))) return appendMembers(bytes, object, edits);
  const pieces: Uint8Array[] = [bytes.subarray(0, object.start + 1)];
  const kept = keepMembers(bytes, object, edits, pieces);
  const added = addMembers(object, edits, kept);
  if (added !== '') pieces.push(Buffer.from(added));
  pieces.push(bytes.subarray(object.members.at(-1)?.valueEnd ?? object.start + 1));
  return Buffer.concat(pieces);
}

/** The usual edit: nothing changes that is there. */
function appendMembers(bytes: Uint8Array, object: JsonObject, edits: ReadonlyMap<string, JsonEdit>): Uint8Array {
  let added = '';
  for (const [name, edit] of edits) {
    if (edit === undefined) continue;
    const comma = added === '' && object.members.length === 0 ? '' : ',';
    added += `${comma}${JSON.stringify(name)}:${typeof edit === 'string' ? edit : Buffer.from(edit).toString('utf8')}`;
  }
  const at = object.members.at(-1)?.valueEnd ?? object.start + 1;
  const addedBytes = Buffer.byteLength(added);
  const edited = Buffer.allocUnsafe(bytes.length + addedBytes);
  edited.set(bytes);
  edited.copyWithin(at + addedBytes, at, bytes.length);
  edited.write(added, at);
  return edited;
}

/** One member's own bytes; undefined where it is not there. */
export function memberBytes(bytes: Uint8Array, name: string): Uint8Array | undefined {
  const member = scanObject(bytes)?.members.find((candidate) => candidate.name === name);
  return member && bytes.subarray(member.valueStart, member.valueEnd);
}

/** Appends the members that stay, with their separators; returns how many there are. */
function keepMembers(bytes: Uint8Array, object: JsonObject, edits: ReadonlyMap<string, JsonEdit>, pieces: Uint8Array[]): number {
  let kept = 0;
  for (const [index, member] of object.members.entries()) {
    const edit = edits.get(member.name);
    if (edit === undefined && edits.has(member.name)) continue;
    // the first that stays takes over the opening white space; later ones bring their own comma
    pieces.push(kept === 0 ? leadingSpace(bytes, object) : bytes.subarray(object.members[index - 1]?.valueEnd, member.nameStart));
    pieces.push(...memberPieces(bytes, member, edit));
    kept++;
  }
  return kept;
}

function leadingSpace(bytes: Uint8Array, object: JsonObject): Uint8Array {
  return bytes.subarray(object.start + 1, object.members[0]?.nameStart);
}

function memberPieces(bytes: Uint8Array, member: JsonMember, edit: JsonEdit): Uint8Array[] {
  if (edit === undefined) return [bytes.subarray(member.nameStart, member.valueEnd)];
  return [bytes.subarray(member.nameStart, member.valueStart), typeof edit === 'string' ? Buffer.from(edit) : edit];
}

function addMembers(object: JsonObject, edits: ReadonlyMap<string, JsonEdit>, kept: number): string {
  const present = new Set(object.members.map((member) => member.name));
  const added = [...edits].filter(([name, edit]) => edit !== undefined && !present.has(name))
    .map(([name, edit]) => `${JSON.stringify(name)}:${typeof edit === 'string' ? edit : Buffer.from(edit ?? []).toString('utf8')}`);
  return added.length > 0 && kept > 0 ? `,${added.join(',')}` : added.join(',');
}
