/**
 * The events that a stream of a message is made of.
 */
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import { writeEvent } from '../sse.ts';

/** Each event's line says its type once more. */
export function writeMessageEvent(type: string, rest: JsonRecord): Uint8Array {
  return writeEvent(writeJson({ type, ...rest }), type);
}

/** The terminal event. */
export const MESSAGE_STOP: Uint8Array = writeMessageEvent('message_stop', {});
