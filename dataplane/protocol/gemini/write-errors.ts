/**
 * Google's error envelope (google.rpc.Status), as a response body and as the last event of a stream.
 */
import { writeEvent } from '../sse.ts';

export interface GoogleError {
  readonly message: string;
  /** The HTTP status, which the envelope repeats. */
  readonly httpStatus: number;
  /** The gateway's code, in lower case; null: none. */
  readonly code?: string | null;
  readonly param?: string | null;
  readonly requestId?: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** Codes of google.rpc.Code by HTTP status; UNKNOWN for all others. */
const STATUSES: ReadonlyMap<number, string> = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [402, 'RESOURCE_EXHAUSTED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [405, 'UNIMPLEMENTED'],
  [408, 'DEADLINE_EXCEEDED'],
  [409, 'ABORTED'],
  [413, 'INVALID_ARGUMENT'],
  [415, 'INVALID_ARGUMENT'],
  [422, 'INVALID_ARGUMENT'],
  [426, 'FAILED_PRECONDITION'],
  [429, 'RESOURCE_EXHAUSTED'],
  [431, 'INVALID_ARGUMENT'],
  [499, 'CANCELLED'],
  [500, 'INTERNAL'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);

const TYPES = 'type.googleapis.com/google.rpc';
/** Codes of limits that do not recover by waiting. */
const SPENT: ReadonlySet<string> = new Set(['insufficient_quota', 'credit_balance_exhausted']);
/** Gemini CLI retries a quota of any other name. */
const SPENT_QUOTA_ID = 'SpendingLimitPerDay';

export function googleStatus(httpStatus: number): string {
  return STATUSES.get(httpStatus) ?? 'UNKNOWN';
}

export function writeGoogleBody({ message, httpStatus, ...error }: GoogleError): Uint8Array {
  return Buffer.from(
    JSON.stringify({
      error: { code: httpStatus, message, status: googleStatus(httpStatus), details: detailsOf({ message, ...error }) },
    }),
  );
}

export function writeGoogleEvent(error: GoogleError): Uint8Array {
  return writeEvent(Buffer.from(writeGoogleBody(error)).toString('utf8'));
}

function detailsOf({
  message,
  code,
  param,
  requestId,
  retryAfterSeconds: seconds,
}: Omit<GoogleError, 'httpStatus'>): readonly object[] {
  return [
    ...(code ? [{ '@type': `${TYPES}.ErrorInfo`, reason: code.toUpperCase(), domain: 'modelgateway.dev' }] : []),
    ...(param
      ? [
          {
            '@type': `${TYPES}.BadRequest`,
            fieldViolations: [{ field: param, description: message }],
          },
        ]
      : []),
    ...(code && SPENT.has(code)
      ? [
          {
            '@type': `${TYPES}.QuotaFailure`,
            violations: [{ subject: code, description: message, quotaId: SPENT_QUOTA_ID }],
          },
        ]
      : []),
    ...(seconds === undefined ? [] : [{ '@type': `${TYPES}.RetryInfo`, retryDelay: `${seconds}s` }]),
    ...(requestId === undefined ? [] : [{ '@type': `${TYPES}.RequestInfo`, requestId }]),
  ];
}
