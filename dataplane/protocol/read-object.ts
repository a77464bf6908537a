/** Reads an object out of bytes that hold more, or less, than JSON. */
import type { Buffer } from 'node:buffer';
import { decodeUtf8 } from './bytes.ts';
import { isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { scanObject } from './json-scan.ts';
import { parseJson } from './parse-json.ts';

/** The object that starts there; undefined: there is none, it is cut off, or it is not JSON. */
export function readObjectAt(text: Buffer, from: number): JsonRecord | undefined {
  try {
    const object = scanObject(text, from);
    const value: unknown = object && parseJson(decodeUtf8(text.subarray(object.start, object.end)));
    return isRecord(value) ? value : undefined;
  } catch {
    // cut off, or not JSON
    return undefined;
  }
}
