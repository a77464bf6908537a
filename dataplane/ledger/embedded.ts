/**
 * The ledger of one machine. It decides in memory on one thread, so that each step is atomic without a lock. Before it
 * acknowledges, it commits everything that one turn of the event loop has changed to an SQLite file, in one transaction
 * (docs/design/ledger.md). One process owns the file. At the start it settles the holds of the previous process at their
 * last recorded progress.
 */
import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepToOwner } from '#runtime/owner-only.ts';
import { changesSince, createBalances, sumHeld } from './balances.ts';
import type { Balances, SettledCall } from './balances.ts';
import { Changes } from './embedded/changes.ts';
import { Checkpointer } from './embedded/checkpointer.ts';
import { BUSY_PAUSE_MS, Committer, unavailable } from './embedded/committer.ts';
import type { LedgerFault, LedgerSync } from './embedded/committer.ts';
import { isCopied, logOf, putCopyInPlace, syncFolderOf } from './embedded/file-copy.ts';
import { FileBusy, LedgerFile } from './embedded/ledger-file.ts';
import type { KeptConversations } from './embedded/kept-conversations.ts';
import { readOldJournal, removeOldJournal } from './embedded/old-journal.ts';
import { restoreBalances } from './embedded/restore.ts';
import { lockLedger, openFile, readStoredBalances } from './embedded/schema.ts';
import type { UsageRetention } from './embedded/usage-rows.ts';
import { claimDue, jobOfChannel, jobOfKey, recordOfJob, countRunning } from './jobs.ts';
import {
  amountsOf,
  endJob,
  placeHold,
  readAccountSpending,
  readKeySpending,
  readRecord,
  recordProgress,
  settleCall,
} from './ledger-core.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type {
  AccountSpending,
  CalendarWindow,
  KeySpending,
  PeriodOf,
  QuotaPeriod,
  SpendingChanges,
} from '#ledger/spending.ts';
import type {
  Consumed,
  ConversationLimits,
  FinishedJob,
  AdmitResult,
  HoldRequest,
  JobBill,
  JobRecord,
  KeptConversation,
  Ledger,
  LedgerGauges,
  SettleResult,
  Settlement,
  CountLimit,
  Load,
  Scope,
  TakeResult,
} from './ledger.ts';
import { count, countSlots, createLimitCounters, giveBack, missing, release, take } from './limit-counters.ts';
import { consumedBy, countsIn } from './load.ts';
import { periodIn } from '#ledger/periods.ts';
import type { CallOrigin, CallProgress, UsageRecord } from '#usage/record.ts';

export interface EmbeddedLedgerOptions {
  /** The path of the SQLite file. Its folder is created if missing, and contains the file's log and lock too. */
  readonly path: string;
  /** What an acknowledged step survives: a crash of the process (normal, default), or a power failure (full). */
  readonly sync?: LedgerSync;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Called when the file begins to fail, when it recovers, and if its log was damaged. */
  readonly onFault?: (fault: LedgerFault) => void;
  /** How long records of settled calls are kept. Default: the latest million, for 35 days. */
  readonly retention?: Partial<UsageRetention>;
  /** How long a hold may take to become durable before it is refused. Default 2000. */
  readonly timeoutMs?: number;
  /** How often a checkpoint moves SQLite's log into the file. Default 2000. */
  readonly checkpointEveryMs?: number;
  /** A log of more pages is restarted, and commits wait until that is done. Default 16384: 64 MiB. */
  readonly logPages?: number;
  /** For tests: see embedded/faults.ts. */
  readonly faults?: Int32Array;
}

const DAY_MS = 86_400_000;
const DEFAULT_RETENTION: UsageRetention = { maxRecords: 1_000_000, maxAgeMs: 35 * DAY_MS };
const DEFAULT_TIMEOUT_MS = 2_000;
const DEFAULT_CHECKPOINT_MS = 2_000;
const DEFAULT_LOG_PAGES = 16_384;
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
  const { logPages = DEFAULT_LOG_PAGES } = options;
  putCopyInPlace(path);
  const db = openFile(path, (reason) => onFault({ state: 'Damaged', reason }));
  try {
    const retention = { ...DEFAULT_RETENTION, ...options.retention };
    const file = new LedgerFile({ path, retention, nowMs, faults }, db);
    const balances = createBalances();
    const changes = new Changes(balances, (callId) => file.findCall(callId));
    balances.log = changes;
    balances.recent = changes;
    restore(path, { db, file, balances, changes, nowMs: nowMs() });
    file.syncApart();
    await syncFolderOf(path);
    const fileCalls = (): void => committer.fileCalls();
    const checkpointer = new Checkpointer({ path, file, fileCalls, onFault, intervalMs, logPages, faults });
    const checkpoint = (): Promise<void> => checkpointer.checkpoint();
    const committer = new Committer({ balances, changes, file, sync, onFault, timeoutMs, checkpoint });
    const ledger = new EmbeddedLedger({ balances, changes, file, committer, checkpointer, nowMs, unlock });
    await ledger.settleAbandoned();
    return ledger;
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
}

