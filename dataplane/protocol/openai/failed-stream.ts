/** The end of a stream of the Responses dialect that has failed: clients know no other end than an event with its type. */
import type { StreamFailure } from '../converter.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import { writeEvent } from '../sse.ts';
import { repeatedFields } from './repeated-fields.ts';

/** What is known of the response so far. */
export interface SeenResponse {
  /** As its latest event has it; undefined: none has come. */
  readonly response: JsonRecord | undefined;
  /** The number of the latest event. */
  readonly sequenceNumber: number;
}

interface Call {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: string;
}

/** The events that end a stream of which no event was sent: clients take none before the first one. */
export function writeFailedStream({ id, createdSeconds, model }: Call, failure: StreamFailure): Uint8Array {
  const response = {
    id: `resp_${id.replace(/^req_/, '')}`,
    object: 'response',
    created_at: createdSeconds,
    completed_at: null,
    status: 'in_progress',
    model,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
    service_tier: 'auto',
    ...repeatedFields({}),
  };
  const created = { type: 'response.created', sequence_number: 0, response };
  return Buffer.concat([
    writeEvent(writeJson(created), created.type),
    writeEvent(writeJson(failedResponse({ response, sequenceNumber: 0 }, failure)), 'response.failed'),
  ]);
}

/** The last event's data: the response as far as it came, as failed. */
export function failedResponse({ response, sequenceNumber }: SeenResponse, failure: StreamFailure): JsonRecord {
  return {
    type: 'response.failed',
    sequence_number: sequenceNumber + 1,
    response: { ...response, status: 'failed', error: { code: failure.code, message: failure.message } },
  };
}

/** For a response that its provider goes on with: the stream has failed, and the response has not. */
export function writeStreamError({ sequenceNumber }: SeenResponse, message: string): Uint8Array {
  const data = { type: 'error', code: 'upstream_error', message, param: null, sequence_number: sequenceNumber + 1 };
  return writeEvent(writeJson(data), 'error');
}
