/** Changes events of sessions in their bytes: names of models, limits of output, ids of events; and writes the gateway's own events. */
import { Buffer } from 'node:buffer';
import type { JsonRecord } from '../fields.ts';
import { editObject, editsOf, memberBytes } from '../json-edit.ts';
import type { ChangedMembers } from '../json-edit.ts';
import type { JsonObject } from '../json-scan.ts';

/** The event with another id. */
export function withEventId(event: Uint8Array, eventId: string, scanned?: JsonObject): Uint8Array {
  return editObject(event, new Map([['event_id', JSON.stringify(eventId)]]), scanned);
}

/** The event whose session or response has these values. */
export function withValues(event: Uint8Array, name: 'session' | 'response', values: ChangedMembers): Uint8Array {
  const member = values.size === 0 ? undefined : memberBytes(event, name);
  return member ? editObject(event, new Map([[name, editObject(member, editsOf(values))]])) : event;
}

/** Limits the output of the session's responses. */
export function limitEvent(eventId: string, maxOutputTokens: number): Uint8Array {
  const session = { type: 'realtime', max_output_tokens: maxOutputTokens };
  return Buffer.from(JSON.stringify({ type: 'session.update', event_id: eventId, session }));
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

/** A provider's error about an event to which the gateway gave its id, with the client's; null: it has none. */
export function withCause(event: Uint8Array, error: JsonRecord, causedBy: string | null): Uint8Array {
  return editObject(event, new Map([['error', JSON.stringify({ ...error, event_id: causedBy })]]));
}

/** Ends a response before its end; the provider reports what it has used. */
export function cancelEvent(eventId: string, responseId: string): Uint8Array {
  return Buffer.from(JSON.stringify({ type: 'response.cancel', event_id: eventId, response_id: responseId }));
}
