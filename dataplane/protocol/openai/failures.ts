/**
 * Tells failures from responses: an error counts whatever stands beside it, since providers send one in a chunk with
 * choices, beside an empty delta or as a text.
 */
import type { ValueTable } from '../field-table.ts';
import { isGiven, isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { SseEvent } from '../sse.ts';

/** Whether a body or a chunk is an error. vLLM marks its own as an `object`. */
export function isErrorObject({ error, object }: JsonRecord): boolean {
  if (object === 'error') return true;
  return isRecord(error) ? Object.keys(error).length > 0 : textOf(error) !== undefined;
}

/** Whether an event of a Responses stream is an error, or data of another kind is one, as in chat streams. */
export function isErrorEvent(event: Pick<SseEvent, 'event'>, data: JsonRecord | undefined, type: string): boolean {
  return event.event === 'error' || type === 'error' || (data !== undefined && type === '' && isGiven(data['error']));
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
