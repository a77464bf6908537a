/**
 * [P] What is known outside of a store of what was spent: the statuses of keys and accounts, for a store that begins
 * anew. They are a lower bound, at most some seconds old; what the journals of processes know is exact.
 */
import type { QuotaPeriod } from '../ledger.ts';
import { periodLetter } from './operations.ts';
import type { Operation } from './operations.ts';
import { windowIndexes } from './replies.ts';

export interface KnownKey {
  readonly keyUid: string;
  readonly account: string;
  readonly totalSpentNanoUsd: bigint;
  readonly period: QuotaPeriod;
  /** Of the period that `spentNanoUsd` is of; null for Never. */
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

/** Everything that is known; asked only when a store begins anew. */
export type RefillSource = () => Promise<KnownSpending>;

/** Operations that raise what the store has to what is known at least, for the accounts that `accepts` takes. */
export function refillOperations(known: KnownSpending, accepts: (account: string) => boolean): Operation[] {
  const { keys, accounts } = known;
  const ofAccounts = accounts.filter(({ account }) => accepts(account))
    .map(({ account, spentNanoUsd }) => [account, String(spentNanoUsd), '', '0', 'N', '0', '0']);
  const ofKeys = keys.filter(({ account }) => accepts(account)).map((key) => [
    '', '0', key.keyUid, String(key.totalSpentNanoUsd),
    periodLetter(key.period), windowIndex(key), String(key.spentNanoUsd),
  ]);
  return [...ofAccounts, ...ofKeys].map((args) => ({ name: 'least', args }));
}

function windowIndex({ period, periodStartMs }: KnownKey): string {
  const { day, month } = windowIndexes(periodStartMs ?? 0);
  return String(period === 'Daily' ? day : month);
}
