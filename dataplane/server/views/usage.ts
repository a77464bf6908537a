/** [P] The response to `GET /v1/usage/{request id}`: one call's tokens and cost, from its usage record. */
import { viewLines } from '#price/bill.ts';
import type { BillLineView } from '#price/bill.ts';
import { formatDecimal } from '#snapshot/decimal.ts';
import type { RecordedStatus, RecordedUsageSource, UsageRecord } from '#usage/record.ts';
import type { State } from '../../state/state.ts';
import { formatTime } from './time.ts';

export interface UsageView {
  readonly object: 'usage';
  readonly id: string;
  readonly created_at: string;
  readonly model: string;
  /** The group's name for users. */
  readonly group: string;
  /** The member that served the call; null if the group is not an Automatic one. */
  readonly member: string | null;
  /** "route/channel" */
  readonly channel: string;
  readonly status: RecordedStatus;
  /** Input that was neither read from a cache nor written to one. */
  readonly input_tokens: number;
  readonly cached_tokens: number;
  /** The sum of five-minute and one-hour cache writes. */
  readonly cache_write_tokens: number;
  readonly cache_write_5m_tokens: number;
  readonly cache_write_1h_tokens: number;
  readonly output_tokens: number;
  readonly usage_source: RecordedUsageSource;
  readonly cost_usd: string;
  readonly unbilled_usd: string;
  readonly duration_ms: number;
  /** The session that the client named (Claude Code, Codex); absent if it named none. */
  readonly session?: string;
  /** The lines whose sum is the cost; empty: nothing was billed, or an older version wrote the record. */
  readonly lines: readonly BillLineView[];
}

const CENTS = 2;

/** A usage record as the holder of a key of this group sees it. */
export function usageView(record: UsageRecord, keyGroup: string, groups: State['groups']): UsageView {
  const { tokens } = record;
  return {
    object: 'usage',
    id: record.callId,
    created_at: formatTime(record.createdMs),
    model: record.model,
    ...displayNames(record.group, keyGroup, groups),
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
    ...(record.session !== undefined && { session: record.session }),
    lines: viewLines(record.lines),
  };
}

/** The names for a record's serving group: the key's own, a member of it, or a group that the key had before. */
function displayNames(served: string, keyGroup: string, groups: State['groups']): Pick<UsageView, 'group' | 'member'> {
  const name = groups.get(served)?.displayName ?? served;
  const own = groups.get(keyGroup);
  return own?.members.includes(served) ? { group: own.displayName, member: name } : { group: name, member: null };
}
