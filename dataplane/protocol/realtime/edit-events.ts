/** Changes events of sessions in their bytes: names of models, ids of events; and writes the gateway's own events. */
import { Buffer } from 'node:buffer';
import type { JsonRecord } from '../fields.ts';
import { editObject, memberBytes } from '../json-edit.ts';
import type { JsonEdit } from '../json-edit.ts';
import type { JsonObject } from '../json-scan.ts';

/** The event with another id. */
export function withEventId(event: Uint8Array, eventId: string, scanned?: JsonObject): Uint8Array {
  return editObject(event, new Map([['event_id', JSON.stringify(eventId)]]), scanned);
}

/** The event whose session has this model. */
export function withModel(event: Uint8Array, model: string): Uint8Array {
  const session = memberBytes(event, 'session');
  if (!session) return event;
  const edits = new Map<string, JsonEdit>([['model', JSON.stringify(model)]]);
  return editObject(event, new Map([['session', editObject(session, edits)]]));
}

/** An error of a session. */
export interface RealtimeError {
  readonly eventId: string;
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
  readonly param: string | null;
  /** The client's event that is at fault; null: none, or it has no id. */
  readonly causedBy: string | null;
}

export function writeError({ eventId, type, code, message, param, causedBy }: RealtimeError): Uint8Array {
  const error = { type, code, message, param, event_id: causedBy };
  return Buffer.from(JSON.stringify({ type: 'error', event_id: eventId, error }));
}

/** A provider's error about an event to which the gateway gave its id. */
export function withoutCause(event: Uint8Array, error: JsonRecord): Uint8Array {
  return editObject(event, new Map([['error', JSON.stringify({ ...error, event_id: null })]]));
}

/** Ends a response before its end; the provider reports what it has used. */
export function cancelEvent(responseId: string): Uint8Array {
  return Buffer.from(JSON.stringify({ type: 'response.cancel', response_id: responseId }));
}
