/**
 * Notes what has changed in memory since the last commit, for the next transaction, and which settled calls are not filed
 * yet: they are in the file, but not yet among the usage records and in the balances there (ledger-file.ts).
 */
import { markWritten } from '../balances.ts';
import type { Balances, Hold, MovementLog, RecentCalls, SettledCall } from '../balances.ts';
import { changesCall, forgetJob } from '../jobs.ts';
import type { Job } from '../jobs.ts';
import { correctedBy } from '../ledger-core.ts';
import type { JobBill } from '../ledger.ts';
import type { CallStatus } from '#usage/record.ts';
import type { Settlement } from './rows.ts';

/** So many settled calls are filed together. */
const FILED_TOGETHER = 64;
/** Ids of filed calls are kept in two sets: when the newer one has this size, it replaces the older one. */
const RECENT_CALLS = 10_000;

export class Changes implements MovementLog, RecentCalls {
  readonly #balances: Balances;
  readonly #findInFile: (callId: string) => SettledCall | undefined;
  /** Running calls to write; undefined: the hold was withdrawn. */
  readonly holds = new Map<string, Hold | undefined>();
  /** Settled calls to write. */
  readonly settlements = new Map<string, Settlement>();
  /** Settled calls that are written, and not filed. */
  readonly unfiled = new Map<string, Settlement>();
  readonly jobs = new Set<Job>();
  /** Filed records to correct because their jobs have ended, each with its job's bill; undefined: a refund. */
  readonly corrections = new Map<string, JobBill | undefined>();
  #recent = new Set<string>();
  #earlier = new Set<string>();

  constructor(balances: Balances, findInFile: (callId: string) => SettledCall | undefined) {
    this.#balances = balances;
    this.#findInFile = findInFile;
  }

  /** Nothing has to be written. */
  get isEmpty(): boolean {
    return this.holds.size + this.settlements.size + this.jobs.size === 0 && !this.#balances.hasNewMarks;
  }

  /** Everything is filed. */
  get isFiled(): boolean {
    const { changedKeys, changedAccounts } = this.#balances;
    return this.isEmpty && this.unfiled.size + changedKeys.size + changedAccounts.size === 0;
  }

  /** Many settled calls wait, or a job has changed, whose charge or refund the balances have already, or marks are new. */
  get needsFiling(): boolean {
    if (this.jobs.size > 0 || this.#balances.hasNewMarks) return true;
    return this.settlements.size + this.unfiled.size >= FILED_TOGETHER;
  }

  held(hold: Hold): void {
    this.holds.set(hold.origin.callId, hold);
  }

  withdrawn(callId: string): void {
    this.holds.set(callId, undefined);
  }

  settled(call: SettledCall, { admittedMs, day, month }: Pick<Hold, 'admittedMs' | 'day' | 'month'>): void {
    this.restored({ ...call, admittedMs, dayStartMs: day.startMs, monthStartMs: month.startMs });
  }

  /** Adds a settled call of the previous process, which has to be filed. */
  restored(settlement: Settlement): void {
    const { callId } = settlement.record;
    this.holds.delete(callId);
    this.settlements.set(callId, settlement);
  }

  /** Gives a settled call another status. Returns false if it is filed already. */
  changeStatus(callId: string, status: CallStatus): boolean {
    const call = this.settlements.get(callId) ?? this.unfiled.get(callId);
    if (!call) return false;
    this.unfiled.delete(callId);
    this.settlements.set(callId, { ...call, record: { ...call.record, status } });
    return true;
  }

  job(job: Job): void {
    this.jobs.add(job);
    if (!changesCall(job)) return;
    const { callId } = job.origin;
    for (const calls of [this.settlements, this.unfiled]) {
      const call = calls.get(callId);
      if (!call) continue;
      calls.set(callId, { ...call, ...correctedBy(call, job.bill) });
      return;
    }
    this.corrections.set(callId, job.bill);
  }

  /** True for calls that were settled lately; only the file knows all of them. */
  has(callId: string): boolean {
    return (
      this.settlements.has(callId) || this.unfiled.has(callId) || this.#recent.has(callId) || this.#earlier.has(callId)
    );
  }

  /** Throws if the file cannot be read. */
  get(callId: string): SettledCall | undefined {
    const known = this.settlements.get(callId) ?? this.unfiled.get(callId);
    if (known) return known;
    const call = this.#findInFile(callId);
    return call && this.corrections.has(callId) ? correctedBy(call, this.corrections.get(callId)) : call;
  }

  /** Called when a transaction has written everything, and filed it or not. */
  written(isFiled: boolean): void {
    for (const [callId, call] of this.settlements) this.unfiled.set(callId, call);
    this.holds.clear();
    this.settlements.clear();
    if (isFiled) this.#filed();
  }

  #filed(): void {
    for (const callId of this.unfiled.keys()) this.#recent.add(callId);
    if (this.#recent.size >= RECENT_CALLS) [this.#earlier, this.#recent] = [this.#recent, new Set()];
    for (const job of this.jobs) if (job.state !== 'Running') forgetJob(this.#balances.jobs, job);
    for (const part of [this.unfiled, this.jobs, this.corrections]) part.clear();
    markWritten(this.#balances);
  }
}