interface Restoring {
  readonly db: DatabaseSync;
  readonly file: LedgerFile;
  readonly balances: Balances;
  readonly changes: Changes;
  readonly nowMs: number;
}

/** Reads the balances, and takes an earlier version's journal into the file before it is deleted. */
function restore(path: string, { db, file, balances, changes, nowMs }: Restoring): void {
  const journal = readOldJournal(path, db);
  if (!journal?.supersedesFile) {
    const calls = restoreBalances(balances, readStoredBalances(db), nowMs);
    file.adoptCalls(calls);
    for (const call of calls) if ('settled' in call) changes.restored(call.settled);
  }
  journal?.replay(balances, changes, nowMs);
  file.commit(balances, changes, { files: true, first: journal && ((open) => journal.take(open)) });
  removeOldJournal(path);
}

function prepareFile(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  assertNotLost(path);
  keepToOwner(path);
  return realpathSync(path);
}

/** SQLite deletes the log of a file that is not there. */
function assertNotLost(path: string): void {
  const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (sizeOf(path) > 0 || sizeOf(logOf(path)) === 0 || isCopied(path)) return;
  throw new Error(
    `cannot open the ledger ${path}: the file is missing, and its log ${logOf(path)} is there. Restore the file and its ` +
      `log together from a backup; or, to begin an empty ledger, move all ${basename(path)}* away and start again.`,
  );
}

interface Parts {
  readonly balances: Balances;
  readonly changes: Changes;
  readonly file: LedgerFile;
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

