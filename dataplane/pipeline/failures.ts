/**
 * [P] Chooses the error of a call from the failures of its channels. The client sees a provider's own message only if
 * the request itself is wrong; every other message is the gateway's and names no provider and no address.
 */
import { GatewayError } from '../errors.ts';
import type { FullLimit, CountLimit, MinuteMeasure } from '../ledger/ledger.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import { isContextOverflow } from '../protocol/context-overflow.ts';
import type { ProviderError } from '../protocol/converter.ts';
import type { Candidate } from '../state/state.ts';
import { classify, isRedirect, isRouteFault, mayRetry, readRetryAfter } from '../upstream/retry.ts';
import type { Verdict } from '../upstream/retry.ts';
import type { UpstreamFailureKind } from '../upstream/upstream.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

/** An attempt at a channel that has brought no response. */
export type AttemptFailure =
  /** The provider answered with an error status. */
  | {
      readonly kind: 'Refused';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly error: ProviderError;
      /** What the client is told, if the provider reported the error in a response with status 200. */
      readonly says?: string;
      /** The provider may have begun a job that its response does not name. */
      readonly mayBeJob?: true;
    }
  /** There was no response, or its first chunk did not come. */
  | { readonly kind: 'Broken'; readonly failure: UpstreamFailureKind; readonly connectError?: string };

/** The provider has no such endpoint, which says nothing of what it has. */
export interface Unserved {
  readonly kind: 'Unserved';
}

/** The client disconnected before the provider answered. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected';
}

/** The attempts of a call so far, all of which failed. */
export interface FailedAttempts {
  count: number;
  last: AttemptFailure | undefined;
  /** One entry for each 429: the seconds that the provider asks to wait, if it says so. */
  readonly rateLimited: (number | undefined)[];
  /** The shortest time after which a channel that was skipped as full may have room; Infinity: none was. */
  fullForMs: number;
  /** The error if a channel's provider lacks the endpoint, and no other attempt failed. */
  unserved: GatewayError | undefined;
}

const RATE_LIMITED = 429;
/** Seconds after which a slot is likely to be free again. */
const SLOT_RETRY_SECONDS = 1;
/** Seconds after which one of many jobs is likely to have ended. */
const JOB_RETRY_SECONDS = 10;

/** The state before the first attempt. */
export function noAttempts(): FailedAttempts {
  return { count: 0, last: undefined, rateLimited: [], fullForMs: Infinity, unserved: undefined };
}

/** Counts a failure, which is judged as `verdict`. */
export function addFailure(
  failed: FailedAttempts,
  failure: AttemptFailure,
  { verdict, nowMs }: { readonly verdict: Verdict; readonly nowMs: number },
): void {
  failed.last = failure;
  failed.count++;
  if (failure.kind === 'Refused' && verdict === 'rate_limited')
    failed.rateLimited.push(readRetryAfter(failure.headers, nowMs));
}

/** True for failures that the route's `retryOn` lists; never for a timeout of a request that was sent. */
export function mayTryNextChannel(failure: AttemptFailure, { retryOn }: Pick<Candidate, 'retryOn'>): boolean {
  return mayRetry(verdictOf(failure), retryOn);
}

const MEASURED: Readonly<Record<MinuteMeasure, string>> = {
  Requests: 'requests',
  InputTokens: 'input tokens',
  OutputTokens: 'output tokens',
};

/** The error if a key or its account has reached a limit of its own. */
export function callerIsFull(
  { full, left = 0, retryMs = 0 }: FullLimit,
  told: { readonly dialect: Dialect; readonly nowMs: number },
): GatewayError {
  const { measure, amount } = full;
  if (measure === 'Concurrency') return noSlotIsFree(full);
  const retryAfterSeconds = retrySeconds(retryMs);
  const message =
    `${ownerOf(full)} may use ${amount} ${MEASURED[measure]} per minute, of which ${left} are left. ` +
    `Try again in ${retryAfterSeconds} s.`;
  return new GatewayError('rate_limit_exceeded', message, {
    retryAfterSeconds,
    headers: rateLimitHeaders([{ limit: full, left, resetMs: retryMs }], told),
  });
}

/** The error if a key has as many calls in flight as it may have. */
export function noSlotIsFree(limit: CountLimit): GatewayError {
  const message = `${ownerOf(limit)} has its full number of calls in flight (${limit.amount}). Try again when one has ended.`;
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds: SLOT_RETRY_SECONDS });
}

/** The error if the one channel that can serve a request has reached a limit. */
export function channelIsFull({ retryMs }: FullLimit): GatewayError {
  const [what, retryAfterSeconds] =
    retryMs === undefined
      ? ['its full number of calls in flight', SLOT_RETRY_SECONDS]
      : ['as many requests as it may have in a minute', retrySeconds(retryMs)];
  const message = `Its channel has ${what}. Try again in ${retryAfterSeconds} s.`;
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds });
}

function ownerOf({ scope }: CountLimit): string {
  return scope === 'Key' ? 'This API key' : "This API key's account";
}

/** Whole seconds, so that what comes after them is not refused again. */
function retrySeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/** The id of the limit in which a call which will create a job counts. */
export function jobLimitId(keyUid: string): string {
  return `jobs/${keyUid}`;
}

