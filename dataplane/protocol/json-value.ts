/**
 * JSON as values. A converted call must not round a number that a double cannot hold, such as an id in a tool's
 * arguments: the lossless functions keep such numbers as raw JSON, which JSON.stringify writes as they were.
 */
import { decodeUtf8 } from './bytes.ts';
import { isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { parseJson } from './parse-json.ts';

/**
 * Matches every number that a double may not hold: many digits, or an exponent. A match within a string only costs
 * time.
 */
const UNSAFE_NUMBER = /\d{16}|\d[eE]/;

declare global {
  // in the engine, and not yet in the compiler's library
  interface JSON {
    rawJSON(text: string): object;
  }
}

/** A provider's response. Throws SyntaxError where it is no JSON object. */
export function parseObject(body: Uint8Array, parse: (text: string) => unknown = parseJson): JsonRecord {
  const value = parse(decodeUtf8(body));
  if (!isRecord(value)) throw new SyntaxError('the response is not a JSON object');
  return value;
}

/** Parses an event's data; undefined: it is not a JSON object. */
export function parseEventData(data: string): JsonRecord | undefined {
  try {
    const value: unknown = parseJson(data);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A request body parsed again with its numbers as they are; `parsed` itself where that makes no difference. */
export function reparseLosslessly(body: Uint8Array, parsed: JsonRecord): JsonRecord {
  const text = decodeUtf8(body);
  if (!UNSAFE_NUMBER.test(text)) return parsed;
  const value = parseLossless(text);
  return isRecord(value) ? value : parsed;
}

/** Throws SyntaxError. */
export function parseLossless(text: string): unknown {
  if (!UNSAFE_NUMBER.test(text)) return parseJson(text);
  return asSyntaxError(() => parseJson(text, keepNumber));
}

/** Throws SyntaxError where the value nests too deeply to be written. */
export function writeJson(value: unknown): string {
  return asSyntaxError(() => JSON.stringify(value));
}

/** Both functions of JSON recurse, and exhaust the stack on a value that nests too deeply. */
function asSyntaxError<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxError('nested too deeply', { cause: error });
    throw error;
  }
}

/** A reviver; the engine passes the number's source text along. */
function keepNumber(_key: string, value: unknown, ...[context]: unknown[]): unknown {
  const source = isRecord(context) ? context['source'] : undefined;
  return typeof value !== 'number' || typeof source !== 'string' || isExact(value, source)
    ? value
    : JSON.rawJSON(source);
}

/** A double holds fifteen significant digits of any number within its range. */
function isExact(value: number, source: string): boolean {
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '');
  if (value === 0 || !Number.isFinite(value)) return digits === '';
  return digits.length <= 15 || String(value) === source;
}
