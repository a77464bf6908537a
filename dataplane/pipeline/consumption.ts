/**
 * [P] Computes what a call has consumed: its progress while it runs, and its cost at the end. The provider's figures
 * count first; a figure that it does not report is estimated, and never taken as zero.
 */
import { costNanoUsd } from '../ledger/price.ts';
import { NO_TOKENS } from '../ledger/usage-record.ts';
import type { CallProgress, CallStatus, TokenCounts, UsageSource } from '../ledger/usage-record.ts';
import { estimateOutputTokens } from '../protocol/estimate.ts';
import type { Meter, ReportedUsage } from '../protocol/converter.ts';
import { UNREPORTED_USAGE } from '../protocol/usage.ts';
import type { Admitted, CallOutcome, CallRecord } from './context.ts';

/** The part of a call's record that decides whether and what it is billed. */
export type BilledActivity = Pick<CallRecord, 'meter' | 'sent' | 'produced' | 'holdLost'>;

/** The part of an admission that decides the price. */
type BillingTerms = Pick<Admitted, 'bounds' | 'outputLimit'> & {
  readonly routed: Pick<Admitted['routed'], 'call' | 'offer'>;
};

const FREE: CallProgress = { costNanoUsd: 0n, tokens: NO_TOKENS, usageSource: 'Provider' };

/** The status of an outcome in the usage record. */
export function statusOf({ produced }: BilledActivity, outcome: CallOutcome): CallStatus {
  switch (outcome.kind) {
    case 'Buffered': return outcome.failed ? 'Failed' : 'Succeeded';
    case 'Streamed': return 'Succeeded';
    case 'ClientGone': return 'ClientClosed';
    case 'ProviderFailed':
    case 'Error': return produced ? 'ProviderCut' : 'Failed';
  }
}

/** The call's cost if it ended now with this status; Running: what the reaper would bill. */
export function progressOf(activity: BilledActivity, terms: BillingTerms, status: CallStatus): CallProgress {
  if (!isBilled(activity, status)) return FREE;
  const { tokens, usageSource } = measureUsage(activity.meter, terms, status);
  const { generations } = terms.routed.call;
  return { costNanoUsd: costNanoUsd(terms.bounds.price, { tokens, generations }), tokens, usageSource };
}

/**
 * A call that the provider refused or failed before any output is free. A call that the gateway cancelled after sending
 * it is billed.
 */
function isBilled({ produced, sent, holdLost }: BilledActivity, status: CallStatus): boolean {
  if (status === 'Running' || status === 'Succeeded') return true;
  return produced || (sent && (status === 'ClientClosed' || holdLost));
}

interface MeasuredUsage {
  readonly tokens: TokenCounts;
  readonly usageSource: UsageSource;
}

function measureUsage(meter: Meter | undefined, terms: BillingTerms, status: CallStatus): MeasuredUsage {
  const reported = meter?.reported ?? UNREPORTED_USAGE;
  // a price per generation is exact whatever the provider reports
  if (terms.routed.offer.quotaType === 'Request')
    return { tokens: tokensOf(reported, 0, reported.output ?? 0), usageSource: 'Provider' };
  return {
    tokens: tokensOf(reported, terms.bounds.estimatedInputTokens, outputTokens(meter, terms)),
    usageSource: usageSourceOf(meter, terms, status),
  };
}

/** Counts the estimate as input where the provider reports no input of any class. */
function tokensOf(reported: ReportedUsage, estimatedInput: number, output: number): TokenCounts {
  const { input, cached, cacheWrite5m, cacheWrite1h } = reported;
  const isReported = (input ?? cached ?? cacheWrite5m ?? cacheWrite1h) !== undefined;
  return {
    input: isReported ? input ?? 0 : estimatedInput,
    cached: cached ?? 0,
    cacheWrite5m: cacheWrite5m ?? 0,
    cacheWrite1h: cacheWrite1h ?? 0,
    output,
  };
}

function usageSourceOf(meter: Meter | undefined, { routed: { call } }: BillingTerms, status: CallStatus): UsageSource {
  const { input, output } = meter?.reported ?? UNREPORTED_USAGE;
  if (meter?.final && input !== undefined && (output !== undefined || !call.output)) return 'Provider';
  return status === 'Succeeded' ? 'Estimated' : 'Partial';
}

function outputTokens(meter: Meter | undefined, { routed: { call }, outputLimit }: BillingTerms): number {
  if (!call.output || !meter) return 0;
  const { answers, predictionTokens } = call.output;
  const allowed = outputLimit * answers + predictionTokens;
  const seen = Math.min(estimateOutputTokens(meter.outputBytes), allowed);
  const { output } = meter.reported;
  // a figure reported in the middle of a stream may be older than the text seen since
  return meter.final && output !== undefined ? output : Math.max(output ?? 0, seen);
}