/** The error if a key has as many running jobs as it may have. */
export function tooManyJobs(max: number): GatewayError {
  const message =
    `This API key has as many videos, background responses and batches running as one key may have (${max}). ` +
    'Try again when some have ended, or end them: POST /v1/responses/{id}/cancel, DELETE /v1/videos/{id}, POST ' +
    '/v1/batches/{id}/cancel.';
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds: JOB_RETRY_SECONDS });
}

/** The error if every attempt of a call failed. */
export function attemptsError(attempts: FailedAttempts, model: string): GatewayError {
  const { last } = attempts;
  if (!last) return attempts.unserved ?? allFull(model, attempts);
  if (last.kind === 'Refused' && verdictOf(last) === 'refused') return refusedByProvider(last);
  if (attempts.rateLimited.length === attempts.count) return rateLimited(attempts, model);
  if (verdictOf(last) === 'overloaded') {
    const message = `The providers of "${model}" are overloaded. Try again in a little while.`;
    return new GatewayError('upstream_overloaded', saidBy(last) ?? message);
  }
  return new GatewayError('upstream_error', upstreamMessage(last, model));
}

/** Classifies a failure. */
export function verdictOf(failure: AttemptFailure): Verdict {
  if (failure.kind === 'Broken') return classify({ failure: failure.failure });
  if (failure.mayBeJob) return 'cut';
  return isAboutRequest(failure) || isTooLong(failure) ? 'refused' : classify({ status: failure.status });
}

/** What a request may refer to, as named in a provider's message that it does not exist. */
const REFERRED = /\b(?:file|container|skill|item|document|previous response)\b/i;
/** OpenAI reports these with the type of any wrong request, and without a param. */
const KEPT_NOT_FOUND = /\b(?:prompt|conversation)\b.* not found\b/i;

/** True for a 404 about something other than the model that the request names. The client gets its message. */
function isAboutRequest({ status, error }: Extract<AttemptFailure, { kind: 'Refused' }>): boolean {
  if (status !== 404 || error.code === 'model_not_found' || error.param === 'model') return false;
  return (
    error.param !== undefined ||
    KEPT_NOT_FOUND.test(error.message) ||
    (error.type === 'not_found_error' && REFERRED.test(error.message) && !/\bmodel\b/i.test(error.message))
  );
}

const NO_ENDPOINT: ReadonlySet<number> = new Set([404, 405, 501]);

/** How a message names the model that the route has: a deployment at Azure. */
const MODEL = /\b(?:model|deployment)\b/i;

/** True for a refusal of the path itself: it names no model, and nothing that the request refers to. */
export function lacksEndpoint(failure: AttemptFailure): boolean {
  if (failure.kind !== 'Refused' || !NO_ENDPOINT.has(failure.status)) return false;
  const { code, param, message } = failure.error;
  return code !== 'model_not_found' && param === undefined && !MODEL.test(message) && !isAboutRequest(failure);
}

/** True for a call that no channel can serve, whatever status says so. */
function isTooLong({ status, error }: Extract<AttemptFailure, { kind: 'Refused' }>): boolean {
  return status !== RATE_LIMITED && isContextOverflow(error);
}

function allFull(model: string, { fullForMs }: FailedAttempts): GatewayError {
  const every = `Every channel of "${model}" that this key's group may use`;
  if (fullForMs === Infinity || fullForMs === 0) {
    const message = `${every} has its full number of calls in flight. Try again shortly.`;
    return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds: SLOT_RETRY_SECONDS });
  }
  const retryAfterSeconds = retrySeconds(fullForMs);
  const message = `${every} has as many requests or tokens as it may have in a minute. Try again in ${retryAfterSeconds} s.`;
  return new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds });
}

function refusedByProvider({ status, error }: Extract<AttemptFailure, { kind: 'Refused' }>): GatewayError {
  const { type, code, param, message } = error;
  const provider = { status, ...(type !== undefined && { type }), ...(code !== undefined && { code }) };
  return new GatewayError('upstream_refused', message, { provider, ...(param !== undefined && { param }) });
}

/** What the client is told of an error in a response of 200. */
function saidBy(failure: AttemptFailure | undefined): string | undefined {
  return failure?.kind === 'Refused' ? failure.says : undefined;
}

function rateLimited({ rateLimited: waits, last }: FailedAttempts, model: string): GatewayError {
  const seconds = waits.filter((value) => value !== undefined);
  const message = `The providers of "${model}" limit the rate of calls. Try again later.`;
  const details = seconds.length > 0 ? { retryAfterSeconds: Math.min(...seconds) } : {};
  return new GatewayError('rate_limit_exceeded', saidBy(last) ?? message, details);
}

function upstreamMessage(failure: AttemptFailure, model: string): string {
  if (failure.kind === 'Broken') {
    return failure.failure === 'Timeout'
      ? `The provider of "${model}" did not answer in time.`
      : `The providers of "${model}" cannot be reached, or broke off. Try again.`;
  }
  if (isRedirect(failure.status))
    return (
      `The provider of "${model}" answers with a redirect (${failure.status}), and redirects are not followed. ` +
      "The platform team sees why in the ModelRoute's status."
    );
  return isRouteFault(verdictOf(failure))
    ? `The provider of "${model}" refuses the gateway's credential or its model name. ` +
        "The platform team sees why in the ModelRoute's status."
    : (failure.says ?? `The providers of "${model}" failed (last status ${failure.status}). Try again.`);
}
