/**
 * [P] Selects usage records.
 */
import type { UsageRecord } from './usage-record.ts';

export interface UsageFilter {
  readonly keyUid?: string | undefined;
  /** "namespace/name" */
  readonly account?: string | undefined;
  readonly model?: string | undefined;
  /** The name of the session, as the client sent it. */
  readonly session?: string | undefined;
  /** Only calls admitted at this time or later, milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
}

export function matchesFilter(record: UsageRecord, filter: UsageFilter): boolean {
  const { keyUid = record.keyUid, account = record.account, sinceMs = 0 } = filter;
  const { model = record.model, session = record.session } = filter;
  const isOfOwner = record.keyUid === keyUid && record.account === account;
  return isOfOwner && record.model === model && record.session === session && record.createdMs >= sinceMs;
}
