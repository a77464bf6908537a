/** Writes the events of a message stream. */
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';

/** The type is in the data and in the event line. */
export function messageEvent(type: string, rest: JsonRecord): string {
  return `event: ${type}\ndata: ${writeJson({ type, ...rest })}\n\n`;
}

/** The terminal event. */
export const MESSAGE_STOP = messageEvent('message_stop', {});
