/**
 * Writes an error in a dialect, as a body or as the event that ends a stream.
 */
import { writeAnthropicBody, writeAnthropicEvent } from './anthropic/errors.ts';
import type { Dialect } from './call-facts.ts';
import { writeGoogleBody, writeGoogleEvent } from './gemini/write-errors.ts';
import { writeOpenAiBody, writeOpenAiEvent } from './openai/errors.ts';

/**
 * `type` is the dialect's own, which Gemini's does not have; `code` and `param` are OpenAI's and Gemini's, `requestId`
 * and `errorCode` are Anthropic's.
 */
export interface DialectError {
  readonly message: string;
  readonly type: string;
  readonly code?: string | null;
  readonly param?: string | null;
  readonly requestId?: string;
  /** `error.details.error_code`, from which the SDK derives its error classes. */
  readonly errorCode?: string | undefined;
  /** The HTTP status, which Gemini's envelope repeats. */
  readonly httpStatus: number;
  /** For Gemini, whose SDKs read no header. */
  readonly retryAfterSeconds?: number | undefined;
}

export function writeErrorBody(dialect: Dialect, error: DialectError): Uint8Array {
  switch (dialect) {
    case 'OpenAI':
      return writeOpenAiBody(error);
    case 'Anthropic':
      return writeAnthropicBody(error);
    case 'Gemini':
      return writeGoogleBody(error);
  }
}

export function writeErrorEvent(dialect: Dialect, error: DialectError): Uint8Array {
  switch (dialect) {
    case 'OpenAI':
      return writeOpenAiEvent(error);
    case 'Anthropic':
      return writeAnthropicEvent(error);
    case 'Gemini':
      return writeGoogleEvent(error);
  }
}
