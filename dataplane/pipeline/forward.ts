/**
 * Tries one candidate after another until a provider responds: admits the call, sends it, and tries the next candidate
 * after a retryable failure. A full channel is skipped, and no channel is tried twice.
 */
import type { Verdict } from '../upstream/retry.ts';
import { admit, releaseChannel, shortageError } from './admit.ts';
import type { Admission } from './admit.ts';
import { attempt } from './attempt.ts';
import { reportSkipped, warnOfFailure } from './channel-call.ts';
import type { Admitted, CallRecord, Forwarded, PipelineDeps, Routed } from './context.ts';
import type { Candidate } from '../state/state.ts';
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
import { openResponse } from './open-response.ts';
import { pingHeaders } from './response-headers.ts';
import { pingOf } from '../protocol/pings.ts';
import { runningProgress } from './consumption.ts';
import { REQUEST_CONSUMED } from '../ledger/load.ts';
import { isOfCaller } from '../state/limits.ts';
import { countRunningCall } from './new-thresholds.ts';
import { namesOf } from '../upstream/upstream.ts';

/** Between two elements of a JSON array. */
const BLANK = Buffer.from('\n');

/** How long to wait for the usage figures of a stream after its client has disconnected. */
const FIGURES_TIMEOUT_MS = 2_000;

/** Throws the most informative GatewayError of the failures, ClientDisconnected, or LedgerUnavailable. */
export async function forward(deps: PipelineDeps, routed: Routed, record: CallRecord): Promise<Forwarded> {
  const {
    received: { reply, body },
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
      await throwUnlessSkipped(deps, routed, { refusal: admission, failed });
      reportSkipped(record.attempts, candidate.target, admission.outcome);
      continue;
    }
    // nothing was sent yet, so a client that disconnected during the admission pays nothing
    if (reply.gone) throw new ClientDisconnected();
    tried.push(candidate.target);
    keepHold(deps, admission.admitted, record);
    if (deps.state.generation !== record.generation) countRunningCall(deps, record);
    deps.refusing.trying(candidate.target);
    const isLast = isLastTry(routed, { tried, failures: failed.count });
    const result = await attemptAndOpen(deps, admission.admitted, { record, isLast });
    if ('opening' in result) {
      noteAccepted(deps, candidate.target);
      body.drop();
      return result;
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

/** Opens the response too. The request's body is kept meanwhile only where another channel may need it. */
async function attemptAndOpen(
  deps: PipelineDeps,
  admitted: Admitted,
  { record, isLast }: { readonly record: CallRecord; readonly isLast: boolean },
): Promise<Forwarded | AttemptFailure | Unserved> {
  const result = await attempt(deps, admitted, record);
  if ('kind' in result) return result;
  if (isLast) record.received.body.drop();
  const opening = await openResponse(deps, result, record);
  return opening.kind === 'Refused' ? opening : { ...result, opening };
}

type Refusal = Exclude<Admission, { readonly outcome: 'Admitted' }>;

async function throwUnlessSkipped(
  deps: PipelineDeps,
  routed: Routed,
  { refusal, failed }: { refusal: Refusal; failed: FailedAttempts },
): Promise<void> {
  // the limits of key and account apply on every channel
  if (refusal.outcome === 'Full' && isOfCaller(refusal.full))
    throw refusal.full.id === jobLimitId(routed.key.uid)
      ? tooManyJobs(deps.maxRunningJobs)
      : callerIsFull(refusal, { dialect: routed.received.errorDialect, nowMs: deps.clock.nowMs() });
  if (refusal.outcome === 'Full') failed.fullForMs = Math.min(failed.fullForMs, refusal.retryMs ?? 0);
  // if there is too little money for a retry only, the earlier failure is the call's error
  if (refusal.outcome === 'Short' && failed.count === 0) throw shortageError(deps, routed, refusal);
}

/**
 * Once per call, starts to renew the hold with the call's progress. If the client disconnects and the route's policy is
 * Cancel, cancels the exchange. A started stream may be about to end, so its usage figures are awaited; relay cancels
 * it earlier if more text comes.
 */
function keepHold(deps: PipelineDeps, admitted: Admitted, record: CallRecord): void {
  if (record.leased) return;
  record.leased = true;
  const { requestId, reply } = record.received;
  const latest = (): Admitted => record.admitted ?? admitted;
  deps.running.set(requestId, record);
  deps.leases.track(
    requestId,
    () => runningProgress(record, latest()),
    () => {
      record.holdLost = true;
      record.abort.abort();
    },
  );
  const { stream, streamsBytes, background } = admitted.routed.call;
  if (stream && streamsBytes !== true) keepAlive(deps, record, latest);
  // a background response is not over without its client, and only its first event names it
  if (!stream || background === true) return;
  reply.left.addEventListener(
    'abort',
    () => {
      if (latest().candidate.clientDisconnect !== 'Cancel') return;
      if (record.meter) setTimeout(() => record.abort.abort(), FIGURES_TIMEOUT_MS).unref();
      else record.abort.abort();
    },
    { once: true },
  );
}

/** An array of JSON has no pings before its first element, and a response that may be whole none before it begins. */
function keepAlive({ pingAfterMs }: PipelineDeps, { pinging, received }: CallRecord, latest: () => Admitted): void {
  if (pingAfterMs === 0) return;
  const { streamType, wholeTypes, pingForm = received.dialect } = latest().routed.call;
  const beginsWithPings = streamType === undefined && wholeTypes === undefined;
  pinging.keepAlive({
    afterMs: pingAfterMs,
    headers: () => (beginsWithPings ? pingHeaders(latest()) : undefined),
    ping: (begun) => (streamType === undefined ? pingOf(pingForm, begun) : BLANK),
  });
}

interface Tried {
  readonly candidate: Candidate;
  readonly failed: FailedAttempts;
}

/** Notes the failure, too. */
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
