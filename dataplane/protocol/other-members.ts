/**
 * What a body has beside the inputs that are counted one by one. A provider may read it with each of them, as an
 * instruction or a policy.
 */
import { Buffer } from 'node:buffer';
import type { JsonRecord } from './fields.ts';
import { scanObject } from './json-scan.ts';

/** The bytes of the body without the values of these members. */
export function otherBytes(body: Uint8Array, names: ReadonlySet<string>): number {
  const members = scanObject(body)?.members ?? [];
  return members.reduce(
    (left, { name, valueStart, valueEnd }) => (names.has(name) ? left - (valueEnd - valueStart) : left),
    body.length,
  );
}

/** The bytes of the texts, and of what may hold texts, in all members but these. */
export function otherTextBytes(parsed: JsonRecord, names: ReadonlySet<string>): number {
  const others = Object.entries(parsed).filter(([name]) => !names.has(name));
  return others.reduce((sum, [, value]) => sum + textBytes(value), 0);
}

function textBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  return typeof value === 'object' && value !== null ? Buffer.byteLength(JSON.stringify(value)) : 0;
}
