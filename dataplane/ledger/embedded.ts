/**
 * The ledger of one machine. It decides in memory on one thread, so that each step is atomic without a lock. Before it
 * acknowledges, it appends every movement to a write-ahead journal, in one write per turn of the event loop. A worker
 * thread applies the journal to an SQLite file every two seconds (docs/design/ledger.md). One process owns the files.
 * At the start it settles the holds of the previous process at their last recorded progress.
 */
import { mkdirSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepToOwner } from '../owner-only.ts';
import { changesSince, createBalances, sumHeld } from './balances.ts';
import type { Balances, SettledCall } from './balances.ts';
import { Checkpointer } from './embedded/checkpointer.ts';
import { Committer } from './embedded/committer.ts';
import type { LedgerFault, LedgerSync } from './embedded/committer.ts';
import { Journal } from './embedded/journal.ts';
import type { UsageRetention } from './embedded/ledger-file.ts';
import { recover } from './embedded/recovery.ts';
import { decodeJob, decodeSettled } from './embedded/rows.ts';
import type { Row } from '../usage/rows.ts';
import { lockLedger } from './embedded/schema.ts';
import { openFileThread } from './embedded/thread.ts';
import { claimDue, jobOfChannel, jobOfKey, recordOfJob, countRunning } from './jobs.ts';
import type { Job } from './jobs.ts';
import {
  amountsOf,
  endJob,
  placeHold,
  readKeySpending,
  readRecord,
  recordProgress,
  settleCall,
} from './ledger-core.ts';
import { LedgerUnavailable } from './ledger.ts';
import type {
  AccountSpending,
  Consumed,
  ConversationLimits,
  FinishedJob,
  HoldRequest,
  HoldResult,
  JobBill,
  JobRecord,
  KeptConversation,
  KeySpending,
  Ledger,
  LedgerGauges,
  QuotaPeriod,
  SettleResult,
  Settlement,
  Limit,
  Load,
  TakeResult,
  SpendingChanges,
} from './ledger.ts';
import { count, countSlots, createLimitCounters, release, take } from './limit-counters.ts';
import { consumedBy } from './load.ts';
import type { CallOrigin, CallProgress, UsageRecord } from '../usage/record.ts';

export interface EmbeddedLedgerOptions {
  /** The path of the SQLite file. Its folder is created if missing, and contains the journal too. */
  readonly path: string;
  /** What an acknowledged step survives: a crash of the process (normal, default), or a power failure (full). */
  readonly sync?: LedgerSync;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Called when the journal or the file begins to fail and when it recovers. */
  readonly onFault?: (fault: LedgerFault) => void;
  /** How long records of settled calls are kept. Default: the latest million, for 35 days. */
  readonly retention?: Partial<UsageRetention>;
  /** A hold is refused if it is not in the journal within this time. Default 2000. */
  readonly timeoutMs?: number;
  /** How often the journal is applied to the file. Default 2000. */
  readonly checkpointEveryMs?: number;
  /** For tests: see embedded/faults.ts. */
  readonly faults?: Int32Array;
}

const DAY_MS = 86_400_000;
const DEFAULT_RETENTION: UsageRetention = { maxRecords: 1_000_000, maxAgeMs: 35 * DAY_MS };
const DEFAULT_TIMEOUT_MS = 2_000;
const DEFAULT_CHECKPOINT_MS = 2_000;
const READ_TIMEOUT_MS = 2_000;
/** How long opening and closing wait for a disk that fails. */
const GRACE_MS = 5_000;

