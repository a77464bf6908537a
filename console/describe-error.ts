/**
 * [P] Maps a thrown error to an error page: status, title and a message that says what to do. For an unexpected error
 * the page shows only the request id.
 */
import type { FastifyError } from 'fastify';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { AccessError } from './access/access.ts';
import type { AccessErrorReason, ApiFieldError } from './access/access.ts';

/** A request that the console refuses before it reaches a page. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  readonly status: number;
  readonly title: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    title: string,
    { message, headers = {} }: { readonly message: string; readonly headers?: Readonly<Record<string, string>> },
  ) {
    super(message);
    this.status = status;
    this.title = title;
    this.headers = headers;
  }
}

interface ErrorDescription {
  readonly status: number;
  readonly title: string;
  readonly message: string;
  readonly fields: readonly ApiFieldError[];
  readonly headers: Readonly<Record<string, string>>;
  /** An unexpected error: it is logged, and the page shows the request id. */
  readonly unforeseen: boolean;
}

const ACCESS: Readonly<Record<AccessErrorReason, readonly [status: number, title: string]>> = {
  SignedOut: [401, 'You are signed out'],
  Forbidden: [403, 'You may not do this'],
  NotFound: [404, 'There is no such object'],
  Conflict: [409, 'Somebody else has changed this meanwhile'],
  AlreadyExists: [409, 'There is one already'],
  Invalid: [422, 'This was refused'],
  Unavailable: [503, 'This cannot be done at the moment'],
};
const RETRY_SECONDS = '5';

/** Describes any thrown value for an error page. */
export function describeError(error: unknown): ErrorDescription {
  const plain = { fields: [], headers: {}, unforeseen: false };
  if (error instanceof RequestRefused)
    return { ...plain, status: error.status, title: error.title, message: error.message, headers: error.headers };
  if (error instanceof AccessError) {
    const [status, title] = ACCESS[error.reason];
    return {
      ...plain,
      status,
      title,
      message: error.message,
      fields: error.fields,
      headers: status === 503 ? { 'retry-after': RETRY_SECONDS } : {},
    };
  }
  if (error instanceof LedgerUnavailable)
    return {
      ...plain,
      status: 503,
      title: 'The ledger does not answer',
      message: 'What was spent cannot be read at the moment. Try again in a few seconds.',
      headers: { 'retry-after': RETRY_SECONDS },
    };
  return (
    describeFrameworkError(error) ?? {
      ...plain,
      status: 500,
      title: 'The console failed on this page',
      unforeseen: true,
      message:
        'This should not happen. Try again; if it stays so, tell the platform team the request id below: the ' +
        'log says more under it.',
    }
  );
}

const STALE_FORM = [
  403,
  'This form belongs to another session',
  'Nothing was changed. You have signed in again ' +
    'since the page was opened, or the form is not the console’s. Open the page again and repeat the change.',
] as const;
const FRAMEWORK: Readonly<Record<string, readonly [status: number, title: string, message: string]>> = {
  FST_ERR_BAD_URL: [
    400,
    'This address is not well-formed',
    'Every "%" in it must begin an escape of two hexadecimal digits, such as %2F.',
  ],
  FST_ERR_MAX_PARAM_LENGTH: [404, 'There is nothing here', 'No object has a name of this length.'],
  FST_CSRF_MISSING_SECRET: STALE_FORM,
  FST_CSRF_INVALID_TOKEN: STALE_FORM,
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'This form is too large', 'Nothing was changed.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    415,
    'This is not a form of the console',
    'Forms are sent as application/x-www-form-urlencoded.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'This request is not complete', 'Its body is not as long as it says.'],
};

function describeFrameworkError(error: unknown): ErrorDescription | undefined {
  if (!isFrameworkError(error)) return undefined;
  const known = error.validation ? describeMisfit(error) : FRAMEWORK[error.code];
  if (!known) return undefined;
  const [status, title, message] = known;
  return { status, title, message, fields: [], headers: {}, unforeseen: false };
}

function isFrameworkError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

/** A request that does not fit its route's schemas. */
function describeMisfit({ validation, validationContext }: FastifyError): (typeof FRAMEWORK)[string] {
  const [misfit] = validation ?? [];
  if (validationContext === 'params') return [404, 'There is nothing here', 'No object can have this name.'];
  const field = `“${misfit?.instancePath.slice(1) ?? ''}” ${misfit?.message ?? ''}`;
  return validationContext === 'querystring'
    ? [400, 'This address is not well-formed', `Its parameter ${field}.`]
    : [400, 'This form cannot be read', `Its field ${field}. Nothing was changed.`];
}
