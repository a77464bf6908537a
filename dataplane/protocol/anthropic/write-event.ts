/**
 * Writes the events of a message stream.
 */
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import { writeEvent } from '../sse.ts';

/** The type is in the data and in the event line. */
export function writeMessageEvent(type: string, rest: JsonRecord): Uint8Array {
  return writeEvent(writeJson({ type, ...rest }), type);
}

/** The terminal event. */
export const MESSAGE_STOP: Uint8Array = writeMessageEvent('message_stop', {});
