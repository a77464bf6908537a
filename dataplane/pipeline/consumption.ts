/**
 * [P] What a call has consumed at any moment: its progress while it runs, and its settlement at the end. The provider's
 * figures come first; what it does not report is estimated from what was seen. A missing figure is not zero.
 */
import { costNanoUsd } from '../ledger/price.ts';
import { NO_TOKENS } from '../ledger/usage-record.ts';
import type { CallProgress, CallStatus, TokenCounts, UsageSource } from '../ledger/usage-record.ts';
import { estimateOutputTokens } from '../protocol/estimate.ts';
import type { Meter, ReportedUsage } from '../protocol/converter.ts';
import { UNREPORTED_USAGE } from '../protocol/usage.ts';
import type { Admitted, CallOutcome, CallRecord } from './context.ts';

/** The part of a call's record that says what it owes. */
export type BilledActivity = Pick<CallRecord, 'meter' | 'sent' | 'produced' | 'holdLost'>;

/** The part of an admission that consumption is measured by. */
type Terms = Pick<Admitted, 'bounds' | 'outputLimit'> & { readonly routed: Pick<Admitted['routed'], 'call' | 'offer'> };

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

/** What the call owes if it ends with this status now; Running: what a reaper would bill. */
export function progressOf(activity: BilledActivity, terms: Terms, status: CallStatus): CallProgress {
  if (!isBilled(activity, status)) return FREE;
  const { tokens, usageSource } = countTokens(activity.meter, terms, status);
  const { generations } = terms.routed.call;
  return { costNanoUsd: costNanoUsd(terms.bounds.price, { tokens, generations }), tokens, usageSource };
}

/**
 * A call that the provider did not take, or that it failed before any output, is free. A call that the gateway stopped
 * after sending it is billed.
 */
function isBilled({ produced, sent, holdLost }: BilledActivity, status: CallStatus): boolean {
  if (status === 'Running' || status === 'Succeeded') return true;
  return produced || (sent && (status === 'ClientClosed' || holdLost));
}

interface Counted {
  readonly tokens: TokenCounts;
  readonly usageSource: UsageSource;
}

function countTokens(meter: Meter | undefined, terms: Terms, status: CallStatus): Counted {
  const reported = meter?.reported ?? UNREPORTED_USAGE;
  // a price per generation is exact whatever the provider reports
  if (terms.routed.offer.quotaType === 'Request')
    return { tokens: tokensOf(reported, 0, reported.output ?? 0), usageSource: 'Provider' };
  return {
    tokens: tokensOf(reported, terms.bounds.estimatedInputTokens, outputTokens(meter, terms)),
    usageSource: usageSourceOf(meter, terms, status),
  };
}

/** The estimate counts as input where the provider reports no kind of input. */
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

function usageSourceOf(meter: Meter | undefined, { routed: { call } }: Terms, status: CallStatus): UsageSource {
  const { input, output } = meter?.reported ?? UNREPORTED_USAGE;
  if (meter?.final && input !== undefined && (output !== undefined || !call.output)) return 'Provider';
  return status === 'Succeeded' ? 'Estimated' : 'Partial';
}

function outputTokens(meter: Meter | undefined, { routed: { call }, outputLimit }: Terms): number {
  if (!call.output || !meter) return 0;
  const { answers, predictionTokens } = call.output;
  const allowed = outputLimit * answers + predictionTokens;
  const seen = Math.min(estimateOutputTokens(meter.outputBytes), allowed);
  const { output } = meter.reported;
  // a figure from the middle of a stream is older than what was seen since
  return meter.final && output !== undefined ? output : Math.max(output ?? 0, seen);
}
