/**
 * [P] Refills an empty store from the statuses of keys and accounts. These are some seconds old, and contain what was
 * charged for jobs whose bills have come since, whereas the processes' journals are exact.
 */
import type { QuotaPeriod } from '#ledger/spending.ts';
import { windowLetter } from './operations.ts';
import type { Operation } from './operations.ts';
import { windowIndexes } from './replies.ts';

export interface KnownKey {
  readonly keyUid: string;
  readonly account: string;
  readonly totalSpentNanoUsd: bigint;
  readonly period: QuotaPeriod;
  /** The start of the period of `spentNanoUsd`; null for Never. */
  readonly periodStartMs: number | null;
  readonly spentNanoUsd: bigint;
}

export interface KnownAccount {
  /** "namespace/name" */
  readonly account: string;
  readonly spentNanoUsd: bigint;
}

export interface KnownSpending {
  readonly keys: readonly KnownKey[];
  readonly accounts: readonly KnownAccount[];
}

/** Reads all known spending; called only for an empty store. */
export type RefillSource = () => Promise<KnownSpending>;

/** Operations that raise the store's balances to at least the known ones, for the accounts that `accepts` selects. */
export function refillOperations(known: KnownSpending, accepts: (account: string) => boolean): Operation[] {
  const { keys, accounts } = known;
  const ofAccounts = accounts
    .filter(({ account }) => accepts(account))
    .map(({ account, spentNanoUsd }) => ({ op: 'least', account, spent: String(spentNanoUsd) }));
  const ofKeys = keys
    .filter(({ account }) => accepts(account))
    .map((key) => ({
      op: 'least',
      key: key.keyUid,
      total: String(key.totalSpentNanoUsd),
      period: windowLetter(key.period),
      window: windowIndex(key),
      spent: String(key.spentNanoUsd),
    }));
  return [...ofAccounts, ...ofKeys];
}

function windowIndex({ period, periodStartMs }: KnownKey): number {
  const { day, month } = windowIndexes(periodStartMs ?? 0);
  return period === 'Daily' ? day : month;
}
