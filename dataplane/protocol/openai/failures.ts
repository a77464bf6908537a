/**
 * Tells failures from responses: an error counts whatever stands beside it, since providers send one in a chunk with
 * choices, beside an empty delta or as a text.
 */
import { FailedResponse } from '../failed-response.ts';
import type { ValueTable } from '../field-table.ts';
import { isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { isErrorObject, readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';

/** Throws FailedResponse if a whole response is an error. */
export function throwIfError(response: JsonRecord): void {
  if (isErrorObject(response)) throw new FailedResponse(readStreamError(response));
}

/** Whether an event of a Responses stream is an error, or data of another kind is one, as in chat streams. */
export function isErrorEvent(event: Pick<SseEvent, 'event'>, data: JsonRecord | undefined, type: string): boolean {
  return event.event === 'error' || type === 'error' || (data !== undefined && type === '' && isErrorObject(data));
}

/** Whether a chunk is an error, or has a finish_reason of `failures`. */
export function isFailedChunk(chunk: JsonRecord, failures: ValueTable): boolean {
  return isErrorObject(chunk) || failureReason(chunk, failures) !== undefined;
}

/** What readStreamError takes: the chunk, or an error of the type that `failures` has for its finish_reason. */
export function failedChunkError(chunk: unknown, failures: ValueTable): unknown {
  const reason = isRecord(chunk) && !isErrorObject(chunk) ? failureReason(chunk, failures) : undefined;
  return reason === undefined
    ? chunk
    : { error: { type: failures.values.get(reason), message: `The provider broke the answer off: ${reason}.` } };
}

function failureReason({ choices }: JsonRecord, { values }: ValueTable): string | undefined {
  const first: unknown = itemsOf(choices)[0];
  const reason = isRecord(first) ? textOf(first['finish_reason']) : undefined;
  return reason !== undefined && values.has(reason) ? reason : undefined;
}