/** Opens the ledger. Rejects with a message for operators if its files are unusable. */
export async function openEmbeddedLedger(options: EmbeddedLedgerOptions): Promise<Ledger> {
  const path = prepareFile(options.path);
  const unlock = lockLedger(path);
  try {
    return await openLocked(path, options, unlock);
  } catch (error) {
    unlock();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot open the ledger ${path}: ${reason}`, { cause: error });
  }
}

async function openLocked(path: string, options: EmbeddedLedgerOptions, unlock: () => void): Promise<Ledger> {
  const { sync = 'normal', clock: nowMs = Date.now, onFault = () => undefined, faults } = options;
  const { timeoutMs = DEFAULT_TIMEOUT_MS, checkpointEveryMs: intervalMs = DEFAULT_CHECKPOINT_MS } = options;
  const settings = { path, retention: { ...DEFAULT_RETENTION, ...options.retention }, faults };
  const { thread, ...file } = await openFileThread({ ...settings, readsBalances: true });
  try {
    const balances = createBalances();
    const { checkpoint, lastSegment, recovered } = recover(balances, path, { ...file, nowMs: nowMs() });
    const { ledgerId } = checkpoint;
    const journal = new Journal({ path, ledgerId, number: lastSegment + 1, faults }, balances, recovered);
    balances.log = journal;
    balances.recent = journal.calls;
    const committer = new Committer({ balances, journal, sync, onFault, timeoutMs });
    const reopen = (): ReturnType<typeof openFileThread> => openFileThread({ ...settings, readsBalances: false });
    const deps = { balances, journal, committer, nowMs, reopen, onFault, intervalMs };
    const checkpointer = new Checkpointer(deps, thread, checkpoint);
    const ledger = new EmbeddedLedger({ balances, journal, committer, checkpointer, nowMs, unlock });
    await ledger.settleAbandoned();
    return ledger;
  } catch (error) {
    await thread.kill();
    throw error;
  }
}

function prepareFile(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  keepToOwner(path);
  return realpathSync(path);
}

interface Parts {
  readonly balances: Balances;
  readonly journal: Journal;
  readonly committer: Committer;
  readonly checkpointer: Checkpointer;
  readonly nowMs: () => number;
  readonly unlock: () => void;
}

class EmbeddedLedger implements Ledger {
  readonly #parts: Parts;
  readonly #balances: Balances;
  readonly #committer: Committer;
  readonly #counters = createLimitCounters();
  /** Calls whose records got the status Withheld after they were settled. */
  readonly #withheld = new Set<string>();
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#balances = parts.balances;
    this.#committer = parts.committer;
  }

  /** Settles the holds of the previous process, and begins to checkpoint. */
  async settleAbandoned(): Promise<void> {
    const { journal, checkpointer, nowMs } = this.#parts;
    const recovered = [...this.#balances.holds.values()].sort((a, b) => (a.origin.callId < b.origin.callId ? -1 : 1));
    for (const {
      origin: { callId, createdMs },
      progress,
      renewedMs,
    } of recovered) {
      const settlement = { callId, progress, status: 'Abandoned' as const, durationMs: renewedMs - createdMs };
      settleCall(this.#balances, settlement, nowMs());
    }
    if (recovered.length > 0 && !(await within(GRACE_MS, this.#committer.durable(undefined)))) {
      await this.#committer.stop(0);
      checkpointer.stop();
      journal.close();
      throw unavailable();
    }
    checkpointer.begin();
  }

  take(callId: string, limits: readonly Limit[], load: Load): TakeResult | Promise<TakeResult> {
    if (this.#closing || this.#committer.failing) return this.#refuseLimits();
    return take(this.#counters, callId, { limits, load, nowMs: this.#parts.nowMs() });
  }

  count(callId: string, limits: readonly Limit[]): void {
    count(this.#counters, callId, limits);
  }

  release(callId: string, consumed: Consumed, scopes?: readonly Limit['scope'][]): void {
    release(this.#counters, callId, { consumed, scopes });
  }

  async hold(request: HoldRequest): Promise<HoldResult> {
    this.#assertPromising();
    const { result, pending } = placeHold(this.#balances, request, this.#parts.nowMs());
    return pending ? this.#committer.held(pending, result) : result;
  }

  async recordProgress(progress: ReadonlyMap<string, CallProgress>): Promise<void> {
    this.#assertOpen();
    recordProgress(this.#balances, progress, this.#parts.nowMs());
    if (this.#committer.failing) {
      // the committer writes it when the journal works again
      this.#committer.scheduleWrite();
      throw unavailable();
    }
    if (progress.size > 0) await this.#committer.renewed();
  }

  async settle(settlement: Settlement): Promise<SettleResult> {
    this.#assertOpen();
    const { callId } = settlement;
    this.release(callId, consumedBy(settlement.progress.tokens));
    const settled = settleCall(this.#balances, settlement, this.#parts.nowMs());
    if (settled) return this.#committer.durable(settled).then((durable) => this.#resultOf(durable));
    return resultOf((await this.#findSettled(callId)) ?? refuse('no hold and no record of this call'));
  }

  withhold(callId: string): void {
    if (this.#parts.journal.changeStatus(callId, 'Withheld')) this.#withheld.add(callId);
  }

  #resultOf({ record, ...settled }: SettledCall): SettleResult {
    const isWithheld = this.#withheld.delete(record.callId);
    return resultOf({ ...settled, record: isWithheld ? { ...record, status: 'Withheld' } : record });
  }

  async readJob(keyUid: string, jobId: string): Promise<JobRecord | undefined> {
    this.#assertOpen();
    const job = jobOfKey(this.#balances.jobs, keyUid, jobId) ?? (await this.#findJob('Key', keyUid, jobId));
    return job && recordOfJob(job);
  }

  async countRunningJobs({ keyUid }: Pick<CallOrigin, 'keyUid'>): Promise<number> {
    this.#assertOpen();
    return countRunning(this.#balances.jobs, keyUid);
  }

  async keepConversation(kept: KeptConversation, limits: ConversationLimits): Promise<boolean> {
    this.#assertOpen();
    const asked = this.#parts.checkpointer.thread.keepConversation({ kept, limits, nowMs: this.#parts.nowMs() });
    return (await findInTime(asked)) !== undefined;
  }

  async forgetConversation({ account, id }: Pick<KeptConversation, 'account' | 'id'>): Promise<void> {
    this.#assertOpen();
    await findInTime(this.#parts.checkpointer.thread.forgetConversation(account, id));
  }

  async readChannelJob(account: string, channel: string, jobId: string): Promise<JobRecord | undefined> {
    this.#assertOpen();
    const known = jobOfChannel(this.#balances.jobs, channel, jobId);
    const job = known ?? (await this.#findJob('Channel', channel, jobId));
    return job?.origin.account === account ? recordOfJob(job) : undefined;
  }

  async claimJobs(nowMs: number, againMs: number, limit: number): Promise<readonly JobRecord[]> {
    this.#assertOpen();
    return claimDue(this.#balances.jobs, nowMs, { againMs, limit });
  }

  async finishJob(
    made: Pick<JobRecord, 'jobId' | 'origin'>,
    state: 'Completed' | 'Failed',
    bill?: JobBill,
  ): Promise<FinishedJob> {
    this.#assertOpen();
    const { jobId, origin } = made;
    const job = jobOfChannel(this.#balances.jobs, origin.channel, jobId);
    if (!job) {
      const ended = await this.#findJob('Channel', origin.channel, jobId);
      return recordOfJob(ended ?? refuse('nobody made this job'));
    }
    const isFirst = endJob(this.#balances, job, { state, bill, nowMs: this.#parts.nowMs() });
    const finished = { ...recordOfJob(job), ...(isFirst && job.bill && { billed: amountsOf(job.bill, job) }) };
    return this.#committer.durable(finished);
  }

  async readUsage(keyUid: string, callId: string): Promise<UsageRecord | undefined> {
    this.#assertOpen();
    const known = readRecord(this.#balances, callId, this.#parts.nowMs());
    const record = known ?? (await this.#findSettled(callId))?.record;
    return record?.keyUid === keyUid ? record : undefined;
  }

  async readKey(keyUid: string, period: QuotaPeriod): Promise<KeySpending> {
    this.#assertOpen();
    return readKeySpending(this.#balances, keyUid, { period, nowMs: this.#parts.nowMs() });
  }

  async readAccount(account: string): Promise<AccountSpending> {
    this.#assertOpen();
    const { spentNanoUsd = 0n, heldNanoUsd = 0n } = this.#balances.accounts.get(account) ?? {};
    return { spentNanoUsd, heldNanoUsd };
  }

  async changesSince(mark: object | undefined): Promise<SpendingChanges> {
    this.#assertOpen();
    return changesSince(this.#balances, mark);
  }

  gauges(): LedgerGauges {
    const { holds } = this.#balances;
    return { holds: holds.size, heldNanoUsd: sumHeld(this.#balances), slots: countSlots(this.#counters) };
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const { journal, checkpointer, unlock } = this.#parts;
    await this.#committer.stop(GRACE_MS);
    await within(GRACE_MS, checkpointer.finish());
    const { thread } = checkpointer;
    const closed = await within(
      GRACE_MS,
      thread.close().catch(() => undefined),
    );
    if (!closed) await within(GRACE_MS, thread.kill());
    journal.close();
    unlock();
  }

  async #findSettled(callId: string): Promise<SettledCall | undefined> {
    const { journal, checkpointer } = this.#parts;
    const row = await findInTime(checkpointer.thread.findCall(callId));
    return row && journal.calls.corrected(decodeSettled(row));
  }

  async #findJob(by: 'Key' | 'Channel', owner: string, jobId: string): Promise<Job | undefined> {
    const row = await findInTime(this.#parts.checkpointer.thread.findJob({ by, owner, jobId }));
    return row && decodeJob(row);
  }

  #assertOpen(): void {
    if (this.#closing) throw new LedgerUnavailable('the ledger is closed');
  }

  #assertPromising(): void {
    this.#assertOpen();
    if (this.#committer.failing) throw unavailable();
  }

  async #refuseLimits(): Promise<never> {
    this.#assertPromising();
    throw unavailable();
  }
}

async function findInTime(finding: Promise<Row | undefined>): Promise<Row | undefined> {
  let found: { readonly result: Row | undefined } | undefined;
  try {
    found = await within(READ_TIMEOUT_MS, finding);
  } catch (error) {
    throw new LedgerUnavailable("the ledger's file cannot be read", { cause: error });
  }
  if (!found) throw unavailable();
  return found.result;
}

/** The result of the work, or undefined after the timeout; the work continues. */
async function within<T>(ms: number, work: Promise<T>): Promise<{ readonly result: T } | undefined> {
  const controller = new AbortController();
  const timeout = sleep(ms, undefined, { signal: controller.signal }).catch(() => undefined);
  try {
    return await Promise.race([work.then((result) => ({ result })), timeout]);
  } finally {
    controller.abort();
  }
}

function resultOf({ record, keySpentNanoUsd, keyRemainingNanoUsd }: SettledCall): SettleResult {
  return { record, keySpentNanoUsd, keyRemainingNanoUsd };
}

function unavailable(): LedgerUnavailable {
  return new LedgerUnavailable("the ledger's journal cannot be written now");
}

function refuse(reason: string): never {
  throw new LedgerUnavailable(reason);
}
