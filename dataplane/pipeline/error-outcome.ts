/** Maps an error of any stage to the outcome that the client gets. */
import { GatewayError } from '../errors.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { CallOutcome, CallRecord, PipelineDeps } from './context.ts';
import { ClientDisconnected } from './failures.ts';

/** An unexpected error, which no stage throws on purpose, is reported as a defect; the client gets internal_error. */
export function errorOutcome(deps: Pick<PipelineDeps, 'defect'>, record: CallRecord, error: unknown): CallOutcome {
  if (record.holdLost) return { kind: 'Error', error: endedWithoutLedger(record.received.requestId) };
  if (error instanceof LedgerUnavailable) return { kind: 'Error', error: ledgerUnavailable() };
  if (error instanceof ClientDisconnected) return { kind: 'ClientGone' };
  if (isLostBatch(record, error)) return { kind: 'Error', error: lostBatch() };
  if (error instanceof GatewayError) return { kind: 'Error', error };
  if (error instanceof UpstreamFailure) return upstreamOutcome(error);
  deps.defect(record.received.requestId, error);
  const message = 'The gateway failed on this call. The platform team finds it by its request id.';
  return { kind: 'Error', error: new GatewayError('internal_error', message) };
}

/** Whether the provider may have begun a batch, although its response says nothing of it. */
function isLostBatch({ admitted, sent, job }: CallRecord, error: unknown): boolean {
  if (!sent || job || !admitted?.routed.call.together) return false;
  return error instanceof GatewayError || (error instanceof UpstreamFailure && error.kind !== 'Aborted');
}

function lostBatch(): GatewayError {
  const message =
    'The response of the provider was lost, and it may have begun the batch under an id that nobody knows. The most ' +
    'that the batch can cost is charged. Ask the platform team whether it runs before you make it again.';
  return new GatewayError('upstream_error', message, { headers: { 'x-should-retry': 'false' } });
}

function upstreamOutcome(failure: UpstreamFailure): CallOutcome {
  if (failure.kind === 'Aborted') return { kind: 'ClientGone' };
  const what = failure.timedOut ? 'went silent' : 'broke off';
  const message = `The provider ${what} before the end of its answer.`;
  return { kind: 'Error', error: new GatewayError('upstream_error', message) };
}

function ledgerUnavailable(): GatewayError {
  const message = 'The ledger cannot be reached, so that nothing can be billed now. Try again shortly.';
  return new GatewayError('ledger_unavailable', message, { retryAfterSeconds: 1 });
}

/** A call that was served, and whose settlement could not be recorded in time: it is billed once that is possible. */
export function notDelivered(requestId: string): GatewayError {
  const message =
    'This call was served and will be billed, but the ledger could not record it, so its response is withheld. Do not ' +
    `repeat it: GET /v1/usage/${requestId} shows what it cost once the ledger can be reached.`;
  return new GatewayError('billed_later', message);
}

function endedWithoutLedger(requestId: string): GatewayError {
  const message =
    'The ledger could not be reached for too long, so the gateway ended this call. What it consumed until then will be ' +
    `billed: GET /v1/usage/${requestId} shows it once the ledger can be reached.`;
  return new GatewayError('billed_later', message);
}
