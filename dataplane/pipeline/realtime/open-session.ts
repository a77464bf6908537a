/**
 * Opens a session: finds the model for the key's group, holds the money for its first response, and connects to one channel
 * after the other until a provider takes it. All of that precedes the client's upgrade, so that refusals are HTTP.
 */
import type { MessageSocket } from '../../message-socket.ts';
import { REQUEST_CONSUMED } from '../../ledger/load.ts';
import { isOfCaller } from '../../state/limits.ts';
import type { Candidate } from '../../state/state.ts';
import { requestHeaders } from '../../upstream/headers.ts';
import { UpstreamFailure } from '../../upstream/upstream.ts';
import { admit, releaseChannel, shortageError } from '../admit.ts';
import type { Admission } from '../admit.ts';
import { authenticate } from '../authenticate.ts';
import { brokenBy, readRefusal, reportOf, reportSkipped, warnOfFailure } from '../channel-call.ts';
import type { Admitted, CallRecord, PipelineDeps, Routed } from '../context.ts';
import { FREE } from '../consumption.ts';
import { countRunningCall } from '../new-thresholds.ts';
import { checkEarly } from '../early-checks.ts';
import { REALTIME_PATH } from '../endpoints/realtime.ts';
import {
  addFailure,
  attemptsError,
  callerIsFull,
  ClientDisconnected,
  mayTryNextChannel,
  noAttempts,
} from '../failures.ts';
import type { AttemptFailure, FailedAttempts } from '../failures.ts';
import { route } from '../route.ts';

/** The most bytes of one message of a client: reading it blocks the event loop for some 20 ms per MiB. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** Of one message of a provider, which may return what several have brought. */
const MAX_PROVIDED_BYTES = 16 * 1024 * 1024;
/** Base URLs end in /v1. */
const PATH = REALTIME_PATH.slice('/v1'.length);

export interface OpenedSession {
  readonly admitted: Admitted;
  readonly provider: MessageSocket;
}

/** Rejects with GatewayError, LedgerUnavailable, or ClientDisconnected. */
export async function openSession(deps: PipelineDeps, record: CallRecord): Promise<OpenedSession> {
  const authenticated = (record.authenticated = authenticate(deps, record.received));
  const routed = (record.routed = await route(deps, authenticated, () => undefined));
  await checkEarly(deps, authenticated, routed.call);
  const failed = noAttempts();
  const tried: Candidate['target'][] = [];
  for (const candidate of routed.candidates) {
    if (failed.count > candidate.retryAttempts) break;
    if (tried.includes(candidate.target)) continue;
    const admission = await admit(deps, routed, candidate, record);
    if (record.received.reply.gone) throw new ClientDisconnected();
    if (admission.outcome !== 'Admitted') {
      await throwUnlessSkipped(deps, routed, { admission, failed });
      reportSkipped(record.attempts, candidate.target, admission.outcome);
      continue;
    }
    tried.push(candidate.target);
    keepHold(deps, record);
    const result = await connect(deps, admission.admitted, record);
    if (!('kind' in result)) return { admitted: admission.admitted, provider: result };
    if (result.kind === 'Broken' && result.failure === 'Aborted') throw new ClientDisconnected();
    const verdict = warnOfFailure(deps, candidate.target, result);
    addFailure(failed, result, { verdict, nowMs: deps.clock.nowMs() });
    if (!mayTryNextChannel(result, candidate)) break;
    releaseChannel(deps, record.received.requestId, REQUEST_CONSUMED);
  }
  throw attemptsError(failed, routed.call.model);
}

/**
 * Once per session, starts to renew its hold with what it has cost. A session whose hold is lost ends, and so does one
 * whose client leaves before it has begun.
 */
function keepHold(deps: PipelineDeps, record: CallRecord): void {
  if (record.leased) return;
  record.leased = true;
  const { requestId, reply } = record.received;
  deps.running.set(requestId, record);
  deps.leases.track(
    requestId,
    () => record.session?.progress ?? FREE,
    () => {
      record.holdLost = true;
      record.abort.abort();
    },
  );
  reply.left.addEventListener('abort', () => record.abort.abort(), { once: true });
  if (deps.state.generation !== record.generation) countRunningCall(deps, record);
}

interface Skipped {
  readonly admission: Exclude<Admission, { readonly outcome: 'Admitted' }>;
  readonly failed: FailedAttempts;
}

/** The limits of key and account apply on every channel, and so does a lack of money before the first attempt. */
async function throwUnlessSkipped(deps: PipelineDeps, routed: Routed, { admission, failed }: Skipped): Promise<void> {
  if (admission.outcome === 'Full' && isOfCaller(admission.full))
    throw callerIsFull(admission, { dialect: 'OpenAI', nowMs: deps.clock.nowMs() });
  if (admission.outcome === 'Full') failed.fullForMs = Math.min(failed.fullForMs, admission.retryMs ?? 0);
  if (admission.outcome === 'Short' && failed.count === 0) throw shortageError(deps, routed, admission);
}

/** One attempt at one channel, which is reported. */
async function connect(
  { upstreams, clock }: Pick<PipelineDeps, 'upstreams' | 'clock'>,
  { candidate: { target, upstreamModel }, routed }: Admitted,
  { received, attempts, abort }: CallRecord,
): Promise<MessageSocket | AttemptFailure> {
  const startedAt = clock.monotonicMs();
  const headers = requestHeaders(received.headers, { allowed: target.clientHeaders, account: routed.key.account });
  // the interface of before, whose events are others
  delete headers['openai-beta'];
  const path = `${PATH}?model=${encodeURIComponent(upstreamModel)}`;
  let result: MessageSocket | AttemptFailure;
  try {
    const request = { path, headers, signal: abort.signal, maxMessageBytes: MAX_PROVIDED_BYTES };
    const connected = await upstreams.connect(target, request);
    result = connected.kind === 'Open' ? connected.socket : await readRefusal(target, connected.response);
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    result = brokenBy(error);
  }
  const outcome = 'kind' in result ? result : undefined;
  attempts.push(reportOf(target, outcome, undefined, clock.monotonicMs() - startedAt));
  return result;
}
