/**
 * Opens a session: finds the model for the key's group, holds the money for its first response, and connects to one channel
 * after the other until a provider takes it. All of that precedes the client's upgrade, so that refusals are HTTP.
 */
import type { MessageSocket } from '../../message-socket.ts';
import { requestHeaders } from '../../upstream/headers.ts';
import { UpstreamFailure } from '../../upstream/upstream.ts';
import type { SocketRequest, UpstreamTarget } from '../../upstream/upstream.ts';
import { authenticate } from '../authenticate.ts';
import { brokenBy, readRefusal, reportOf } from '../channel-call.ts';
import type { Admitted, CallRecord, PipelineDeps } from '../context.ts';
import { FREE } from '../consumption.ts';
import { checkEarly } from '../early-checks.ts';
import { REALTIME_PATH } from '../endpoints/realtime.ts';
import type { AttemptFailure } from '../failures.ts';
import { route } from '../route.ts';
import { tryChannels } from '../try-channels.ts';
import type { Accepted } from '../try-channels.ts';
import { MAX_PROVIDED_MIB } from './session-end.ts';

const MIB = 1024 * 1024;
/** The maximum size of a client's message: reading one blocks the event loop for some 20 ms per MiB. */
export const MAX_MESSAGE_BYTES = 4 * MIB;
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
  return tryChannels(deps, routed, record, {
    onAdmitted: () => keepHold(deps, record),
    attempt: (admitted) => connect(deps, admitted, record),
  });
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
}

/** One attempt at one channel, which is reported. */
async function connect(
  { upstreams, clock }: Pick<PipelineDeps, 'upstreams' | 'clock'>,
  admitted: Admitted,
  { received, attempts, abort }: CallRecord,
): Promise<Accepted<OpenedSession> | AttemptFailure> {
  const {
    candidate: { target, upstreamModel },
    routed,
  } = admitted;
  const startedAt = clock.monotonicMs();
  const headers = requestHeaders(received.headers, { allowed: target.clientHeaders, account: routed.key.account });
  // asks for the beta interface, which has other events
  delete headers['openai-beta'];
  const path = `${PATH}?model=${encodeURIComponent(upstreamModel)}`;
  const request = { path, headers, signal: abort.signal, maxMessageBytes: MAX_PROVIDED_MIB * MIB };
  const result = await opened(upstreams, target, request);
  const failure = 'kind' in result ? result : undefined;
  attempts.push(reportOf(target, failure, undefined, clock.monotonicMs() - startedAt));
  return 'kind' in result ? result : { kind: 'Accepted', value: { admitted, provider: result } };
}

/** The provider's socket, or why there is none. */
async function opened(
  upstreams: PipelineDeps['upstreams'],
  target: UpstreamTarget,
  request: SocketRequest,
): Promise<MessageSocket | AttemptFailure> {
  try {
    const connected = await upstreams.connect(target, request);
    return connected.kind === 'Open' ? connected.socket : await readRefusal(target, connected.response);
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return brokenBy(error);
  }
}
