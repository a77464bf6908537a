/**
 * The ledger records what keys and accounts have spent and hold, and counts what calls take of limits. Money is nano-USD.
 * 1. It grants a hold, durably and atomically, only if it is 0 or spent + held + hold ≤ limit for key and account.
 * 2. settle replaces the hold by the cost, durably, once per call id. A cost above the hold is taken from what is free
 *    under both limits; the rest is `unbilled`.
 * 3. A hold whose process died is settled at its last recorded progress, and it no longer counts as running.
 * 4. Concurrency limits never have more running calls, and limits by the minute never more in any 60 seconds, than
 *    they allow; a call may use more than it took, which then counts.
 * Methods reject only with LedgerUnavailable. test/unit/dataplane/ledger/contract.ts tests every implementation.
 */
import type { Span } from '#ledger/periods.ts';
import type { LedgerReader, SpendingWindow } from '#ledger/spending.ts';
import type { CallOrigin, CallProgress, CallStatus, UsageRecord } from '#usage/record.ts';

/** A limit that a call is admitted against: on money, on running calls, or on what calls take in any 60 seconds. */
export type Limit = MoneyLimit | CountLimit;

/** Of calls: those that run, or what they take in any 60 seconds. */
export type CountMeasure = 'Concurrency' | MinuteMeasure;

export type MinuteMeasure = 'Requests' | 'InputTokens' | 'OutputTokens';

export type Scope = 'Key' | 'Account' | 'Group' | 'Channel';

interface Limited<S extends Scope> {
  readonly scope: S;
  /**
   * Who is limited, unique over all scopes: key/<uid>, account/<namespace>/<name>, group/<group>/<route>/<channel>,
   * channel/<route>/<channel>. Each measure has a counter of its own.
   */
  readonly id: string;
}

/** A limit on the number of calls, or on their tokens. */
export interface CountLimit extends Limited<Scope> {
  readonly measure: CountMeasure;
  readonly amount: number;
}

/** A limit on what a key or an account spends. A call counts in all windows of both, whatever limits they have. */
export type MoneyLimit = KeyQuota | AccountLimit;

interface Spending {
  readonly measure: 'UsdNano';
  readonly window: SpendingWindow;
  /** The name of the time zone in which its window begins; absent: UTC. */
  readonly timeZone?: string;
  /** Of the object that states the limit. A hold is refused if it is older than the latest seen. */
  readonly generation: bigint;
}

export interface KeyQuota extends Limited<'Key'>, Spending {
  /** null: unlimited. */
  readonly amountNanoUsd: bigint | null;
}

/** An account's credit, which is a total, or a limit of what it spends. */
export interface AccountLimit extends Limited<'Account'>, Spending {
  readonly amountNanoUsd: bigint;
  /** It is not the credit. */
  readonly isLimit?: true;
}

export interface AccountCredit extends AccountLimit {
  readonly window: 'Total';
}

