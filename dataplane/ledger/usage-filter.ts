/**
 * [P] Selects usage records.
 */
import type { UsageRecord } from './usage-record.ts';

export interface UsageFilter {
  readonly keyUid?: string | undefined;
  /** "namespace/name" */
  readonly account?: string | undefined;
  readonly model?: string | undefined;
  /** Calls admitted at this time or later, milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
}

export function matchesFilter(record: UsageRecord, filter: UsageFilter): boolean {
  const { keyUid = record.keyUid, account = record.account, model = record.model, sinceMs = 0 } = filter;
  const isOfOwner = record.keyUid === keyUid && record.account === account;
  return isOfOwner && record.model === model && record.createdMs >= sinceMs;
}
