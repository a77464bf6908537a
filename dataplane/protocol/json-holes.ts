/**
 * Finds where the strings of an event's data stand in its bytes: what a pattern's holes are made from. Whatever is not as plain
 * as providers usually write it is found by nobody, and read every time.
 */
import type { Hole } from './event-pattern.ts';
import { scanObject } from './json-scan.ts';
import type { JsonMember } from './json-scan.ts';

const QUOTE = 0x22;
/** A data line's beginning, at the end of the text. */
const DATA_LINE = /(?:^|[\r\n])data: ?$/;
const LONGEST_DATA_LINE_START = '\ndata: '.length;

export type Members = ReadonlyMap<string, JsonMember>;

/** Where the data begins in the event's bytes; -1: it is not one line there, as it is. */
export function findData(raw: Buffer, data: string): number {
  if (data.includes('\n')) return -1;
  const at = raw.indexOf(data);
  return DATA_LINE.test(raw.toString('latin1', Math.max(0, at - LONGEST_DATA_LINE_START), Math.max(0, at))) ? at : -1;
}

/** The members of the object that begins at `at`; undefined where there is none, or a name comes twice. Throws RequestFault where it is too deep. */
export function membersAt(raw: Buffer, at: number | undefined): Members | undefined {
  const object = at === undefined ? undefined : scanObject(raw, at);
  if (!object) return undefined;
  const members = new Map(object.members.map((member) => [member.name, member]));
  return members.size === object.members.length ? members : undefined;
}

/** The members of the first object in the list that is a member's value. */
export function membersOfFirst(raw: Buffer, list: JsonMember | undefined): Members | undefined {
  return list && membersAt(raw, list.valueStart + 1);
}

/** The text of a member's string; nothing where it is no string, or empty. */
export function textHoles(raw: Buffer, member: JsonMember | undefined, kind: Hole['kind']): Hole[] {
  if (!member || raw[member.valueStart] !== QUOTE || member.valueEnd - member.valueStart <= 2) return [];
  return [{ from: member.valueStart + 1, to: member.valueEnd - 1, kind }];
}
