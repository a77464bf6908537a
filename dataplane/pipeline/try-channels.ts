/**
 * Tries one candidate after another until a provider accepts a call or a session: admits it, makes an attempt, and goes
 * to the next candidate after a retryable failure. A full channel is skipped, and no channel is tried twice.
 */
import { REQUEST_CONSUMED } from '../ledger/load.ts';
import { isOfCaller } from '../state/limits.ts';
import type { Candidate } from '../state/state.ts';
import type { Verdict } from '../upstream/retry.ts';
import { namesOf } from '../upstream/upstream.ts';
import { admit, releaseChannel, shortageError } from './admit.ts';
import type { Admission } from './admit.ts';
import { reportSkipped, warnOfFailure } from './channel-call.ts';
import type { Admitted, CallRecord, PipelineDeps, Routed } from './context.ts';
import {
  addFailure,
  attemptsError,
  callerIsFull,
  ClientDisconnected,
  jobLimitId,
  mayTryNextChannel,
  noAttempts,
  tooManyJobs,
} from './failures.ts';
import type { AttemptFailure, FailedAttempts, Unserved } from './failures.ts';
import { countRunningCall } from './new-thresholds.ts';

/** An attempt whose provider serves the call. */
export interface Accepted<T> {
  readonly kind: 'Accepted';
  readonly value: T;
}

export interface ChannelTries<T> {
  /** Runs before each attempt, with the money for it held. */
  readonly onAdmitted: (admitted: Admitted) => void;
  /** `isLast`: no other channel is tried if this attempt fails as well. */
  readonly attempt: (admitted: Admitted, isLast: boolean) => Promise<Accepted<T> | AttemptFailure | Unserved>;
}

/** Throws the most informative GatewayError of the failures, ClientDisconnected, or LedgerUnavailable. */
export async function tryChannels<T>(
  deps: PipelineDeps,
  routed: Routed,
  record: CallRecord,
  { onAdmitted, attempt }: ChannelTries<T>,
): Promise<T> {
  const {
    received: { reply },
    call,
    candidates,
  } = routed;
  const failed = noAttempts();
  const tried: Candidate['target'][] = [];
  for (const candidate of candidates) {
    if (failed.count > candidate.retryAttempts) break;
    // members of an Automatic group may share a channel
    if (tried.includes(candidate.target)) continue;
    if (reply.gone) throw new ClientDisconnected();
    const admission = await admit(deps, routed, candidate, record);
    if (admission.outcome !== 'Admitted') {
      throwUnlessSkipped(deps, routed, { refusal: admission, failed });
      reportSkipped(record.attempts, candidate.target, admission.outcome);
      continue;
    }
    // nothing was sent yet, so a client that disconnected during the admission pays nothing
    if (reply.gone) throw new ClientDisconnected();
    tried.push(candidate.target);
    onAdmitted(admission.admitted);
    if (deps.state.generation !== record.generation) countRunningCall(deps, record);
    deps.refusing.trying(candidate.target);
    const result = await attempt(admission.admitted, isLastTry(routed, { tried, failures: failed.count }));
    if (result.kind === 'Accepted') {
      noteAccepted(deps, candidate.target);
      return result.value;
    }
    if (!mayTryAnother(deps, routed, { candidate, failed }, result)) break;
    releaseChannel(deps, record.received.requestId, REQUEST_CONSUMED);
  }
  throw attemptsError(failed, call.model);
}

/** Whether no other channel is tried if this attempt fails as well. */
function isLastTry(
  { candidates }: Routed,
  { tried, failures }: { readonly tried: readonly Candidate['target'][]; readonly failures: number },
): boolean {
  return candidates.every(({ target, retryAttempts }) => failures >= retryAttempts || tried.includes(target));
}

type Refusal = Exclude<Admission, { readonly outcome: 'Admitted' }>;

function throwUnlessSkipped(
  deps: PipelineDeps,
  routed: Routed,
  { refusal, failed }: { refusal: Refusal; failed: FailedAttempts },
): void {
  // the limits of key and account apply on every channel
  if (refusal.outcome === 'Full' && isOfCaller(refusal.full))
    throw refusal.full.id === jobLimitId(routed.key.uid)
      ? tooManyJobs(deps.maxRunningJobs)
      : callerIsFull(refusal, { dialect: routed.received.errorDialect, nowMs: deps.clock.nowMs() });
  if (refusal.outcome === 'Full') failed.fullForMs = Math.min(failed.fullForMs, refusal.retryMs ?? 0);
  // if there is too little money for a retry only, the earlier failure is the call's error
  if (refusal.outcome === 'Short' && failed.count === 0) throw shortageError(deps, routed, refusal);
}

interface Tried {
  readonly candidate: Candidate;
  readonly failed: FailedAttempts;
}

/** Records the failure, too. */
function mayTryAnother(
  deps: PipelineDeps,
  { call }: Routed,
  { candidate, failed }: Tried,
  failure: AttemptFailure | Unserved,
): boolean {
  if (failure.kind === 'Unserved') {
    failed.unserved = call.unservable([candidate]);
    return true;
  }
  if (failure.kind === 'Broken' && failure.failure === 'Aborted') throw new ClientDisconnected();
  const verdict = warnOfFailure(deps, candidate.target, failure);
  addFailure(failed, failure, { verdict, nowMs: deps.clock.nowMs() });
  if (failure.kind === 'Refused') noteCredential(deps, candidate, verdict);
  return mayTryNextChannel(failure, candidate);
}

/** Verdicts of providers that have accepted the credential, although they did not serve the call. */
const ACCEPTED: ReadonlySet<Verdict> = new Set(['refused', 'rate_limited', 'overloaded']);

function noteCredential(deps: PipelineDeps, { target, retryOn }: Candidate, verdict: Verdict): void {
  if (verdict === 'credential' && retryOn.has('credential')) deps.refusing.refused(target);
  if (ACCEPTED.has(verdict)) noteAccepted(deps, target);
}

function noteAccepted({ refusing, warn }: PipelineDeps, target: Candidate['target']): void {
  if (refusing.accepted(target)) warn({ ...namesOf(target), status: 0, recovered: true });
}
