/**
 * [P] Which records of calls somebody asks for.
 */
import type { UsageRecord } from './usage-record.ts';

export interface UsageFilter {
  /** The key's identity in the ledger. */
  readonly keyUid?: string | undefined;
  /** "namespace/name" */
  readonly account?: string | undefined;
  readonly model?: string | undefined;
  /** Calls that were admitted at this moment or later, milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
}

export function isAskedFor(record: UsageRecord, filter: UsageFilter): boolean {
  const { keyUid = record.keyUid, account = record.account, model = record.model, sinceMs = 0 } = filter;
  const isOfOwner = record.keyUid === keyUid && record.account === account;
  return isOfOwner && record.model === model && record.createdMs >= sinceMs;
}
