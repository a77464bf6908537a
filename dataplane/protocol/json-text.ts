/**
 * Providers' answers as values.
 */
import { asBuffer } from './bytes.ts';
import { isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';

/** Throws SyntaxError where it is no JSON object. */
export function parseAnswer(body: Uint8Array, parse: (text: string) => unknown = JSON.parse): JsonRecord {
  const value = parse(textOfBytes(body));
  if (!isRecord(value)) throw new SyntaxError('the answer is not a JSON object');
  return value;
}

/** An event's data; undefined where it is no JSON object. */
export function parseEventData(data: string): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isRecord(value) ? value : undefined;
  } catch {
    // not ours to judge: it passes through, or is left out of a conversion
    return undefined;
  }
}

export function textOfBytes(body: Uint8Array): string {
  return asBuffer(body).toString('utf8');
}
