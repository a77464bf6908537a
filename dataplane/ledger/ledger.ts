/**
 * The ledger: what keys and accounts have spent and hold, and the concurrency slots. Money is BigInt nano-USD.
 * 1. A hold is granted, and durable then, only if spent + held + hold ≤ limit for key and account, in one atomic step.
 * 2. settle replaces the hold by the cost, durably, once per call id. What exceeds the hold is taken from what is free
 *    under both limits; the rest is `unbilled`.
 * 3. A hold whose process died is settled at its last recorded progress. Its slots are free then.
 * 4. No slot is taken beyond the limit that it is asked for with.
 * Methods reject with LedgerUnavailable, and with nothing else. test/unit/dataplane/ledger/contract.ts tests every ledger.
 */
import type { CallOrigin, CallProgress, CallStatus, UsageRecord } from './usage-record.ts';

export type QuotaPeriod = 'Never' | 'Daily' | 'Monthly';

/**
 * One concurrency threshold. `id` is unique over all scopes: key/<uid>, group/<group>/<route>/<channel>,
 * channel/<route>/<channel>.
 */
export interface SlotLimit {
  readonly scope: 'Key' | 'Group' | 'Channel';
  readonly id: string;
  readonly limit: number;
}

export type SlotResult =
  | { readonly outcome: 'Taken' }
  | { readonly outcome: 'Full'; readonly full: SlotLimit };

/**
 * The limits that a call is measured against, and the generations they come from: an older one than already seen is
 * refused.
 */
export interface Limits {
  /** null: Unlimited. */
  readonly keyLimitNanoUsd: bigint | null;
  readonly period: QuotaPeriod;
  readonly keyGeneration: bigint;
  readonly accountCreditNanoUsd: bigint;
  readonly accountGeneration: bigint;
}

export interface HoldRequest {
  readonly origin: CallOrigin;
  readonly limits: Limits;
  /** What the call costs at most. */
  readonly amountNanoUsd: bigint;
  /** The least that helps the caller, ≤ amount: granted is min(amount, free), if that is at least this. */
  readonly minimumNanoUsd: bigint;
  /** What is billed if the process dies now. */
  readonly progress: CallProgress;
}

export type HoldResult =
  | { readonly outcome: 'Held'; readonly heldNanoUsd: bigint }
  /** `short` names the tighter of the two; available is what is free under both. */
  | { readonly outcome: 'Short'; readonly short: 'Key' | 'Account'; readonly availableNanoUsd: bigint }
  /** The limits are older than ones already seen: read the configuration again. */
  | { readonly outcome: 'StaleLimits' };

/** Slots and money were both had, or neither: `Full` is of the slots. */
export type AdmitResult = HoldResult | Extract<SlotResult, { readonly outcome: 'Full' }>;

/**
 * A job that a provider goes on with after its call is over (a video): charged when it was made, given back once if the
 * provider says that it failed. Bound to the key and the channel that made it.
 */
export interface JobOrigin {
  /** The provider's id of it, which is the client's too. Unique within a channel. */
  readonly jobId: string;
  /** When a poller looks first, milliseconds since the epoch. */
  readonly pollMs: number;
}

/** Running: nobody has heard how it ends. Failed: its cost was given back. */
export type JobState = 'Running' | 'Completed' | 'Failed';

export interface JobRecord {
  readonly jobId: string;
  /** Of the call that made it: whose it is, through what, and when. */
  readonly origin: CallOrigin;
  readonly state: JobState;
}

export interface Settlement {
  /** Recorded in the same step as the charge; the same job of the same channel is not recorded twice. */
  readonly job?: JobOrigin;
  readonly callId: string;
  readonly progress: CallProgress;
  readonly status: CallStatus;
  readonly durationMs: number;
  /** Where a retry changed them since the hold. */
  readonly origin: CallOrigin;
  /**
   * Those in force now: what the call cost beyond its hold is measured against them too, if they are later than the
   * ones seen.
   */
  readonly limits?: Limits;
}

