/**
 * [P] What is known outside of a store of what was spent: the statuses of keys and accounts, for a store that begins anew. They
 * are a lower bound, at most some seconds old; what processes' journals know is exact.
 */
import type { QuotaPeriod } from '../ledger.ts';
import { periodLetter } from './steps.ts';
import type { Step } from './steps.ts';
import { windowIndexes } from './spending.ts';

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

/** Everything that is known; asked only when a store begins anew. */
export type RefillSource = () => Promise<{ readonly keys: readonly KnownKey[]; readonly accounts: readonly KnownAccount[] }>;

/** Raises what the store knows to what is known at least. */
export function leastSteps({ keys, accounts }: Awaited<ReturnType<RefillSource>>): { readonly account: string; readonly step: Step }[] {
  return [
    ...accounts.map(({ account, spentNanoUsd }) => ({ account, step: leastStep([account, String(spentNanoUsd), '', '0', 'N', '0', '0']) })),
    ...keys.map((key) => ({ account: key.account, step: leastStep(['', '0', key.keyUid, String(key.totalSpentNanoUsd), periodLetter(key.period), windowIndex(key), String(key.spentNanoUsd)]) })),
  ];
}

function leastStep(args: readonly string[]): Step {
  return { name: 'least', args };
}

function windowIndex({ period, periodStartMs }: KnownKey): string {
  const { day, month } = windowIndexes(periodStartMs ?? 0);
  return String(period === 'Daily' ? day : month);
}
