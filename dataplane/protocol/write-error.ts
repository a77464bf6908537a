/**
 * An error in the dialect of the path: as a body, or as the event that ends a stream.
 */
import { writeAnthropicBody, writeAnthropicEvent } from './anthropic/errors.ts';
import type { Dialect } from './call-facts.ts';
import { writeOpenAiBody, writeOpenAiEvent } from './openai/errors.ts';

/** `type` in the words of the dialect; `code` and `param` are OpenAI's, `requestId` and `errorCode` are Anthropic's. */
export interface DialectError {
  readonly message: string;
  readonly type: string;
  readonly code?: string | null;
  readonly param?: string | null;
  readonly requestId?: string;
  /** `error.details.error_code`: what its SDK makes classes of, and acts on. */
  readonly errorCode?: string | undefined;
}

export function writeErrorBody(dialect: Dialect, error: DialectError): Uint8Array {
  return dialect === 'OpenAI' ? writeOpenAiBody(error) : writeAnthropicBody(error);
}

export function writeErrorEvent(dialect: Dialect, error: DialectError): Uint8Array {
  return dialect === 'OpenAI' ? writeOpenAiEvent(error) : writeAnthropicEvent(error);
}
