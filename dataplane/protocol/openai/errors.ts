/**
 * OpenAI's error envelope, as a response body and as the last event of a stream.
 */
import { writeEvent } from '../sse.ts';

export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param?: string | null;
  readonly code?: string | null;
}

/** SDKs read all four keys. */
export function writeOpenAiBody({ message, type, param = null, code = null }: OpenAiError): Uint8Array {
  return Buffer.from(JSON.stringify({ error: { message, type, param, code } }));
}

export function writeOpenAiEvent(error: OpenAiError): Uint8Array {
  return writeEvent(Buffer.from(writeOpenAiBody(error)).toString('utf8'));
}
