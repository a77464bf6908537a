/**
 * [P] Converts the API server's refusals for the person who asked, in the server's own words: schema and CEL errors at
 * their fields, denials of policies and webhooks as errors of the whole object.
 */
import { KubeError } from '#kube/errors.ts';
import { AccessError } from './access.ts';
import type { AccessErrorReason, ApiFieldError } from './access.ts';

const FAULTS: Readonly<Record<number, AccessErrorReason>> = {
  400: 'Invalid',
  401: 'SignedOut',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'NotFound',
  413: 'Invalid',
  422: 'Invalid',
};
const SIGNED_OUT = 'The cluster does not accept this token, or no longer does. Sign in again.';
const NO_ANSWER = 'The Kubernetes API server does not answer. Try again in a moment.';
/** The prefixes of denials. Their authors choose between two HTTP statuses. */
const DENIALS = [
  "ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: ",
  'admission webhook "[^"]*" denied the request(?:: | without explanation)',
];
const DENIAL = new RegExp(`(?:${DENIALS.join('|')})`);
/** The prefix with the value, which is left out because the form's field shows the value. */
const VERDICT = /^(?:Invalid value: (?:"(?:[^"\\]|\\.)*"|[-\w.]+)|Forbidden): /;

/** Converts whatever a request to the API server was rejected with. */
export function accessErrorOf(error: unknown): AccessError {
  if (error instanceof AccessError) return error;
  if (!(error instanceof KubeError)) return new AccessError('Unavailable', NO_ANSWER, { cause: error });
  const reason = reasonOf(error);
  if (reason === 'SignedOut') return new AccessError(reason, SIGNED_OUT, { cause: error });
  if (reason === 'Unavailable') return new AccessError(reason, busyMessage(error), { cause: error });
  return new AccessError(reason, error.words, {
    cause: error,
    ...(reason === 'Invalid' && { fields: fieldsOf(error) }),
  });
}

function reasonOf({ status, reason, words }: KubeError): AccessErrorReason {
  if (status === 409 && reason === 'AlreadyExists') return 'AlreadyExists';
  if (status >= 400 && status < 500 && status !== 401 && DENIAL.test(words)) return 'Invalid';
  return FAULTS[status] ?? 'Unavailable';
}

function busyMessage({ status, words }: KubeError): string {
  return status === 429
    ? 'The Kubernetes API server has too much to do. Try again in a moment.'
    : `The Kubernetes API server could not do it: ${words}`;
}

function fieldsOf({ words, causes }: KubeError): ApiFieldError[] {
  if (DENIAL.test(words))
    return [{ path: '', message: words.slice(words.search(DENIAL)).replace(DENIAL, '').trim() || words }];
  const unknown = unknownField(words);
  if (unknown !== undefined) return [{ path: unknown, message: words }];
  const fields = causes.map(({ field, message }) => ({
    path: field === '<nil>' ? '' : field,
    message: message.replace(VERDICT, ''),
  }));
  return fields.length > 0 ? fields : [{ path: '', message: words }];
}

/** strict decoding error: unknown field "spec.limit" */
function unknownField(words: string): string | undefined {
  return /unknown field "([^"]+)"/.exec(words)?.[1];
}
