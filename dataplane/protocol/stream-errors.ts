/**
 * A provider's error within a stream, in the client's dialect. Errors that concern the gateway's own account at the
 * provider (its credential, its credit) are hidden: the client only learns that the provider failed.
 */
import type { Dialect } from './call-facts.ts';
import { isContextOverflow, OVERFLOW_CODE, overflowMessage } from './context-overflow.ts';
import type { ProviderError, StreamEnd, StreamFailure } from './converter.ts';
import { writeErrorEvent } from './write-error.ts';

type ErrorKind = 'Overloaded' | 'RateLimited' | 'Invalid' | 'Account' | 'Other';

/** Types and codes of both protocols. */
const TYPES_AND_CODES: Readonly<Record<Exclude<ErrorKind, 'Other'>, readonly string[]>> = {
  Overloaded: ['overloaded_error', 'server_is_overloaded', 'service_unavailable_error', '529'],
  RateLimited: ['rate_limit_error', 'rate_limit_exceeded', 'requests', 'tokens', '429'],
  Invalid: ['invalid_request_error', '400', 'request_too_large'],
  Account: [
    'authentication_error',
    'permission_error',
    'billing_error',
    'insufficient_quota',
    'not_found_error',
    'invalid_api_key',
    '401',
    '402',
    '403',
    '404',
  ],
};
const KINDS: ReadonlyMap<string, ErrorKind> = new Map(
  (['Overloaded', 'RateLimited', 'Invalid', 'Account'] as const).flatMap((kind) =>
    TYPES_AND_CODES[kind].map((name) => [name, kind] as const),
  ),
);

interface OpenAiFields {
  readonly type: string;
  readonly code: string | null;
}

const OPENAI: Readonly<Record<ErrorKind, OpenAiFields>> = {
  Overloaded: { type: 'server_error', code: 'upstream_error' },
  RateLimited: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  Invalid: { type: 'invalid_request_error', code: null },
  Account: { type: 'server_error', code: 'upstream_error' },
  Other: { type: 'server_error', code: 'upstream_error' },
};

const ANTHROPIC: Readonly<Record<ErrorKind, string>> = {
  Overloaded: 'overloaded_error',
  RateLimited: 'rate_limit_error',
  Invalid: 'invalid_request_error',
  Account: 'api_error',
  Other: 'api_error',
};

/** In Google's envelope. */
const STATUSES: Readonly<Record<ErrorKind, number>> = {
  Overloaded: 503,
  RateLimited: 429,
  Invalid: 400,
  Account: 502,
  Other: 502,
};

const HTTP_STATUSES: Readonly<Record<ErrorKind, number>> = {
  Overloaded: 529,
  RateLimited: 429,
  Invalid: 400,
  Account: 401,
  Other: 502,
};
const NOT_FOUND = 404;

/** The status that a provider would have answered with, had it not written its error into a response of 200. */
export function statusOfError(error: ProviderError): number {
  const { type, code, status } = error;
  const kind = kindOf(error);
  if (status !== undefined) return status;
  if (kind !== 'Overloaded' && /^[45]\d\d$/.test(code ?? '')) return Number(code);
  return type === 'not_found_error' ? NOT_FOUND : HTTP_STATUSES[kind];
}

/** The end of a stream that its provider ended with an error. */
export function failStream(client: Dialect, given: ProviderError, requestId: string): StreamEnd {
  const error = isContextOverflow(given) ? overflowIn(client, given) : given;
  const kind = kindOf(error);
  const fields = client === 'Anthropic' ? { type: ANTHROPIC[kind], code: null } : openAiFields(kind, error);
  const message = messageOf(kind, error);
  return {
    outcome: 'Failed',
    error: { ...error, message },
    last: writeErrorEvent(client, {
      ...fields,
      message,
      requestId,
      httpStatus: STATUSES[kind],
    }),
  };
}

/** A call that is longer than the model's context, as it is said in a dialect. */
function overflowIn(client: Dialect, { message, code, ...error }: ProviderError): ProviderError {
  return {
    ...error,
    message: overflowMessage(client, { message, code }),
    type: 'invalid_request_error',
    code: OVERFLOW_CODE,
  };
}

/** Codes of a response's `error`; those that clients know of providers themselves stay as they are. */
const RESPONSES: Readonly<Record<ErrorKind, string>> = {
  Overloaded: 'server_error',
  RateLimited: 'rate_limit_exceeded',
  Invalid: 'invalid_prompt',
  Account: 'server_error',
  Other: 'server_error',
};
const KNOWN_CODES: ReadonlySet<string> = new Set([OVERFLOW_CODE, 'server_is_overloaded', 'slow_down']);

/** A provider's error as the error of a response that has failed, and as it is recorded. */
export function failResponse(given: ProviderError): { readonly error: ProviderError; readonly failure: StreamFailure } {
  const error = isContextOverflow(given) ? overflowIn('OpenAI', given) : given;
  const kind = kindOf(error);
  const message = messageOf(kind, error);
  const code = error.code ?? '';
  return { error: { ...error, message }, failure: { code: KNOWN_CODES.has(code) ? code : RESPONSES[kind], message } };
}

/** The message for clients, which tells nothing about the gateway's own account. */
function messageOf(kind: ErrorKind, { message }: ProviderError): string {
  return kind === 'Account' ? 'The provider ended the answer with an error.' : message;
}

/** The code is more specific than the type. */
function kindOf({ type, code }: ProviderError): ErrorKind {
  return KINDS.get(code ?? '') ?? KINDS.get(type ?? '') ?? 'Other';
}

function openAiFields(kind: ErrorKind, error: ProviderError): OpenAiFields {
  return kind === 'Invalid' && error.code !== '400' ? { ...OPENAI[kind], code: error.code ?? null } : OPENAI[kind];
}
