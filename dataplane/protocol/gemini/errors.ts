/**
 * Errors of Google's APIs: `{error: {code, message, status, details}}`, in streams also within a list.
 */
import { decodeUtf8 } from '../bytes.ts';
import type { ProviderError } from '../converter.ts';
import { isRecord, itemsOf, recordOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseJson } from '../parse-json.ts';
import { readProviderError, readStreamError } from '../provider-errors.ts';

/** Anthropic's types by Google's status, or by its code where it gives no status, for errors within a stream. */
const TYPES: Readonly<Record<string, string>> = {
  RESOURCE_EXHAUSTED: 'rate_limit_error',
  UNAVAILABLE: 'overloaded_error',
  INVALID_ARGUMENT: 'invalid_request_error',
  FAILED_PRECONDITION: 'invalid_request_error',
  PERMISSION_DENIED: 'permission_error',
  NOT_FOUND: 'not_found_error',
  UNAUTHENTICATED: 'authentication_error',
  '400': 'invalid_request_error',
  '401': 'authentication_error',
  '403': 'permission_error',
  '404': 'not_found_error',
  '429': 'rate_limit_error',
  '503': 'overloaded_error',
};

/** Never throws. The type and the code are Google's own; the caller's follow from the status alone. */
export function readGeminiError(status: number, body: Uint8Array): ProviderError {
  const { message } = readProviderError(status, body);
  const error = errorOf(parse(body));
  const seconds = retrySeconds(error);
  const said = isCredential(error) ? CREDENTIAL_STATUS : undefined;
  return {
    message,
    type: undefined,
    code: undefined,
    ...(seconds !== undefined && { retryAfterSeconds: seconds }),
    ...(said !== undefined && { status: said }),
  };
}

/** An error within a stream. */
export function readGeminiStreamError(value: unknown): ProviderError {
  const { message } = readStreamError(value);
  const error = errorOf(value);
  if (isCredential(error)) return { message, type: 'authentication_error', code: undefined };
  return {
    message,
    type: TYPES[stringOf(error['status'])] ?? TYPES[String(error['code'])] ?? 'api_error',
    code: undefined,
  };
}

/** The Gemini API answers 400 for an unknown key. */
const CREDENTIAL_STATUS = 401;
const CREDENTIAL_REASONS: ReadonlySet<unknown> = new Set(['API_KEY_INVALID', 'API_KEY_EXPIRED']);

function isCredential({ details }: JsonRecord): boolean {
  return itemsOf(details)
    .filter(isRecord)
    .some(({ reason }) => CREDENTIAL_REASONS.has(reason));
}

/** Google's RetryInfo: `retryDelay: "34.07s"`. */
function retrySeconds({ details }: JsonRecord): number | undefined {
  for (const detail of itemsOf(details).filter(isRecord)) {
    const seconds = /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(textOf(detail['retryDelay']) ?? '')?.[1];
    if (seconds !== undefined) return Math.ceil(Number(seconds));
  }
  return undefined;
}

function errorOf(value: unknown): JsonRecord {
  const outer: unknown = Array.isArray(value) ? value[0] : value;
  const inner = isRecord(outer) ? outer['error'] : undefined;
  return recordOf(inner);
}

function parse(body: Uint8Array): unknown {
  try {
    return parseJson(decodeUtf8(body));
  } catch {
    // an HTML page or nothing: the status is enough
    return undefined;
  }
}
