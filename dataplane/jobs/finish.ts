/** Records a job's end in the ledger and, the first time, in telemetry. */
import type { JobRecord } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import type { JobEnd } from '../telemetry/call-report.ts';

/** Resolves when the end is booked; a failed job's price has been given back then. Throws LedgerUnavailable. */
export async function finish(
  deps: Pick<PipelineDeps, 'ledger' | 'telemetry'>, job: JobRecord, end: JobEnd['end'],
): Promise<void> {
  const wanted = end === 'Failed' ? 'Failed' : 'Completed';
  const { state } = await deps.ledger.finishJob(job, wanted);
  // somebody else was first and has reported it
  if (state !== wanted) return;
  const { callId, model, group, channel } = job.origin;
  deps.telemetry.jobEnded({ requestId: callId, jobId: job.jobId, model, group, channel, end });
}
