/** Records a job's end in the ledger, and reports it to telemetry. */
import type { JobBill, JobRecord } from '../ledger/ledger.ts';
import { sanitizeProgress } from '../ledger/amounts.ts';
import type { CallStatus } from '../ledger/usage-record.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import type { JobEnd } from '../telemetry/call-report.ts';
import type { EndedJob } from './job-outcome.ts';

type RecordingDeps = Pick<PipelineDeps, 'ledger' | 'telemetry'>;

/**
 * Resolves when the end is recorded and what was charged too much is refunded. A job that is billed at its end keeps its
 * charge if there is no bill. Rejects with LedgerUnavailable.
 */
export async function recordJobEnd(deps: RecordingDeps, job: JobRecord, ended: EndedJob): Promise<void> {
  const { end } = ended;
  const isBilledLater = job.terms !== undefined;
  const bill = ended.bill ?? (isBilledLater ? await chargeOf(deps, job, end) : undefined);
  const isFailure = end === 'Failed' || end === 'Cancelled';
  // without a bill, a failure would refund everything
  const wanted = isFailure && (bill || !isBilledLater) ? 'Failed' : 'Completed';
  const { state, billed } = await deps.ledger.finishJob(job, wanted, bill);
  // another process or request has recorded and reported it first
  if (state !== wanted || (bill && !billed)) return;
  const { callId, model, group, channel } = job.origin;
  const billing = bill && billed && { channel, status: bill.status, ...bill.progress, ...billed };
  deps.telemetry.jobEnded({
    requestId: callId, jobId: job.jobId, model, group, channel, end, ...billing && { billing },
  });
}

/** The charge as a bill; undefined: the ledger has forgotten the call's record. */
async function chargeOf({ ledger }: RecordingDeps, { origin }: JobRecord, end: JobEnd['end']):
Promise<JobBill | undefined> {
  const record = await ledger.readUsage(origin.keyUid, origin.callId);
  return record && { status: STATUSES[end], progress: sanitizeProgress(record) };
}

const STATUSES: Readonly<Record<JobEnd['end'], CallStatus>> = {
  Completed: 'Succeeded', Failed: 'ProviderCut', Cancelled: 'ClientClosed', Deleted: 'ClientClosed',
  GivenUp: 'ProviderCut',
};