/** What a call may use of limits by the minute, known when it is admitted. Each call is one request. */
export interface Load {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The limits on calls that a call takes its part of. */
export interface Wanted {
  readonly limits: readonly CountLimit[];
  readonly load: Load;
}

/** What a call has used of limits by the minute. */
export interface Consumed extends Load {
  readonly requests: number;
}

/** A limit by the minute after a call has taken its part. */
export interface LimitState {
  readonly limit: CountLimit;
  readonly left: number;
  /** After how many milliseconds nothing of it is used, if no other call comes. */
  readonly resetMs: number;
}

/** `full`: the first limit that leaves too little. */
export interface FullLimit {
  readonly outcome: 'Full';
  readonly full: CountLimit;
  /** Of a limit by the minute: what is left of it, and after how many milliseconds there is enough. */
  readonly left?: number;
  readonly retryMs?: number;
}

/** `states`: of the limits by the minute; absent: there are none. */
export type TakeResult = { readonly outcome: 'Taken'; readonly states?: readonly LimitState[] } | FullLimit;

export interface HoldRequest {
  readonly origin: CallOrigin;
  /** All limits of the call's key and account on money, and the limits on calls that it takes its part of. */
  readonly limits: readonly Limit[];
  /** What the call may use of limits by the minute. */
  readonly load: Load;
  /** The most that the call can cost. */
  readonly amountNanoUsd: bigint;
  /** The ledger grants min(amount, free), and refuses if that is below this minimum. An amount of 0 needs nothing free. */
  readonly minimumNanoUsd: bigint;
  /** What a reaper bills if the process dies now. */
  readonly progress: CallProgress;
}

/** `limit` is the tightest one, under which `availableNanoUsd` is free. */
export interface ShortHold extends SpentUnder {
  readonly outcome: 'Short';
  readonly availableNanoUsd: bigint;
}

/** What was spent under a limit, in its window `span`; without one, in total. */
export interface SpentUnder {
  readonly limit: MoneyLimit;
  readonly spentNanoUsd: bigint;
  readonly span?: Span;
}

export type HoldResult =
  | { readonly outcome: 'Held'; readonly heldNanoUsd: bigint; readonly states?: readonly LimitState[] }
  | ShortHold
  /** The ledger has seen newer limits: the caller must read its configuration again. */
  | { readonly outcome: 'StaleLimits' };

/** The result of admitting a call: it takes its part of all limits, or of none. */
export type AdmitResult = HoldResult | FullLimit;

/**
 * Work that a provider continues after the call: a video or a background response. The call is charged when the job is
 * created. When the job ends, the charge stays, is refunded, or is replaced by the exact cost.
 */
export interface JobOrigin {
  /** The provider's id. Unique within a channel. */
  readonly jobId: string;
  /** The time of the first poll, milliseconds since the epoch. */
  readonly pollMs: number;
  /** By which the exact cost is computed at the end. Absent: the charge is exact already. */
  readonly terms?: string;
}

/**
 * Running: its outcome is unknown. Failed: its cost was refunded, or replaced by what a failed response consumed. Journals
 * of an earlier version have the index in this list: append only.
 */
export const JOB_STATES = ['Running', 'Completed', 'Failed'] as const;
export type JobState = (typeof JOB_STATES)[number];

export interface JobRecord {
  readonly jobId: string;
  /** The origin of the call that created the job. */
  readonly origin: CallOrigin;
  readonly state: JobState;
  /** As in its JobOrigin, while the job runs. */
  readonly terms?: string;
}

/** What an ended job is billed, and the final status of its call. */
export interface JobBill {
  readonly progress: CallProgress;
  readonly status: CallStatus;
}

export interface FinishedJob extends JobRecord {
  /** The amounts that replaced the charge; absent: no bill was given, or the job had ended before. */
  readonly billed?: Pick<UsageRecord, 'costNanoUsd' | 'unbilledNanoUsd'>;
}

/** A conversation that a provider keeps for an account. */
export interface KeptConversation {
  readonly account: string;
  /** Unique within the account. */
  readonly id: string;
  /** The size of what was sent to create it, or to extend it. */
  readonly bytes: number;
  /** When it is forgotten unless it is kept again, milliseconds since the epoch; undefined: never. */
  readonly untilMs: number | undefined;
}

/** What the conversations of one account may be together. */
export interface ConversationLimits {
  readonly count: number;
  readonly bytes: number;
}

export interface Settlement {
  /** The job that the call created, recorded atomically with the charge, once per channel and job id. */
  readonly job?: JobOrigin;
  readonly callId: string;
  readonly progress: CallProgress;
  readonly status: CallStatus;
  readonly durationMs: number;
  /** Where the call was finally served: a retry may have changed the route since the hold. */
  readonly origin: CallOrigin;
  /**
   * The limits on money in force now. If they are newer than those of the hold, they too bound what is billed beyond the
   * hold.
   */
  readonly limits?: readonly MoneyLimit[];
}

export interface SettleResult {
  readonly record: UsageRecord;
  /** What was spent in the key's period of the call's admission, including this settlement. */
  readonly keySpentNanoUsd: bigint;
  /** Limit less spent, at least 0; null: unlimited. */
  readonly keyRemainingNanoUsd: bigint | null;
}

export interface LedgerGauges {
  readonly holds: number;
  readonly heldNanoUsd: bigint;
  /** The number of running calls that count in concurrency limits, by scope. */
  readonly slots: Readonly<Record<Exclude<Scope, 'Account'>, number>>;
}

/** Whether the ledger accepts operations now. */
export interface LedgerHealth {
  readonly ok: boolean;
  /** Why it does not accept operations, as a sentence for operators; empty if `ok`. */
  readonly reason: string;
}

export interface Ledger extends LedgerReader {
  /**
   * Takes the call's part of all limits or of none, until it is released or settled. A ledger in memory returns the
   * result without a promise. It never throws: failures are rejections.
   */
  take(callId: string, limits: readonly CountLimit[], load: Load): TakeResult | Promise<TakeResult>;
  /**
   * Takes a slot of each concurrency limit for a call that runs already, even beyond the limit. Never fails: a ledger
   * that cannot be reached takes the slots before it grants anything else.
   */
  count(callId: string, limits: readonly CountLimit[]): void;
  /**
   * Ends what a call has taken of limits of the given scopes, or of all: its slots are free, and limits by the minute keep
   * what it consumed. Never fails; it ignores what the call has not taken.
   */
  release(callId: string, consumed: Consumed, scopes?: readonly Scope[]): void;
  /**
   * Takes the call's part of all limits, its money among them, or of none. What the call has taken before stays, and a
   * later hold with the same call id replaces the earlier one if it is granted.
   */
  admit(request: HoldRequest): Promise<AdmitResult>;
  /** Renews the holds of running calls, and records what a reaper would bill. */
  recordProgress(progress: ReadonlyMap<string, CallProgress>): Promise<void>;
  /**
   * Settles once per call id; a repetition returns the first result. Releases the call's limits too. `onJournaled` is
   * called, at most once, if the ledger's store does not answer and this process's own journal has the settlement on
   * disk: the store then applies it once later, whatever becomes of this process. Ledgers without such a journal never
   * call it.
   */
  settle(settlement: Settlement, onJournaled?: () => void): Promise<SettleResult>;
  /**
   * Gives a call without a job, which `settle` still waits for, the status Withheld, because its client gets no
   * response. Never fails. On one machine a record that is filed already keeps its status.
   */
  withhold(callId: string): void;
  /** A key's job; undefined if there is none or it belongs to another key. */
  readJob(keyUid: string, jobId: string): Promise<JobRecord | undefined>;
  /** The number of a key's jobs that run. Calls that are about to create one are not counted. */
  countRunningJobs(key: Pick<CallOrigin, 'keyUid' | 'account'>): Promise<number>;
  /**
   * Adds bytes to one of an account's conversations, which begins if the account has none with this id. Returns false
   * and changes nothing if the account would then have more than `limits`. Each id counts once; its bytes may count
   * twice if the store breaks off.
   */
  keepConversation(kept: KeptConversation, limits: ConversationLimits): Promise<boolean>;
  /** Ends a conversation. The account need not have it. */
  forgetConversation(kept: Pick<KeptConversation, 'account' | 'id'>): Promise<void>;
  /** A job of a channel; undefined if there is none or a call of another account created it. */
  readChannelJob(account: string, channel: string, jobId: string): Promise<JobRecord | undefined>;
  /**
   * Claims at most `limit` running jobs that are due. A claimed job is due again after `againMs` unless it has ended.
   */
  claimJobs(nowMs: number, againMs: number, limit: number): Promise<readonly JobRecord[]>;
  /**
   * Records a job's outcome. Only the first outcome counts, and later calls return it. The bill replaces what was
   * charged, up to the charge; the rest is `unbilled`. Without a bill, `Failed` refunds everything, and the call's
   * record then has cost 0 and the status Refunded. Refunds go to the periods that were billed.
   */
  finishJob(
    job: Pick<JobRecord, 'jobId' | 'origin'>,
    state: 'Completed' | 'Failed',
    bill?: JobBill,
  ): Promise<FinishedJob>;
  /** The record of a settled or running call; undefined if there is none or it belongs to another key. */
  readUsage(keyUid: string, callId: string): Promise<UsageRecord | undefined>;
  /**
   * Notes for ten seconds that this process is connected to an operator. Absent, like othersConnected, in ledgers of one
   * process.
   */
  noteConnected?(): Promise<void>;
  /** True if the latest such note is another process's. */
  othersConnected?(): Promise<boolean>;
  gauges(): LedgerGauges;
  /** For the readiness page, which shows it and does not depend on it. Absent in ledgers that are always ready. */
  health?(): LedgerHealth;
  /** Resolves when all acknowledged operations are on disk and the store is closed. */
  close(): Promise<void>;
}
