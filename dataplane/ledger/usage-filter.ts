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

export function isAskedFor({ keyUid, account, model, createdMs }: UsageRecord, filter: UsageFilter): boolean {
  return createdMs >= (filter.sinceMs ?? 0) && (filter.keyUid ?? keyUid) === keyUid && (filter.account ?? account) === account && (filter.model ?? model) === model;
}
