/**
 * Writes an error in a dialect, as a body or as the event that ends a stream.
 */
import { writeAnthropicBody, writeAnthropicEvent } from './anthropic/errors.ts';
import type { Dialect } from './call-facts.ts';
import { writeOpenAiBody, writeOpenAiEvent } from './openai/errors.ts';

/** `type` is the dialect's own; `code` and `param` are OpenAI's, `requestId` and `errorCode` are Anthropic's. */
export interface DialectError {
  readonly message: string;
  readonly type: string;
  readonly code?: string | null;
  readonly param?: string | null;
  readonly requestId?: string;
  /** `error.details.error_code`, from which the SDK derives its error classes. */
  readonly errorCode?: string | undefined;
}

export function writeErrorBody(dialect: Dialect, error: DialectError): Uint8Array {
  return dialect === 'OpenAI' ? writeOpenAiBody(error) : writeAnthropicBody(error);
}

export function writeErrorEvent(dialect: Dialect, error: DialectError): Uint8Array {
  return dialect === 'OpenAI' ? writeOpenAiEvent(error) : writeAnthropicEvent(error);
}
