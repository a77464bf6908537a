/** How a job ended, told to the ledger and, where it is news, to telemetry. */
import type { JobRecord } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import type { JobEnd } from '../telemetry/call-report.ts';

/** Resolves when it is in the books: a failure's price has been given back. Throws LedgerUnavailable. */
export async function finish(deps: Pick<PipelineDeps, 'ledger' | 'telemetry'>, job: JobRecord, end: JobEnd['end']): Promise<void> {
  const wanted = end === 'Failed' ? 'Failed' : 'Completed';
  const { state } = await deps.ledger.finishJob(job, wanted);
  // somebody else was first, and has told of it
  if (state !== wanted) return;
  const { callId, model, group, channel } = job.origin;
  deps.telemetry.jobEnded({ requestId: callId, jobId: job.jobId, model, group, channel, end });
}
