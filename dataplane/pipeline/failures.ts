/**
 * From what the channels said to the one error that the caller gets. The provider's own words go on only where the request
 * itself is at fault; everything else is the gateway's to answer for, without a provider's name or address.
 */
import { GatewayError } from '../errors.ts';
import type { SlotLimit } from '../ledger/ledger.ts';
import { classify, mayRetry } from '../upstream/retry.ts';
import type { Verdict } from '../upstream/retry.ts';
import type { AttemptResult } from './attempt.ts';

type Failure = Exclude<AttemptResult, { kind: 'Answered' }>;

/** What happened on the way through the channels. */
export interface Tally {
  attempts: number;
  last: Failure | undefined;
  /** Of each 429, the seconds that the provider asks to wait, if it says. */
  readonly rateLimited: (number | undefined)[];
}

/** Seconds after which a slot may well be free again. */
const SLOT_RETRY_SECONDS = 1;

export function emptyTally(): Tally {
  return { attempts: 0, last: undefined, rateLimited: [] };
}

/** On a connection failure or a received 408, 429, 5xx or 529; never after a time-out of a request that was sent. */
export function mayTryNext(failure: Failure): boolean {
  return mayRetry(verdictOf(failure));
}

/** The key's own threshold: no other channel helps. */
export function keyIsFull(full: SlotLimit): GatewayError {
  return new GatewayError('rate_limit_exceeded',
    `This API key may have ${full.limit} calls in flight, and has. Try again when one has ended.`, { retryAfterSeconds: SLOT_RETRY_SECONDS });
}

/** The error of a call that no channel answered. */
export function tallyError(tally: Tally, model: string): GatewayError {
  const { last } = tally;
  if (!last) return allFull(model);
  if (last.kind === 'Refused' && verdictOf(last) === 'refused') return refusedByProvider(last);
  if (tally.rateLimited.length === tally.attempts) return rateLimited(tally, model);
  if (verdictOf(last) === 'overloaded')
    return new GatewayError('upstream_overloaded', `The providers of "${model}" are overloaded. Try again in a little while.`);
  return new GatewayError('upstream_error', upstreamMessage(last, model));
}

export function verdictOf(failure: Failure): Verdict {
  return failure.kind === 'Refused' ? classify({ status: failure.status }) : classify({ failure: failure.failure });
}

function allFull(model: string): GatewayError {
  return new GatewayError('rate_limit_exceeded',
    `Every channel of "${model}" that this key's group may use has its full number of calls in flight. Try again shortly.`,
    { retryAfterSeconds: SLOT_RETRY_SECONDS });
}

function refusedByProvider(failure: Extract<Failure, { kind: 'Refused' }>): GatewayError {
  const { status, error } = failure;
  const provider = {
    status,
    ...(error.type === undefined ? {} : { type: error.type }),
    ...(error.code === undefined ? {} : { code: error.code }),
  };
  return new GatewayError('upstream_refused', error.message, { provider, ...(error.param === undefined ? {} : { param: error.param }) });
}

function rateLimited(tally: Tally, model: string): GatewayError {
  const seconds = tally.rateLimited.filter((value) => value !== undefined);
  return new GatewayError('rate_limit_exceeded', `The providers of "${model}" limit the rate of calls. Try again later.`,
    seconds.length > 0 ? { retryAfterSeconds: Math.min(...seconds) } : {});
}

function upstreamMessage(failure: Failure, model: string): string {
  if (failure.kind === 'Refused')
    return verdictOf(failure) === 'credential'
      ? `The provider of "${model}" refuses the gateway's credential or its model name. The platform team sees why in the ModelRoute's status.`
      : `The providers of "${model}" failed (last status ${failure.status}). Try again.`;
  return failure.failure === 'Timeout'
    ? `The provider of "${model}" did not answer in time.`
    : `The providers of "${model}" cannot be reached, or broke off. Try again.`;
}
