/** [P] Decides how a job ended from its state at the provider, and computes its bill if that is due at its end. */
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { JobBill, JobRecord } from '../ledger/ledger.ts';
import type { CallStatus } from '#usage/record.ts';
import { decodeTerms } from '../pipeline/billing-terms.ts';
import { progressOf } from '../pipeline/consumption.ts';
import type { ConvertedJob, Meter } from '../protocol/converter.ts';
import { hasOutput } from '../protocol/usage.ts';
import type { JobEnd } from '../telemetry/call-report.ts';

export interface EndedJob {
  readonly end: JobEnd['end'];
  /** Replaces what was charged. Absent: the consumption is unknown, or the job is not billed at its end. */
  readonly bill?: JobBill;
}

/** A job as the provider's response describes it. */
export type JobState = Pick<ConvertedJob, 'state' | 'consumed'>;

/**
 * Undefined while the job runs. Throws LedgerUnavailable for terms of another version, whose processes can bill the
 * job.
 */
export function outcomeOf(
  { terms: text }: Pick<JobRecord, 'terms'>,
  { state, consumed }: JobState,
): EndedJob | undefined {
  if (state === 'Running') return undefined;
  const end = consumed?.cancelled === true ? 'Cancelled' : state;
  if (text === undefined) return { end };
  const terms = decodeTerms(text);
  if (!terms) throw new LedgerUnavailable('another version of the gateway has to bill this job');
  // without usage, what is seen of a cancelled response says little of what was done for it
  if (!consumed || (end === 'Cancelled' && !consumed.meter.final)) return { end };
  const { meter } = consumed;
  const status = statusAfter(end, meter);
  const activity = {
    meter,
    sent: true,
    produced: end === 'Completed' || hasOutput(meter),
    holdLost: false,
    timedOut: false,
    countedOutput: undefined,
  };
  return { end, bill: { status, progress: progressOf(activity, terms, status) } };
}

/** As the status of a call that its client waits for. */
function statusAfter(end: 'Completed' | 'Failed' | 'Cancelled', meter: Meter): CallStatus {
  if (end === 'Completed') return 'Succeeded';
  if (end === 'Cancelled') return 'ClientClosed';
  return hasOutput(meter) ? 'ProviderCut' : 'Failed';
}
