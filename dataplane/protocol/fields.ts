/**
 * Reads fields of values that anybody may have written.
 */
import { Buffer } from 'node:buffer';
import { RequestFault } from './call-facts.ts';

export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The array, or nothing. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A string that says something. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A word such as `type`; anything else is none. */
export function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function utf8Bytes(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0;
}

/** null counts as absent, as both APIs have it. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function readModel(parsed: JsonRecord): string {
  const { model } = parsed;
  if (typeof model !== 'string' || model === '') throw new RequestFault('invalid_request', 'The field "model" must be the name of a model.', 'model');
  return model;
}

/** Absent: false. */
export function readFlag(value: unknown, param: string): boolean {
  if (!isGiven(value)) return false;
  if (typeof value !== 'boolean') throw new RequestFault('invalid_request', `The field "${param}" must be true or false.`, param);
  return value;
}

/** A whole number from `least` to `most`; undefined: absent. */
export function readCount(value: unknown, param: string, bounds: readonly [number, number]): number | undefined {
  if (!isGiven(value)) return undefined;
  const [least, most] = bounds;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most) {
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    throw new RequestFault('invalid_request', `The field "${param}" must be a whole number ${range}.`, param);
  }
  return value;
}

/** The messages of a chat, each an object. */
export function readMessages(parsed: JsonRecord): readonly JsonRecord[] {
  const { messages } = parsed;
  if (!Array.isArray(messages) || messages.length === 0)
    throw new RequestFault('invalid_request', 'The field "messages" must be a list of at least one message.', 'messages');
  return readRecords(messages, 'messages');
}

/** A list of objects; absent: none. */
export function readRecords(value: unknown, param: string): readonly JsonRecord[] {
  if (!isGiven(value)) return [];
  if (!Array.isArray(value)) throw new RequestFault('invalid_request', `The field "${param}" must be a list.`, param);
  const items: readonly unknown[] = value;
  return items.map((item, index) => {
    if (isRecord(item)) return item;
    throw new RequestFault('invalid_request', `The field "${param}[${index}]" must be an object.`, `${param}[${index}]`);
  });
}
