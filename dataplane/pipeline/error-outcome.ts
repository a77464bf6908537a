/** Maps an error of any stage to the outcome that the client gets. */
import { GatewayError } from '../errors.ts';
import { LedgerUnavailable } from '../ledger/ledger.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import { ClientDisconnected } from './attempt.ts';
import type { CallOutcome, CallRecord, PipelineDeps } from './context.ts';

/** An unexpected error, which no stage throws on purpose, is reported as a defect; the client gets internal_error. */
export function errorOutcome(deps: Pick<PipelineDeps, 'defect'>, record: CallRecord, error: unknown): CallOutcome {
  if (record.holdLost || error instanceof LedgerUnavailable) return { kind: 'Error', error: ledgerUnavailable() };
  if (error instanceof GatewayError) return { kind: 'Error', error };
  if (error instanceof ClientDisconnected) return { kind: 'ClientGone' };
  if (error instanceof UpstreamFailure) return upstreamOutcome(error);
  deps.defect(record.received.requestId, error);
  const message = 'The gateway failed on this call. The platform team finds it by its request id.';
  return { kind: 'Error', error: new GatewayError('internal_error', message) };
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