  /** Settles the holds of the previous process. */
  async settleAbandoned(): Promise<void> {
    const { file, checkpointer, nowMs } = this.#parts;
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
      await checkpointer.kill();
      file.close();
      throw unavailable();
    }
    this.#committer.fileCalls();
  }

  take(callId: string, limits: readonly CountLimit[], load: Load): TakeResult | Promise<TakeResult> {
    if (this.#closing || this.#committer.failing) return this.#refuseLimits();
    return take(this.#counters, callId, { limits, load, nowMs: this.#parts.nowMs() });
  }

  count(callId: string, limits: readonly CountLimit[]): void {
    count(this.#counters, callId, limits);
  }

  release(callId: string, consumed: Consumed, scopes?: readonly Scope[]): void {
    release(this.#counters, callId, { consumed, scopes });
  }

  async admit(request: HoldRequest): Promise<AdmitResult> {
    this.#assertPromising();
    const { callId } = request.origin;
    const nowMs = this.#parts.nowMs();
    const limits = missing(this.#counters, callId, countsIn(request.limits));
    const taken = take(this.#counters, callId, { limits, load: request.load, nowMs });
    if (taken.outcome === 'Full') return taken;
    try {
      const { result, pending } = placeHold(this.#balances, request, nowMs);
      if (pending)
        return await this.#committer.held(pending, taken.states ? { ...result, states: taken.states } : result);
      giveBack(this.#counters, callId, limits);
      if (this.#balances.hasNewMarks) this.#committer.scheduleCommit();
      return result;
    } catch (error) {
      giveBack(this.#counters, callId, limits);
      throw error;
    }
  }

  async recordProgress(progress: ReadonlyMap<string, CallProgress>): Promise<void> {
    this.#assertOpen();
    recordProgress(this.#balances, progress, this.#parts.nowMs());
    if (this.#committer.failing) {
      // the committer writes it when the file works again
      this.#committer.scheduleCommit();
      throw unavailable();
    }
    if (progress.size > 0) await this.#committer.renewed();
  }

  async settle(settlement: Settlement): Promise<SettleResult> {
    this.#assertOpen();
    const { callId } = settlement;
    this.release(callId, consumedBy(settlement.progress.tokens));
    const settled = reading(() => settleCall(this.#balances, settlement, this.#parts.nowMs()));
    const durable = await this.#committer.durable(settled ?? refuse('no hold and no record of this call'));
    return this.#resultOf(durable);
  }

  withhold(callId: string): void {
    if (this.#parts.changes.changeStatus(callId, 'Withheld')) this.#withheld.add(callId);
    this.#committer.scheduleCommit();
  }

  #resultOf({ record, ...settled }: SettledCall): SettleResult {
    const isWithheld = this.#withheld.delete(record.callId);
    return resultOf({ ...settled, record: isWithheld ? { ...record, status: 'Withheld' } : record });
  }

  async readJob(keyUid: string, jobId: string): Promise<JobRecord | undefined> {
    this.#assertOpen();
    const known = jobOfKey(this.#balances.jobs, keyUid, jobId);
    const job = known ?? reading(() => this.#parts.file.findJob({ by: 'Key', owner: keyUid, jobId }));
    return job && recordOfJob(job);
  }

  async countRunningJobs({ keyUid }: Pick<CallOrigin, 'keyUid'>): Promise<number> {
    this.#assertOpen();
    return countRunning(this.#balances.jobs, keyUid);
  }

  async keepConversation(kept: KeptConversation, limits: ConversationLimits): Promise<boolean> {
    this.#assertOpen();
    const nowMs = this.#parts.nowMs();
    return this.#changeConversations((conversations) => conversations.keep({ kept, limits, nowMs }));
  }

  async forgetConversation({ account, id }: Pick<KeptConversation, 'account' | 'id'>): Promise<void> {
    this.#assertOpen();
    await this.#changeConversations((conversations) => conversations.forget(account, id));
  }

  async readChannelJob(account: string, channel: string, jobId: string): Promise<JobRecord | undefined> {
    this.#assertOpen();
    const known = jobOfChannel(this.#balances.jobs, channel, jobId);
    const job = known ?? reading(() => this.#parts.file.findJob({ by: 'Channel', owner: channel, jobId }));
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
      const ended = reading(() => this.#parts.file.findJob({ by: 'Channel', owner: origin.channel, jobId }));
      return recordOfJob(ended ?? refuse('nobody made this job'));
    }
    const isFirst = endJob(this.#balances, job, { state, bill, nowMs: this.#parts.nowMs() });
    const finished = { ...recordOfJob(job), ...(isFirst && job.bill && { billed: amountsOf(job.bill, job) }) };
    return this.#committer.durable(finished);
  }

  async readUsage(keyUid: string, callId: string): Promise<UsageRecord | undefined> {
    this.#assertOpen();
    const record = reading(() => readRecord(this.#balances, callId, this.#parts.nowMs()));
    return record?.keyUid === keyUid ? record : undefined;
  }

  async readKey(keyUid: string, period: QuotaPeriod | PeriodOf): Promise<KeySpending> {
    this.#assertOpen();
    return readKeySpending(this.#balances, keyUid, { ...periodIn(period), nowMs: this.#parts.nowMs() });
  }

  async readAccount(account: string, windows: readonly CalendarWindow[] = []): Promise<AccountSpending> {
    this.#assertOpen();
    return readAccountSpending(this.#balances.accounts.get(account), windows, this.#parts.nowMs());
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
    const { file, checkpointer, unlock } = this.#parts;
    await this.#committer.stop(GRACE_MS);
    if (!(await within(GRACE_MS, checkpointer.close()))) await within(GRACE_MS, checkpointer.kill());
    file.close();
    unlock();
  }

  /** Changes conversations durably. Waits for two seconds where another program has the file locked. */
  async #changeConversations<T>(change: (conversations: KeptConversations) => T): Promise<T> {
    for (const untilMs = performance.now() + DEFAULT_TIMEOUT_MS; ; await sleep(BUSY_PAUSE_MS)) {
      try {
        const result = this.#parts.file.changeConversations(change);
        return await this.#committer.durable(result);
      } catch (error) {
        if (!(error instanceof FileBusy) || performance.now() > untilMs || this.#closing) throw unavailable(error);
      }
    }
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

/** Reads what may have to be read from the file. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new LedgerUnavailable("the ledger's file cannot be read", { cause: error });
  }
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

function refuse(reason: string): never {
  throw new LedgerUnavailable(reason);
}
