/** Records a job's end in the ledger, and reports it to telemetry. */
import type { JobRecord } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import type { JobEnd } from '../telemetry/call-report.ts';

/** Resolves when the end is recorded and a failed job's price is refunded. Rejects with LedgerUnavailable. */
export async function recordJobEnd(
  deps: Pick<PipelineDeps, 'ledger' | 'telemetry'>, job: JobRecord, end: JobEnd['end'],
): Promise<void> {
  const wanted = end === 'Failed' ? 'Failed' : 'Completed';
  const { state } = await deps.ledger.finishJob(job, wanted);
  // another process or request has recorded and reported it first
  if (state !== wanted) return;
  const { callId, model, group, channel } = job.origin;
  deps.telemetry.jobEnded({ requestId: callId, jobId: job.jobId, model, group, channel, end });
}
