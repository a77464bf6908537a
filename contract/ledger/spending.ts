/**
 * What a ledger says to those who only read it: spending for statuses and pages. Money is nano-USD. The data plane's
 * ledgers implement it beside what calls need of them.
 */

export type QuotaPeriod = 'Never' | 'Daily' | 'Weekly' | 'Monthly';

/** A quota's period, and the time zone in which it begins. */
export interface PeriodOf {
  readonly period: QuotaPeriod;
  /** Absent: UTC. */
  readonly timeZone?: string | undefined;
}

/** What a money limit sums up: all that was ever spent, or a calendar day, week (from Monday) or month. */
export type SpendingWindow = 'Total' | 'Day' | 'Week' | 'Month';

/** A kind of calendar period in a time zone. */
export interface CalendarWindow {
  readonly kind: Exclude<SpendingWindow, 'Total'>;
  readonly timeZone: string;
}

export interface KeySpending {
  /** Start of the current period, milliseconds since the epoch; null for Never. */
  readonly periodStartMs: number | null;
  /** First moment of the next period; null for Never. */
  readonly resetsMs: number | null;
  readonly spentNanoUsd: bigint;
  readonly heldNanoUsd: bigint;
  readonly totalSpentNanoUsd: bigint;
  readonly lastUsedMs: number | null;
}

export interface AccountSpending {
  readonly spentNanoUsd: bigint;
  readonly heldNanoUsd: bigint;
  /** In the current windows that were asked for, in their order; absent: none were. */
  readonly windows?: readonly WindowSpending[];
}

/** What was spent in a calendar window that is not over. */
export interface WindowSpending {
  readonly startMs: number;
  /** The first moment of the next one. */
  readonly endMs: number;
  readonly spentNanoUsd: bigint;
  readonly heldNanoUsd: bigint;
}

/**
 * The keys and accounts whose spending may have changed since a mark. If a list is absent, all of them may have
 * changed.
 */
export interface SpendingChanges {
  /** Pass it to the next call, which then reports everything that has changed since. */
  readonly mark: object;
  /** Uids. */
  readonly keys?: readonly string[];
  /** Names in the form "namespace/name". */
  readonly accounts?: readonly string[];
}

/** The methods by which the operator reads spending for statuses. */
export interface LedgerReader {
  /** `account` is the key's, if known; a ledger with several buckets then reads only one of them. */
  readKey(keyUid: string, period: QuotaPeriod | PeriodOf, account?: string): Promise<KeySpending>;
  /** `account`: "namespace/name". */
  readAccount(account: string, windows?: readonly CalendarWindow[]): Promise<AccountSpending>;
  /**
   * Says what a caller that read spending at `mark` must read again. Call it before reading. The end of a period does
   * not count as a change. Absent in ledgers that do not track changes.
   */
  changesSince?(mark: object | undefined): Promise<SpendingChanges>;
}

/** The ledger cannot accept the operation now. The client gets 503 and may retry. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable';
}
