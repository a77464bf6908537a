/** Records a job's end in the ledger, and reports it to telemetry. */
import type { JobBill, JobRecord } from '../ledger/ledger.ts';
import type { CallStatus } from '#usage/record.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import type { JobEnd } from '../telemetry/call-report.ts';
import type { EndedJob } from './job-outcome.ts';

type RecordingDeps = Pick<PipelineDeps, 'ledger' | 'telemetry'>;

/**
 * Resolves when the end is recorded and what was charged too much is refunded. A job that is billed at its end keeps
 * its charge if there is no bill. Rejects with LedgerUnavailable.
 */
export async function recordJobEnd(deps: RecordingDeps, job: JobRecord, ended: EndedJob): Promise<void> {
  const { end } = ended;
  const bill = ended.bill ?? (await chargeOf(deps, job, end));
  const wanted = stateAfter(job, end, bill);
  const { state, billed } = await deps.ledger.finishJob(job, wanted, bill);
  // another process or request has recorded and reported it first
  if (state !== wanted || (bill && !billed)) return;
  const { callId, model, group, channel } = job.origin;
  const billing = bill && billed && { channel, status: bill.status, ...bill.progress, ...billed };
  deps.telemetry.jobEnded({
    requestId: callId,
    jobId: job.jobId,
    model,
    group,
    channel,
    end,
    ...(billing && { billing }),
  });
}

/** Without a bill, a failure refunds everything. */
function stateAfter({ terms }: JobRecord, end: JobEnd['end'], bill: JobBill | undefined): 'Completed' | 'Failed' {
  return FAILURES.has(end) && (bill !== undefined || terms === undefined) ? 'Failed' : 'Completed';
}

const FAILURES: ReadonlySet<JobEnd['end']> = new Set(['Failed', 'Cancelled']);

/** The charge as a bill; undefined: the job is not billed at its end, or the ledger has forgotten the call's record. */
async function chargeOf(
  { ledger }: RecordingDeps,
  { origin, terms }: JobRecord,
  end: JobEnd['end'],
): Promise<JobBill | undefined> {
  if (terms === undefined) return undefined;
  const record = await ledger.readUsage(origin.keyUid, origin.callId);
  if (!record) return undefined;
  const { costNanoUsd, tokens, usageSource, lines, upstreamCostNanoUsd } = record;
  return {
    status: STATUSES[end],
    progress: {
      costNanoUsd,
      tokens,
      usageSource,
      ...(lines && { lines }),
      ...(upstreamCostNanoUsd !== undefined && { upstreamCostNanoUsd }),
    },
  };
}

const STATUSES: Readonly<Record<JobEnd['end'], CallStatus>> = {
  Completed: 'Succeeded',
  Failed: 'ProviderCut',
  Cancelled: 'ClientClosed',
  Deleted: 'ClientClosed',
  GivenUp: 'ProviderCut',
};
