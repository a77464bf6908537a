/**
 * [P] The answer of `GET /v1/usage/{request id}`: one call's tokens and cost, as its usage record has them.
 */
import { formatDecimal } from '../../snapshot/decimal.ts';
import type { CallStatus, UsageRecord, UsageSource } from '../../ledger/usage-record.ts';
import { formatTime } from './time.ts';

export interface UsageView {
  readonly object: 'usage';
  readonly id: string;
  readonly created_at: string;
  readonly model: string;
  readonly group: string;
  /** "route/channel" */
  readonly channel: string;
  readonly status: CallStatus;
  /** Those neither cached nor written to a cache. */
  readonly input_tokens: number;
  readonly cached_tokens: number;
  /** Of five minutes and of an hour together. */
  readonly cache_write_tokens: number;
  readonly cache_write_5m_tokens: number;
  readonly cache_write_1h_tokens: number;
  readonly output_tokens: number;
  readonly usage_source: UsageSource;
  readonly cost_usd: string;
  readonly unbilled_usd: string;
  readonly duration_ms: number;
}

const CENTS = 2;

/** A usage record as the key's holder sees it. */
export function usageView(record: UsageRecord): UsageView {
  const { tokens } = record;
  return {
    object: 'usage',
    id: record.callId,
    created_at: formatTime(record.createdMs),
    model: record.model,
    group: record.group,
    channel: record.channel,
    status: record.status,
    input_tokens: tokens.input,
    cached_tokens: tokens.cached,
    cache_write_tokens: tokens.cacheWrite5m + tokens.cacheWrite1h,
    cache_write_5m_tokens: tokens.cacheWrite5m,
    cache_write_1h_tokens: tokens.cacheWrite1h,
    output_tokens: tokens.output,
    usage_source: record.usageSource,
    cost_usd: formatDecimal(record.costNanoUsd, CENTS),
    unbilled_usd: formatDecimal(record.unbilledNanoUsd, CENTS),
    duration_ms: record.durationMs,
  };
}
