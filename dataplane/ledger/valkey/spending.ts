/**
 * [P] A key's spending from the script's words. Windows have an index there: days since 1970, and months since year 0.
 */
import type { KeySpending, QuotaPeriod } from '../ledger.ts';
import { spanAt, windowKindOf } from '../periods.ts';
import { amount } from './steps.ts';
import type { Reply } from './steps.ts';

const DAY_MS = 86_400_000;

/** The windows' index that a moment is in. */
export function windowIndexes(ms: number): { day: number; month: number } {
  const at = new Date(ms);
  return { day: Math.floor(ms / DAY_MS), month: at.getUTCFullYear() * 12 + at.getUTCMonth() };
}

/** From the reply of the step `key`: spent and held of all time, of the day and of the month that it is there. */
export function parseKeySpending([, now, last, totalSpent, totalHeld, daySpent, dayHeld, monthSpent, monthHeld]: Reply, period: QuotaPeriod): KeySpending {
  const kind = windowKindOf(period);
  const span = kind && spanAt(kind, Number(now));
  const [spent, held] = { Never: [totalSpent, totalHeld], Daily: [daySpent, dayHeld], Monthly: [monthSpent, monthHeld] }[period];
  return {
    periodStartMs: span?.startMs ?? null, resetsMs: span?.endMs ?? null, spentNanoUsd: amount(spent), heldNanoUsd: amount(held),
    totalSpentNanoUsd: amount(totalSpent), lastUsedMs: last === '' ? null : Number(last),
  };
}
