/** Records a job's end in the ledger, and reports it to telemetry. */
import type { JobBill, JobRecord } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import type { JobEnd } from '../telemetry/call-report.ts';
import { chargeOf } from './job-outcome.ts';

export interface RecordedEnd {
  readonly end: JobEnd['end'];
  /**
   * Replaces what was charged. Absent: the consumption is unknown, so that the charge stays; or the job is not billed
   * at its end, so that a failed one is refunded.
   */
  readonly bill?: JobBill;
}

/** Resolves when the end is recorded and what was charged too much is refunded. Rejects with LedgerUnavailable. */
export async function recordJobEnd(
  deps: Pick<PipelineDeps, 'ledger' | 'telemetry'>, job: JobRecord, { end, bill = chargeOf(job, end) }: RecordedEnd,
): Promise<void> {
  const wanted = end === 'Failed' ? 'Failed' : 'Completed';
  const { state, billed } = await deps.ledger.finishJob(job, wanted, bill);
  // another process or request has recorded and reported it first
  if (state !== wanted || (bill && !billed)) return;
  const { callId, model, group, channel } = job.origin;
  const billing = bill && billed && { channel, status: bill.status, ...bill.progress, ...billed };
  deps.telemetry.jobEnded({
    requestId: callId, jobId: job.jobId, model, group, channel, end, ...billing && { billing },
  });
}
