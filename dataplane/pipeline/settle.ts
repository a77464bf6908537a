/**
 * The end of every call, exactly once: price what was consumed, replace the hold by it, free the slots, keep the record.
 * What the client is told comes after.
 */
import { GatewayError } from '../errors.ts';
import { LedgerUnavailable } from '../ledger/ledger.ts';
import type { SettleResult, Settlement } from '../ledger/ledger.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import { limitsInForce, originOf } from './admit.ts';
import { ClientLeft } from './attempt.ts';
import { progressOf, statusOf } from './consumption.ts';
import type { Admitted, CallRecord, Ending, PipelineDeps } from './context.ts';

export interface Settled {
  /** What the client is told: the call's ending, or that the ledger could not take it. */
  readonly ending: Ending;
  /** Undefined: nothing was held, or the ledger has not confirmed yet. */
  readonly result: SettleResult | undefined;
}

/**
 * So long a finished call waits for the ledger before its client is told that it failed; the settlement itself is not given up.
 * A call whose hold was lost has waited for as long already: its client is told at once.
 */
const SETTLE_TIMEOUT_MS = 20_000;

/** So long after a job was made, somebody looks at it whether its client asks or not. */
const FIRST_POLL_MS = 5_000;

/** Never rejects. */
export async function settle(deps: PipelineDeps, record: CallRecord, ending: Ending): Promise<Settled> {
  const { admitted } = record;
  if (!admitted) {
    deps.ledger.releaseSlots(record.requestId);
    return { ending, result: undefined };
  }
  deps.leases.untrack(record.requestId);
  deps.running.delete(record.requestId);
  const startedAt = deps.clock.monotonicMs();
  const booked = book(deps, record, { admitted, ending, startedAt });
  try {
    const result = await deps.withTimeout(record.lost ? 0 : SETTLE_TIMEOUT_MS, booked);
    deps.telemetry.ledger('settle', deps.clock.monotonicMs() - startedAt, 'Settled');
    return { ending, result };
  } catch (error) {
    deps.telemetry.ledger('settle', deps.clock.monotonicMs() - startedAt, 'unavailable');
    tellLate(deps, admitted, booked);
    return { ending: endingOf(deps, record, error), result: undefined };
  }
}

/** The ledger goes on with a settlement that it has taken: what it comes to is told when it is known. */
function tellLate(deps: PipelineDeps, { requestId, call, candidate }: Admitted, booked: Promise<SettleResult>): void {
  booked.then(({ record }) => deps.telemetry.billedLate({ requestId, model: call.model, group: candidate.group, billing: record }), () => undefined);
}

function book(deps: PipelineDeps, record: CallRecord, { admitted, ending, startedAt }: { admitted: Admitted; ending: Ending; startedAt: number }): Promise<SettleResult> {
  const status = statusOf(record, ending);
  const limits = limitsInForce(deps, admitted);
  const consumed: Settlement = {
    callId: record.requestId,
    progress: progressOf(record, admitted, status),
    status,
    durationMs: Math.round(startedAt - admitted.arrivedAt),
    origin: originOf(admitted, admitted.candidate),
  };
  const settlement = limits ? { ...consumed, limits } : consumed;
  return deps.ledger.settle(record.jobId === undefined ? settlement : { ...settlement, job: { jobId: record.jobId, pollMs: deps.clock.nowMs() + FIRST_POLL_MS } });
}

/** What an error of any stage means for the client. Errors that no stage meant are defects: told as such, and logged. */
export function endingOf(deps: Pick<PipelineDeps, 'defect'>, record: CallRecord, error: unknown): Ending {
  if (record.lost) return { kind: 'Error', error: ledgerUnavailable() };
  if (error instanceof GatewayError) return { kind: 'Error', error };
  if (error instanceof ClientLeft) return { kind: 'ClientGone' };
  if (error instanceof LedgerUnavailable) return { kind: 'Error', error: ledgerUnavailable() };
  if (error instanceof UpstreamFailure) return brokenOff(error);
  deps.defect(record.requestId, error);
  return { kind: 'Error', error: new GatewayError('internal_error', 'The gateway failed on this call. The platform team finds it by its request id.') };
}

function brokenOff(failure: UpstreamFailure): Ending {
  if (failure.kind === 'Aborted') return { kind: 'ClientGone' };
  const why = failure.kind === 'Idle' || failure.kind === 'Timeout' ? 'went silent' : 'broke off';
  return { kind: 'Error', error: new GatewayError('upstream_error', `The provider ${why} before the end of its answer.`) };
}

function ledgerUnavailable(): GatewayError {
  return new GatewayError('ledger_unavailable', 'The ledger cannot be reached, so that nothing can be billed now. Try again shortly.', { retryAfterSeconds: 1 });
}
