/**
 * Anthropic's error envelope, as a body and as the last event of a stream that has begun.
 */
import { writeEvent } from '../sse.ts';

export interface AnthropicError {
  readonly message: string;
  readonly type: string;
  readonly requestId?: string;
}

export function writeAnthropicBody({ message, type, requestId }: AnthropicError): Uint8Array {
  return Buffer.from(JSON.stringify({ type: 'error', error: { type, message }, request_id: requestId ?? null }));
}

export function writeAnthropicEvent(error: AnthropicError): Uint8Array {
  return writeEvent(Buffer.from(writeAnthropicBody(error)).toString('utf8'), 'error');
}
