/**
 * JSON values that keep numbers which a JavaScript number cannot hold: a converted call must not round an id in a tool's
 * arguments. Such numbers become raw JSON, which JSON.stringify writes as it was.
 */

import { isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { textOfBytes } from './json-text.ts';

/** A number that may not survive: many digits, or an exponent. Also found within strings, where it only costs time. */
const DELICATE = /\d{16}|\d[eE]/;

declare global {
  // in the engine, and not yet in the compiler's library
  interface JSON {
    rawJSON(text: string): object;
  }
}

/** A request's value once more, with its numbers as they are; the plain one where that makes no difference. */
export function parsedLosslessly(body: Uint8Array, parsed: JsonRecord): JsonRecord {
  const text = textOfBytes(body);
  if (!DELICATE.test(text)) return parsed;
  const value = parseLossless(text);
  return isRecord(value) ? value : parsed;
}

/** Throws SyntaxError. */
export function parseLossless(text: string): unknown {
  if (!DELICATE.test(text)) return JSON.parse(text);
  try {
    return JSON.parse(text, keepNumber);
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxError('nested too deeply', { cause: error });
    throw error;
  }
}

/** Throws SyntaxError where the value nests too deeply to be written. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxError('nested too deeply', { cause: error });
    throw error;
  }
}

/** A reviver; the engine passes the number's own text along. */
function keepNumber(_key: string, value: unknown, ...[context]: unknown[]): unknown {
  const source = isRecord(context) ? context['source'] : undefined;
  return typeof value !== 'number' || typeof source !== 'string' || survives(value, source) ? value : JSON.rawJSON(source);
}

/** A double holds fifteen significant digits of any number, within its range. */
function survives(value: number, source: string): boolean {
  const digits = source.replace(/[eE].*$/, '').replace(/\D/g, '').replace(/^0+/, '');
  if (value === 0 || !Number.isFinite(value)) return digits === '';
  return digits.length <= 15 || String(value) === source;
}