export interface SettleResult {
  readonly record: UsageRecord;
  /** Of the key's period that the call was admitted in, after this settlement. */
  readonly keySpentNanoUsd: bigint;
  /** Limit less spent; null: Unlimited. Never below 0. */
  readonly keyRemainingNanoUsd: bigint | null;
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
}

/** Whose spending may have changed since a mark. Without names: everybody's, as the mark is not the latest. */
export interface SpendingChanges {
  /** To be given next time: the answer has everything that changes after it. */
  readonly mark: object;
  /** By uid. */
  readonly keys?: readonly string[];
  /** By "namespace/name". */
  readonly accounts?: readonly string[];
}

/** What the operator reads, for statuses. */
export interface LedgerReader {
  /** `account`: the key's, where the caller knows it: a ledger of many buckets then asks one. */
  readKey(keyUid: string, period: QuotaPeriod, account?: string): Promise<KeySpending>;
  /** `account`: "namespace/name". */
  readAccount(account: string): Promise<AccountSpending>;
  /**
   * Whose spending to read again, for who read it at `mark`, or at none: to be asked before it is read. That a period
   * has ended is no change. Absent: a ledger that cannot tell.
   */
  changesSince?(mark: object | undefined): Promise<SpendingChanges>;
}

export interface LedgerGauges {
  readonly holds: number;
  readonly heldNanoUsd: bigint;
  /** Slots in use by scope. */
  readonly slots: Readonly<Record<SlotLimit['scope'], number>>;
}

/** Whether it can promise anything now. */
export interface LedgerHealth {
  readonly ok: boolean;
  /** In words, where it is not ok. */
  readonly reason: string;
}

export interface Ledger extends LedgerReader {
  /**
   * All of them, or none. The call owns them until it gives them back by the same call id. A ledger that decides in
   * memory answers at once; neither throws where it can promise nothing: a promise rejects.
   */
  takeSlots(callId: string, slots: readonly SlotLimit[]): SlotResult | Promise<SlotResult>;
  /** Gives back the named scopes' slots of a call, or all of them. Never fails; unknown ones are ignored. */
  releaseSlots(callId: string, scopes?: readonly SlotLimit['scope'][]): void;
  /** A second hold of the same call id replaces the first, if it is granted; else the first stays. */
  hold(request: HoldRequest): Promise<HoldResult>;
  /**
   * All of these slots and the hold, or nothing of both; those that the call has already stay. Present where that is
   * less work than one after the other.
   */
  admit?(request: HoldRequest, slots: readonly SlotLimit[]): Promise<AdmitResult>;
  /** Renews the holds of running calls with what a reaper would bill. */
  recordProgress(progress: ReadonlyMap<string, CallProgress>): Promise<void>;
  /** Exactly once per call id; a repetition answers with the first result. Frees the call's slots too. */
  settle(settlement: Settlement): Promise<SettleResult>;
  /** A key's job; undefined where there is none or it is another key's. */
  readJob(keyUid: string, jobId: string): Promise<JobRecord | undefined>;
  /**
   * Running jobs whose time to be looked at has come, at most so many; each is given to one caller, and comes again
   * after `againMs` if nobody says how it ended.
   */
  claimJobs(nowMs: number, againMs: number, limit: number): Promise<readonly JobRecord[]>;
  /**
   * How a job ended, once: only the first counts, and later ones are answered with it. Failed gives the call's cost
   * back to key and account in the windows that it was billed in; its record then costs nothing and has the status
   * Refunded.
   */
  finishJob(job: Pick<JobRecord, 'jobId' | 'origin'>, state: 'Completed' | 'Failed'): Promise<JobRecord>;
  /** The record of a call, running ones included; undefined where there is none or it is another key's. */
  readUsage(keyUid: string, callId: string): Promise<UsageRecord | undefined>;
  gauges(): LedgerGauges;
  /** For readiness. Absent: a ledger that is as ready as its process. */
  health?(): LedgerHealth;
  /** Resolves once everything that was acknowledged is on disk and the store is closed. */
  close(): Promise<void>;
}

/** The ledger cannot promise anything now. The caller answers 503 and may try again. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable';
}
