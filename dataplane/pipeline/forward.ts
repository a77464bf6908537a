/**
 * Channel after channel, until one answers: admit, send, and on a failure that may be retried the next one. A full channel is
 * skipped like a failed one; no channel is tried twice; nothing is tried again once the client has seen a byte.
 */
import { readRetryAfter } from '../upstream/retry.ts';
import { admit, releaseChannel } from './admit.ts';
import type { Admission } from './admit.ts';
import { attempt, ClientLeft } from './attempt.ts';
import type { AttemptResult } from './attempt.ts';
import type { Admitted, CallRecord, Forwarded, PipelineDeps, Routed } from './context.ts';
import type { Candidate } from '../state/state.ts';
import { emptyTally, keyIsFull, mayTryNext, tallyError, verdictOf } from './failures.ts';
import type { Tally } from './failures.ts';
import { progressOf } from './consumption.ts';
import { countRunningCall } from './new-thresholds.ts';

/** Throws GatewayError (the most telling of what the channels said), ClientLeft, LedgerUnavailable. */
export async function forward(deps: PipelineDeps, routed: Routed, record: CallRecord): Promise<Forwarded> {
  const tally = emptyTally();
  const tried: Candidate['target'][] = [];
  for (const candidate of routed.candidates) {
    if (tally.attempts > candidate.retryAttempts) break;
    // an Automatic group's members may share a channel
    if (tried.includes(candidate.target)) continue;
    if (routed.reply.gone) throw new ClientLeft();
    const admission = await admit(deps, routed, candidate, record);
    const admitted = admittedOr(tally, admission);
    if (!admitted) {
      noteSkipped(record, candidate, admission.outcome);
      continue;
    }
    // nothing has been sent yet: a client that left meanwhile owes nothing
    if (routed.reply.gone) throw new ClientLeft();
    tried.push(candidate.target);
    watch(deps, admitted, record);
    if (deps.state.generation !== record.generation) countRunningCall(deps, record);
    const result = await attempt(deps, admitted, record);
    if (result.kind === 'Answered') {
      routed.body.drop();
      return result.forwarded;
    }
    note(deps, tally, admitted, result);
    if (!mayTryNext(result)) break;
    releaseChannel(deps, record);
  }
  throw tallyError(tally, routed.call.model);
}

/** For the metrics and the log: a channel that was not asked, because it was full or too dear. */
function noteSkipped({ attempts }: CallRecord, { target }: Candidate, outcome: Admission['outcome']): void {
  attempts.push({ channel: target.id, protocol: target.protocol, outcome: outcome.toLowerCase(), durationMs: 0 });
}

/** Undefined: the next candidate may be tried. */
function admittedOr(tally: Tally, admission: Admission): Admitted | undefined {
  switch (admission.outcome) {
    case 'Admitted': return admission.admitted;
    case 'Full':
      if (admission.full.scope === 'Key') throw keyIsFull(admission.full);
      return undefined;
    case 'Short':
      // the serving group's price is the call's price; a dearer retry that cannot be paid leaves the failure that led to it
      if (tally.attempts === 0) throw admission.error;
      return undefined;
  }
}

/** Once per call: its hold is renewed with its progress, and a client that leaves stops the provider where its route says so. */
function watch(deps: PipelineDeps, admitted: Admitted, record: CallRecord): void {
  if (record.watched) return;
  record.watched = true;
  deps.running.set(record.requestId, record);
  deps.leases.track(record.requestId,
    () => progressOf(record, record.admitted ?? admitted, 'Running'),
    () => {
      record.lost = true;
      record.abort.abort();
    });
  if (!admitted.call.stream) return;
  const { left } = admitted.reply;
  left.addEventListener('abort', () => {
    if ((record.admitted ?? admitted).candidate.clientDisconnect === 'Cancel') record.abort.abort();
  }, { once: true });
}

function note(deps: PipelineDeps, tally: Tally, admitted: Admitted, result: Exclude<AttemptResult, { kind: 'Answered' }>): void {
  if (result.kind === 'Broken' && result.failure === 'Aborted') throw new ClientLeft();
  tally.last = result;
  tally.attempts++;
  if (result.kind !== 'Refused') return;
  const verdict = verdictOf(result);
  if (verdict === 'rate_limited') tally.rateLimited.push(readRetryAfter(result.headers, deps.clock.nowMs()));
  if (verdict !== 'credential') return;
  // the caller can do nothing about it, the platform team can
  const { route, target } = admitted.candidate;
  deps.warn({ route, channel: target.id.slice(route.length + 1), status: result.status });
}
