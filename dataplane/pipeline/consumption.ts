/**
 * [P] What a call has consumed at any moment: for its progress while it runs, and for its settlement in the end. Figures of
 * the provider come first; what it leaves out is estimated from what was seen; missing is not zero.
 */
import { costNanoUsd } from '../ledger/price.ts';
import { NO_TOKENS } from '../ledger/usage-record.ts';
import type { CallProgress, CallStatus, TokenCounts, UsageSource } from '../ledger/usage-record.ts';
import { estimateOutputTokens } from '../protocol/estimate.ts';
import type { Meter, ReportedUsage } from '../protocol/converter.ts';
import { NOTHING_REPORTED } from '../protocol/usage.ts';
import type { Admitted, CallRecord, Ending } from './context.ts';

/** The part of a call's record that its consumption is read from. */
export type Progressing = Pick<CallRecord, 'meter' | 'sent' | 'produced' | 'lost'>;

/** The part of an admission that it is measured by. */
export type Measured = Pick<Admitted, 'call' | 'offer' | 'bounds' | 'outputLimit'>;

const NOTHING: CallProgress = { costNanoUsd: 0n, tokens: NO_TOKENS, usageSource: 'Provider' };

/** The status that an ending means for the books. */
export function statusOf(record: Progressing, ending: Ending): CallStatus {
  switch (ending.kind) {
    case 'Whole': return ending.failed === true ? 'Failed' : 'Succeeded';
    case 'Streamed': return 'Succeeded';
    case 'ClientGone': return 'ClientClosed';
    case 'ProviderFailed':
    case 'Error': return record.produced ? 'ProviderCut' : 'Failed';
  }
}

/** What the call owes if it ends with this status now; Running: what a reaper would bill. */
export function progressOf(record: Progressing, admitted: Measured, status: CallStatus): CallProgress {
  if (!owes(record, status)) return NOTHING;
  const { tokens, usageSource } = countTokens(record.meter, admitted, status);
  const generations = admitted.call.generations;
  return { costNanoUsd: costNanoUsd(admitted.bounds.price, { tokens, generations }), tokens, usageSource };
}

/** A call that the provider never took, or that it failed before any output, costs nothing; one that was stopped from this side does. */
function owes(record: Progressing, status: CallStatus): boolean {
  if (status === 'Running' || status === 'Succeeded') return true;
  return record.produced || (record.sent && (status === 'ClientClosed' || record.lost));
}

function countTokens(meter: Meter | undefined, admitted: Measured, status: CallStatus): { tokens: TokenCounts; usageSource: UsageSource } {
  const said = meter?.reported ?? NOTHING_REPORTED;
  // a price per generation is exact whatever the provider says of tokens
  if (admitted.offer.quotaType === 'Request') return { tokens: tokensOf(said, 0, said.output ?? 0), usageSource: 'Provider' };
  return { tokens: tokensOf(said, admitted.bounds.estimatedInputTokens, outputTokens(meter, admitted)), usageSource: usageSourceOf(meter, admitted, status) };
}

/** `estimated`: the input where nothing was said of any of it. */
function tokensOf({ input, cached, cacheWrite5m, cacheWrite1h }: ReportedUsage, estimated: number, output: number): TokenCounts {
  const isSaid = (input ?? cached ?? cacheWrite5m ?? cacheWrite1h) !== undefined;
  return { input: isSaid ? input ?? 0 : estimated, cached: cached ?? 0, cacheWrite5m: cacheWrite5m ?? 0, cacheWrite1h: cacheWrite1h ?? 0, output };
}

function usageSourceOf(meter: Meter | undefined, admitted: Measured, status: CallStatus): UsageSource {
  if (meter?.final && meter.reported.input !== undefined && (meter.reported.output !== undefined || !admitted.call.output)) return 'Provider';
  return status === 'Succeeded' ? 'Estimated' : 'Partial';
}

function outputTokens(meter: Meter | undefined, admitted: Measured): number {
  if (!admitted.call.output || !meter) return 0;
  const { answers, predictionTokens } = admitted.call.output;
  const allowed = admitted.outputLimit * answers + predictionTokens;
  const seen = Math.min(estimateOutputTokens(meter.outputBytes), allowed);
  const { output } = meter.reported;
  // a figure from the middle of a stream is older than what was seen since
  return meter.final && output !== undefined ? output : Math.max(output ?? 0, seen);
}
