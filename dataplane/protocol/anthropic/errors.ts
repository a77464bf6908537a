/**
 * Anthropic's error envelope, as a response body and as the last event of a stream.
 */
import type { JsonRecord } from '../fields.ts';
import { isErrorObject } from '../provider-errors.ts';
import { writeEvent } from '../sse.ts';

export interface AnthropicError {
  readonly message: string;
  readonly type: string;
  readonly requestId?: string;
  readonly errorCode?: string | undefined;
}

export function writeAnthropicBody({ message, type, requestId, errorCode }: AnthropicError): Uint8Array {
  const details = errorCode === undefined ? undefined : { error_code: errorCode };
  return Buffer.from(
    JSON.stringify({ type: 'error', error: { type, message, details }, request_id: requestId ?? null }),
  );
}

export function writeAnthropicEvent(error: AnthropicError): Uint8Array {
  return writeEvent(Buffer.from(writeAnthropicBody(error)).toString('utf8'), 'error');
}

/** Whether a body or the data of an event is an error, whatever stands beside it. */
export function isAnthropicError(data: JsonRecord): boolean {
  return data['type'] === 'error' || isErrorObject(data);
}
