/**
 * [P] Refills an empty store from the statuses of keys and accounts. These are some seconds old, and contain what was
 * charged for jobs whose bills have come since, whereas the processes' journals are exact.
 */
import type { QuotaPeriod } from '#ledger/spending.ts';
import { isMarked } from '../marks.ts';
import { windowKindOf } from '#ledger/periods.ts';
import { UTC } from '#snapshot/time-zone.ts';
import { windowLetter } from './operations.ts';
import type { Operation, Value } from './operations.ts';
import { windowIndexes } from './replies.ts';

export interface KnownKey {
  readonly keyUid: string;
  readonly account: string;
  readonly totalSpentNanoUsd: bigint;
  readonly period: QuotaPeriod;
  /** Absent: UTC. */
  readonly timeZone?: string;
  /** The start of the period of `spentNanoUsd`; null for Never. */
  readonly periodStartMs: number | null;
  readonly spentNanoUsd: bigint;
}

export interface KnownAccount {
  /** "namespace/name" */
  readonly account: string;
  readonly spentNanoUsd: bigint;
  readonly windows?: readonly KnownWindow[];
}

/** What was spent since the beginning of a window that is not over. */
export interface KnownWindow {
  readonly startMs: number;
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
    .map(({ account, spentNanoUsd, windows = [] }) => ({
      op: 'least',
      account,
      spent: String(spentNanoUsd),
      ...(windows.length > 0 && { windows: windows.map(windowValues) }),
    }));
  const ofKeys = keys
    .filter(({ account }) => accepts(account))
    .map((key) => ({
      op: 'least',
      key: key.keyUid,
      total: String(key.totalSpentNanoUsd),
      ...periodValues(key),
    }));
  return [...ofAccounts, ...ofKeys];
}

function windowValues({ startMs, spentNanoUsd }: KnownWindow): { readonly start: number; readonly spent: string } {
  return { start: startMs, spent: String(spentNanoUsd) };
}

/** Of a period that the script has a counter for: its index. */
function periodValues(key: KnownKey): Readonly<Record<string, Value>> {
  const { period, timeZone = UTC, periodStartMs: startMs, spentNanoUsd } = key;
  const kind = windowKindOf(period);
  if (!kind || !isMarked('Key', { kind, timeZone }))
    return { period: windowLetter(period), window: windowIndex(key), spent: String(spentNanoUsd) };
  return {
    period: windowLetter('Never'),
    ...(startMs !== null && { windows: [windowValues({ startMs, spentNanoUsd })] }),
  };
}

function windowIndex({ period, periodStartMs }: KnownKey): number {
  const { day, month } = windowIndexes(periodStartMs ?? 0);
  return period === 'Daily' ? day : month;
}
