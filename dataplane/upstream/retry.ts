/**
 * [P] What an attempt's outcome means: whether another channel is tried, and whose fault it is. Another channel is
 * tried if there was no answer and nothing can be billed twice without the gateway's knowledge: the connection failed,
 * or the provider itself said 401, 402, 403, 408, 429 or 5xx. A request that was sent and not answered in time is not repeated: the
 * provider may be at work on it.
 */
import type { UpstreamFailureKind } from './upstream.ts';

export type AttemptOutcome = { readonly status: number } | { readonly failure: UpstreamFailureKind };

export type Verdict =
  | 'ok'
  /** The provider refuses the request itself: its status and message are passed on. */
  | 'refused'
  /** It refuses the gateway's credential: another account may serve; a warning on the ModelRoute. */
  | 'credential'
  /** It knows no such model name or address, or redirects to another: 502, and a warning on the ModelRoute. */
  | 'misnamed'
  /** 429, 529, and 408, other 5xx or no connection: another channel may serve. */
  | 'rate_limited'
  | 'overloaded'
  | 'unavailable'
  /** The request was sent, and not answered in time. */
  | 'timeout'
  /** The response broke off. */
  | 'cut'
  /** Aborted by the gateway or the client. */
  | 'aborted';

const FAILURES: Readonly<Record<UpstreamFailureKind, Verdict>> = {
  Connect: 'unavailable',
  SignIn: 'unavailable',
  Reset: 'unavailable',
  Timeout: 'timeout',
  Cut: 'cut',
  Idle: 'cut',
  Aborted: 'aborted',
};

const STATUSES: Readonly<Record<number, Verdict>> = {
  401: 'credential',
  402: 'credential',
  403: 'credential',
  404: 'misnamed',
  405: 'misnamed',
  407: 'credential',
  408: 'unavailable',
  429: 'rate_limited',
  529: 'overloaded',
};

/** What the outcome of an attempt means. */
export function classify(outcome: AttemptOutcome): Verdict {
  if ('failure' in outcome) return FAILURES[outcome.failure];
  const { status } = outcome;
  const known = STATUSES[status];
  if (known) return known;
  if (status >= 200 && status < 300) return 'ok';
  if (isRedirect(status)) return 'misnamed';
  return status < 500 ? 'refused' : 'unavailable';
}

/** Failures after which another channel may be tried, provided that the client has not seen a byte. */
export type RetryableVerdict = Extract<Verdict, 'unavailable' | 'rate_limited' | 'overloaded' | 'credential'>;

export const RETRYABLE: ReadonlySet<RetryableVerdict> = new Set([
  'unavailable',
  'rate_limited',
  'overloaded',
  'credential',
]);

/** Whether another channel may be tried. `retryOn`: the failures after which the route wants it. */
export function mayRetry(verdict: Verdict, retryOn: ReadonlySet<Verdict>): boolean {
  return retryOn.has(verdict);
}

/** True if the provider refuses what the ModelRoute gives the gateway, which only the route's owner can correct. */
export function isRouteFault(verdict: Verdict): boolean {
  return verdict === 'credential' || verdict === 'misnamed';
}

/** True for a redirect. Redirects are not followed: they would take the credential to an address that no route names. */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** A provider's retry-after is capped at an hour. */
const MAX_RETRY_AFTER_SECONDS = 3600;

/**
 * Seconds that the provider asks to wait, rounded up; undefined: it does not say. It may use retry-after-ms, or
 * retry-after in seconds or as an HTTP date.
 */
export function readRetryAfter(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const seconds = milliseconds(headers['retry-after-ms']) ?? secondsOrDate(headers['retry-after'], nowMs);
  return seconds === undefined ? undefined : Math.min(Math.max(Math.ceil(seconds), 0), MAX_RETRY_AFTER_SECONDS);
}

const NUMBER = /^\s*\d+(?:\.\d+)?\s*$/;

function milliseconds(text: string | undefined): number | undefined {
  return text !== undefined && NUMBER.test(text) ? Number(text) / 1000 : undefined;
}

function secondsOrDate(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (NUMBER.test(text)) return Number(text);
  const dateMs = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : (dateMs - nowMs) / 1000;
}
