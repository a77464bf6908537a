/**
 * The only module that writes errors. A complete response has the dialect of the path or of the client; an error event
 * within a stream has that of the path. Only a GatewayError's message reaches a client: a defect has a code of its own.
 */
import { ERRORS } from '../errors.ts';
import type { ErrorRow, GatewayError } from '../errors.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import { isContextOverflow, OVERFLOW_CODE, OVERFLOW_STATUS, overflowMessage } from '../protocol/context-overflow.ts';
import { writeErrorBody, writeErrorEvent } from '../protocol/write-error.ts';
import type { DialectError } from '../protocol/write-error.ts';

export interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Anthropic's status for an overloaded provider, which OpenAI's dialect does not have. */
const ANTHROPIC_OVERLOADED = 529;
/** The error types of Anthropic's API that are forwarded as the provider sent them. */
const ANTHROPIC_TYPES: ReadonlySet<string> = new Set([
  'invalid_request_error',
  'request_too_large',
  'not_found_error',
  'permission_error',
  'conflict_error',
  'timeout_error',
]);

const ANTHROPIC_TYPES_BY_STATUS: ReadonlyMap<number, string> = new Map([
  [404, 'not_found_error'],
  [413, 'request_too_large'],
]);

/**
 * Codes by parameter. This code tells Anthropic's tool runner that no conversation is stored, so that it sends complete
 * ones.
 */
const ANTHROPIC_ERROR_CODES: ReadonlyMap<string, string> = new Map([['thread', 'thread_unsupported_request']]);

const ANTHROPIC_TARGET = /^(?:https?:\/\/[^/]*)?(?:\/+v1){1,2}\/+messages(?:[/?#]|$)/i;

/** Paths of Google's API. Below /v1, only its methods differ from other dialects' paths. */
const GEMINI_TARGET = new RegExp(
  '^(?:https?://[^/]*)?/+(?:(?:upload/)?v1(?:beta|alpha)(?:[/?#]|$)|upload/v1/' +
    '|v1/(?:cachedContents|interactions)(?:[/?#]|$)' +
    '|v1/models/[^?#]*:(?:(?:g|streamG|batchG)enerateContent|countTokens|embedContent|batchEmbedContents' +
    '|predict|predictLongRunning)(?:[?#]|$))',
  'i',
);

/** The dialect of the response to a request target, in every form of the target that finds the same route. */
export function dialectOf(target: string): Dialect {
  const path = target.includes('%') ? unescaped(target) : target;
  if (ANTHROPIC_TARGET.test(path)) return 'Anthropic';
  return GEMINI_TARGET.test(path) ? 'Gemini' : 'OpenAI';
}

/**
 * The dialect of an error before the response has begun: that of the path, or Anthropic's if a client of Anthropic's API
 * asks at a path of OpenAI's.
 */
export function errorDialectOf({ url, headers }: RequestHead): Dialect {
  const dialect = dialectOf(url);
  return dialect === 'OpenAI' && headers['anthropic-version'] !== undefined ? 'Anthropic' : dialect;
}

/** What a request's head says of its client. */
export interface RequestHead {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

function unescaped(target: string): string {
  try {
    return decodeURI(target);
  } catch {
    return target;
  }
}

/** An error as a complete response. */
export function errorReply(error: GatewayError, dialect: Dialect, requestId: string): ErrorReply {
  const row: ErrorRow = ERRORS[error.code];
  const { retryAfterSeconds, headers } = error.details;
  return {
    status: statusOf(error, row, dialect),
    headers: {
      'content-type': 'application/json',
      ...requestIdHeaders(requestId),
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      ...(row.retry === false ? { 'x-should-retry': 'false' } : {}),
      ...headers,
    },
    body: writeErrorBody(dialect, dialectError(error, row, dialect, requestId)),
  };
}

/** An error as an event of a stream that has begun. */
export function errorEvent(error: GatewayError, dialect: Dialect, requestId: string): Uint8Array {
  return writeErrorEvent(dialect, dialectError(error, ERRORS[error.code], dialect, requestId));
}

/** Sends both headers, because OpenAI's SDK reads the first and Anthropic's the second. */
export function requestIdHeaders(requestId: string): Record<string, string> {
  return { 'x-request-id': requestId, 'request-id': requestId };
}

/** Whether a provider says that the call is longer than the model's context. */
function isOverflow({ message, details: { provider } }: GatewayError): boolean {
  return provider !== undefined && isContextOverflow({ message, code: provider.code });
}

function statusOf(error: GatewayError, row: ErrorRow, dialect: Dialect): number {
  if (isOverflow(error)) return OVERFLOW_STATUS;
  if (error.details.provider) return error.details.provider.status;
  return error.code === 'upstream_overloaded' && dialect === 'Anthropic' ? ANTHROPIC_OVERLOADED : row.status;
}

function dialectError(error: GatewayError, row: ErrorRow, dialect: Dialect, requestId: string): DialectError {
  return isOverflow(error) ? overflowError(error, dialect, requestId) : plainError(error, row, dialect, requestId);
}

function plainError(error: GatewayError, row: ErrorRow, dialect: Dialect, requestId: string): DialectError {
  const { provider, param } = error.details;
  return {
    message: error.message,
    type: dialect === 'Anthropic' ? anthropicType(provider, row) : (provider?.type ?? row.openaiType),
    code: provider?.code === undefined ? row.openaiCode : provider.code,
    param: param ?? null,
    requestId,
    errorCode: provider?.code ?? ANTHROPIC_ERROR_CODES.get(param ?? ''),
    httpStatus: statusOf(error, row, dialect),
    retryAfterSeconds: error.details.retryAfterSeconds,
  };
}

function overflowError({ message, details }: GatewayError, dialect: Dialect, requestId: string): DialectError {
  return {
    message: overflowMessage(dialect, { message, code: details.provider?.code }),
    type: 'invalid_request_error',
    code: OVERFLOW_CODE,
    param: details.param ?? null,
    requestId,
    errorCode: details.provider?.code ?? undefined,
    httpStatus: OVERFLOW_STATUS,
  };
}

function anthropicType(provider: GatewayError['details']['provider'], row: ErrorRow): string {
  if (!provider) return row.anthropicType;
  if (provider.type !== undefined && ANTHROPIC_TYPES.has(provider.type)) return provider.type;
  return ANTHROPIC_TYPES_BY_STATUS.get(provider.status) ?? row.anthropicType;
}
