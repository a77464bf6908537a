/**
 * Sends a call to one channel after the other until a provider's response is open, and renews the call's hold meanwhile.
 */
import { attempt } from './attempt.ts';
import type { Admitted, CallRecord, Forwarded, PipelineDeps, Routed } from './context.ts';
import type { AttemptFailure, Unserved } from './failures.ts';
import { openResponse } from './open-response.ts';
import { pingHeaders } from './response-headers.ts';
import { pingOf } from '../protocol/pings.ts';
import { runningProgress } from './consumption.ts';
import { tryChannels } from './try-channels.ts';
import type { Accepted } from './try-channels.ts';

/** Between two elements of a JSON array. */
const BLANK = Buffer.from('\n');

/** How long to wait for the usage figures of a stream after its client has disconnected. */
const FIGURES_TIMEOUT_MS = 2_000;

/** Throws the most informative GatewayError of the failures, ClientDisconnected, or LedgerUnavailable. */
export async function forward(deps: PipelineDeps, routed: Routed, record: CallRecord): Promise<Forwarded> {
  const forwarded = await tryChannels(deps, routed, record, {
    onAdmitted: (admitted) => keepHold(deps, admitted, record),
    attempt: (admitted, isLast) => attemptAndOpen(deps, admitted, { record, isLast }),
  });
  record.received.body.drop();
  return forwarded;
}

/** Opens the response too. The request's body is kept meanwhile only where another channel may need it. */
async function attemptAndOpen(
  deps: PipelineDeps,
  admitted: Admitted,
  { record, isLast }: { readonly record: CallRecord; readonly isLast: boolean },
): Promise<Accepted<Forwarded> | AttemptFailure | Unserved> {
  const result = await attempt(deps, admitted, record);
  if ('kind' in result) return result;
  if (isLast) record.received.body.drop();
  const opening = await openResponse(deps, result, record);
  return opening.kind === 'Refused' ? opening : { kind: 'Accepted', value: { ...result, opening } };
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
