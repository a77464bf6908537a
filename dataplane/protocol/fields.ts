/**
 * Reads fields of untrusted values.
 */
import { Buffer } from 'node:buffer';
import { RequestFault } from './call-facts.ts';

export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object; an empty one, if it is anything else. */
export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

/** The items of an array; none, if it is anything else. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A string that is not empty; undefined, if it is anything else. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A string; empty, if it is anything else. */
export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function utf8Bytes(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0;
}

/** The size of a base64 text's data at most, in bytes; 0 for anything but a string. */
export function base64Bytes(value: unknown): number {
  return Math.ceil((utf8Bytes(value) * 3) / 4);
}

/** null counts as absent, as in both APIs. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function readModel(parsed: JsonRecord): string {
  const { model } = parsed;
  if (typeof model !== 'string' || model === '')
    throw new RequestFault('invalid_request', 'The field "model" must be the name of a model.', 'model');
  return model;
}

/** Absent: false. */
export function readFlag(value: unknown, param: string): boolean {
  if (!isGiven(value)) return false;
  if (typeof value !== 'boolean')
    throw new RequestFault('invalid_request', `The field "${param}" must be true or false.`, param);
  return value;
}

/** A whole number from `min` to `max`; undefined: absent. */
export function readCount(value: unknown, param: string, bounds: readonly [number, number]): number | undefined {
  if (!isGiven(value)) return undefined;
  const [min, max] = bounds;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new RequestFault('invalid_request', `The field "${param}" must be a whole number ${range}.`, param);
  }
  return value;
}

/** The messages of a chat, each an object. */
export function readMessages(parsed: JsonRecord): readonly JsonRecord[] {
  const { messages } = parsed;
  if (!Array.isArray(messages) || messages.length === 0)
    throw new RequestFault(
      'invalid_request',
      'The field "messages" must be a list of at least one message.',
      'messages',
    );
  return readRecords(messages, 'messages');
}

/** A list of objects; absent: none. */
export function readRecords(value: unknown, param: string): readonly JsonRecord[] {
  if (!isGiven(value)) return [];
  if (!Array.isArray(value)) throw new RequestFault('invalid_request', `The field "${param}" must be a list.`, param);
  const items: readonly unknown[] = value;
  return items.map((item, index) => {
    if (isRecord(item)) return item;
    throw new RequestFault(
      'invalid_request',
      `The field "${param}[${index}]" must be an object.`,
      `${param}[${index}]`,
    );
  });
}
