/**
 * Spending for the console's Wallet, from the ledger's usage records: sums by day, key and model, and the calls
 * themselves. Access is not checked here: the caller passes only accounts and keys that the person may see.
 */
import type { CallStatus, UsageRecord } from '#usage/record.ts';
import type { CallPosition, MarginNames, MarginSum } from '#usage/tables.ts';

/** Which calls. Absent fields leave out nothing. Moments are milliseconds since the epoch, of a call's admission. */
export interface CallQuery {
  /** "namespace/name". At least one: there is no view of all accounts at once. */
  readonly accounts: readonly string[];
  /** For accounts named here, only these keys. */
  readonly keysOf?: Readonly<Record<string, readonly string[]>>;
  readonly keyUid?: string;
  readonly model?: string;
  /** The name of the serving group. */
  readonly group?: string;
  /** "route/channel" */
  readonly channel?: string;
  /** One call, found by reading the ids of all the others. */
  readonly callId?: string;
  readonly status?: CallStatus;
  readonly sinceMs?: number;
  /** Exclusive. */
  readonly untilMs?: number;
}

export interface SpendingSum {
  readonly calls: number;
  readonly costNanoUsd: bigint;
  /** Cached and written ones included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface SpendingSums {
  readonly all: SpendingSum;
  /** By UTC day, "2026-11-21", in order; days without calls are left out. */
  readonly byDay: ReadonlyMap<string, SpendingSum>;
  /** By the key's uid, most expensive first. */
  readonly byKey: ReadonlyMap<string, SpendingSum>;
  /** Most expensive first. */
  readonly byModel: ReadonlyMap<string, SpendingSum>;
  /** Calls that were admitted before this moment may be missing, since there are too many; 0: none is. */
  readonly wholeSinceMs: number;
}

/** By what the columns of a chart are split, and how long a column lasts (UTC). */
export interface SeriesKind {
  readonly by: 'Model' | 'Key' | 'Group' | 'Account';
  readonly unit: 'Day' | 'Hour';
}

/** The sum of one interval and one name: a model, a key's uid, a group or an account. */
export interface SeriesSum extends SpendingSum {
  /** When the interval begins, milliseconds since the epoch. */
  readonly startMs: number;
  readonly name: string;
}

export interface Series {
  /** At most one of each interval and name, in no particular order. */
  readonly sums: readonly SeriesSum[];
  /** As of the sums: older calls may be missing. */
  readonly wholeSinceMs: number;
}

/** A name that margins are summed by. */
export type MarginName = keyof MarginNames;

export interface Margins {
  readonly sums: readonly MarginSum[];
  /** As of the sums: older calls may be missing. */
  readonly wholeSinceMs: number;
}

export interface KeyName {
  readonly name: string;
  /** "namespace/name" */
  readonly account: string;
}

/** Newest first. */
export interface CallPage {
  readonly calls: readonly UsageRecord[];
  /** What `before` of the next page is; undefined: this was the last. */
  readonly next: string | undefined;
  /** As of the sums: older calls may be missing. */
  readonly wholeSinceMs: number;
}

/**
 * Completed calls in the order of their admission. A refunded call counts as free. Old records leave the ledger one
 * day. Of an account with very many calls a shared ledger's copy has only the latest, which `wholeSinceMs` tells.
 * Rejects with LedgerUnavailable only.
 */
export interface UsageStore {
  sums(query: CallQuery): Promise<SpendingSums>;
  /**
   * By all of these names together, those billed most first; other names of a sum are those of one of its calls. Reads
   * the calls themselves.
   */
  margins(query: CallQuery, by: readonly MarginName[]): Promise<Margins>;
  /** Quick for days by model, key or account; by group and by hour it reads the calls themselves. */
  series(query: CallQuery, kind: SeriesKind): Promise<Series>;
  page(query: CallQuery, page: { readonly size: number; readonly before?: string }): Promise<CallPage>;
  /** The call, if it matches the query; undefined: there is none, or its record was removed. */
  find(query: CallQuery, call: CallPosition): Promise<UsageRecord | undefined>;
  /** Names of keys by uid, deleted ones included, as far as records of these accounts have them. */
  keyNames(accounts: readonly string[]): Promise<ReadonlyMap<string, KeyName>>;
  /** Oldest first, for exports. */
  records(query: CallQuery): AsyncIterable<UsageRecord>;
  /**
   * Prefetches the accounts that are likely to be asked for next. Errors are ignored here: the query itself reports
   * them.
   */
  prepare(accounts: readonly string[]): void;
  close(): void;
}
