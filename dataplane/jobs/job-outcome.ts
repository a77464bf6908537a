/** [P] What a provider's response says of a job, and the bill of a job that is billed at its end. */
import type { JobBill, JobRecord, JobState } from '../ledger/ledger.ts';
import type { CallStatus } from '../ledger/usage-record.ts';
import { decodeTerms } from '../pipeline/billing-terms.ts';
import { progressOf, worstCaseProgress } from '../pipeline/consumption.ts';
import type { ConvertedJob, Meter } from '../protocol/converter.ts';
import type { JobEnd } from '../telemetry/call-report.ts';

export interface JobOutcome {
  readonly state: JobState;
  /** The exact cost; absent while the job runs, and for a job that is not billed at its end. */
  readonly bill?: JobBill;
}

export type SeenJob = Pick<ConvertedJob, 'state' | 'consumed'>;

export function outcomeOf({ terms }: Pick<JobRecord, 'terms'>, { state, consumed }: SeenJob): JobOutcome {
  if (state === 'Running' || terms === undefined || !consumed) return { state };
  const { meter } = consumed;
  const status = statusOf(state, consumed);
  const activity = {
    meter, sent: true, produced: state === 'Completed' || hasOutput(meter), holdLost: false, timedOut: false,
    countedOutput: undefined,
  };
  return { state, bill: { status, progress: progressOf(activity, decodeTerms(terms), status) } };
}

/** The charge as the bill of a job whose consumption stays unknown; undefined: the job is not billed at its end. */
export function chargeOf({ terms }: Pick<JobRecord, 'terms'>, end: JobEnd['end']): JobBill | undefined {
  if (terms === undefined) return undefined;
  const status = end === 'Deleted' ? 'ClientClosed' : 'ProviderCut';
  return { status, progress: worstCaseProgress(decodeTerms(terms)) };
}

/** As the status of a call that its client waits for: a cancelled one is billed by what is known of it. */
function statusOf(
  state: 'Completed' | 'Failed', { meter, cancelled }: NonNullable<ConvertedJob['consumed']>,
): CallStatus {
  if (state === 'Completed') return 'Succeeded';
  if (cancelled) return 'ClientClosed';
  return hasOutput(meter) ? 'ProviderCut' : 'Failed';
}

function hasOutput({ outputBytes, reported }: Meter): boolean {
  return outputBytes > 0 || (reported.output ?? 0) > 0;
}
