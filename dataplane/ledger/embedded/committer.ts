/**
 * Implements group commit. The committer writes all changes of one turn of the event loop in one transaction, and
 * acknowledges them after the commit (sync normal) or after the disk's sync (full). It repeats a failed transaction. It
 * refuses and withdraws holds that are not durable in time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { pauseAfter } from '#runtime/backoff.ts';
import type { Balances } from '../balances.ts';
import { confirmHold, withdrawHold } from '../ledger-core.ts';
import type { PendingHold } from '../ledger-core.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { Changes } from './changes.ts';
import { FileBusy } from './ledger-file.ts';
import type { CommitOptions, LedgerFile } from './ledger-file.ts';

/** What an acknowledged step survives: a crash of the process (normal), or a power failure too (full). */
export type LedgerSync = 'normal' | 'full';

/**
 * Damaged: the file's log ended in damage when it was opened, and what followed is lost. Failing: the file cannot be
 * written, and calls are refused. Recovered: it can be written again. Lagging: checkpoints fail, so the log grows, while
 * calls continue. CaughtUp: a checkpoint succeeded again.
 */
export interface LedgerFault {
  readonly state: 'Damaged' | 'Failing' | 'Recovered' | 'Lagging' | 'CaughtUp';
  readonly reason: string;
}

export interface CommitterDeps {
  readonly balances: Balances;
  readonly changes: Changes;
  readonly file: Pick<LedgerFile, 'commit' | 'sync'>;
  readonly sync: LedgerSync;
  readonly onFault: (fault: LedgerFault) => void;
  /** How long a hold may take to become durable before it is refused. */
  readonly timeoutMs: number;
  /** Resolves when everything that was committed is in the file itself, synced. */
  readonly checkpoint: () => Promise<void>;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: LedgerUnavailable) => void;
}

interface HoldWaiter extends Waiter {
  readonly pending: PendingHold;
}

/** Callers that wait for the same transaction. */
interface Batch {
  readonly holds: HoldWaiter[];
  readonly progress: Waiter[];
  readonly settlements: Waiter[];
  readonly timers: NodeJS.Timeout[];
}

/** Progress may be lost at its timeout, because the next progress replaces it. */
const PROGRESS_TIMEOUT_MS = 5_000;
/** A commit that takes longer than this fraction of the timeout is late: new calls are refused until it is done. */
const LATE = 0.75;
/** The pause before a locked file is tried again. */
export const BUSY_PAUSE_MS = 2;
const RETRY = { firstMs: 10, longestMs: 500 } as const;

export class Committer {
  readonly #deps: CommitterDeps;
  #batch = emptyBatch();
  /** Batches whose transaction has failed so far. */
  #uncommitted: Batch[] = [];
  /** Batches that are committed, but not acknowledged. */
  #unsynced: Batch[] = [];
  /** Refused callers whose holds were committed; they are told when the withdrawal is committed too. */
  #withdrawn: Waiter[] = [];
  #scheduled = false;
  #retry: NodeJS.Timeout | undefined;
  #syncing = false;
  /** A sync has failed, so that the kernel may have dropped pages of the log and report success at the next sync. */
  #needsCheckpoint = false;
  #late = false;
  #failures = 0;
  #reported = false;
  #stopped = false;

  constructor(deps: CommitterDeps) {
    this.#deps = deps;
  }

  /** The last commit failed, or the current one is late. */
  get failing(): boolean {
    return this.#failures > 0 || this.#late;
  }

  /** Resolves with `answer` when everything logged so far is durable; it never times out. */
  durable<T>(answer: T): Promise<T> {
    return this.#wait((waiting) => this.#batch.settlements.push(waiting), answer);
  }

  /** Confirms the hold when it is durable and resolves with `answer`. At the timeout, withdraws it and rejects. */
  held<T>(pending: PendingHold, answer: T): Promise<T> {
    return this.#wait((waiting) => this.#batch.holds.push({ ...waiting, pending }), answer);
  }

  /** Resolves when the logged progress is durable; rejects at the timeout. */
  renewed(): Promise<void> {
    return this.#wait((waiting) => this.#batch.progress.push(waiting), undefined);
  }

  #wait<T>(add: (waiting: Waiter) => void, answer: T): Promise<T> {
    return new Promise((resolve, reject) => {
      add({ resolve: () => resolve(answer), reject });
      this.scheduleCommit();
    });
  }

  /** Schedules a commit for the end of this turn of the event loop. */
  scheduleCommit(): void {
    if (this.#scheduled || this.#retry || this.#stopped) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#commit();
    });
  }

  /** Files the calls that were settled, if the file can be written now. */
  fileCalls(): void {
    if (!this.#stopped && !this.failing) this.#tryCommit({ files: true });
    // acknowledges those whose changes were written too
    this.scheduleCommit();
  }

  /** Resolves when everything is durable, or at the timeout, at which callers that still wait are refused. */
  async stop(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs;
    while (this.#hasWork() && performance.now() < untilMs) {
      this.scheduleCommit();
      await sleep(2);
    }
    this.#stopped = true;
    clearTimeout(this.#retry);
    const error = new LedgerUnavailable('the ledger was closed before its file took everything');
    const batches = [...this.#unsynced, ...this.#uncommitted, this.#batch];
    const refused = this.#withdraw(batches);
    this.#tryCommit({ files: true });
    this.#unsynced = [];
    this.#uncommitted = [];
    refuse([...refused, ...this.#withdrawn.splice(0)], error);
    for (const batch of batches) {
      refuse(batch.progress, error);
      refuse(batch.settlements, error);
      end(batch);
    }
  }

  #hasWork(): boolean {
    const { changes } = this.#deps;
    const waiting = this.#uncommitted.length + this.#unsynced.length + this.#withdrawn.length;
    return waiting > 0 || !changes.isEmpty || !isEmpty(this.#batch);
  }

  #commit(): void {
    if (!isEmpty(this.#batch)) {
      this.#uncommitted.push(this.#batch);
      this.#batch = emptyBatch();
    }
    if (!this.#tryCommit()) return;
    if (this.#deps.sync === 'full') this.#sync();
    else this.#acknowledge(this.#unsynced.splice(0));
  }

  /** Commits all changes. Returns false, and schedules another try, if that fails. */
  #tryCommit(options: CommitOptions = {}): boolean {
    const { balances, changes, file } = this.#deps;
    try {
      file.commit(balances, changes, options);
    } catch (error) {
      if (error instanceof FileBusy) this.#commitAgainIn(BUSY_PAUSE_MS);
      else this.#failed(error);
      return false;
    }
    this.#unsynced.push(...this.#uncommitted.splice(0));
    if (this.#withdrawn.length > 0) refuse(this.#withdrawn, unavailable());
    return true;
  }

  /** One sync at a time; later commits wait for the next one. */
  #sync(): void {
    this.#startTimers();
    if (this.#syncing) return;
    if (this.#unsynced.length === 0) return this.#acknowledge([]);
    this.#syncing = true;
    const batches = this.#unsynced.slice();
    this.#makeDurable().then(
      () => {
        this.#syncing = false;
        if (this.#stopped) return;
        this.#unsynced.splice(0, batches.length);
        this.#acknowledge(batches);
        this.#sync();
      },
      (error: unknown) => {
        this.#syncing = false;
        if (!this.#stopped) this.#failed(error);
      },
    );
  }

  /** After a failed sync, only a checkpoint makes sure that what was committed is on the disk. */
  async #makeDurable(): Promise<void> {
    const { file, checkpoint } = this.#deps;
    if (this.#needsCheckpoint) await checkpoint();
    this.#needsCheckpoint = true;
    await file.sync();
    this.#needsCheckpoint = false;
  }

  #acknowledge(batches: readonly Batch[]): void {
    if (this.#uncommitted.length === 0 && (this.failing || this.#reported)) this.#recovered();
    for (const batch of batches) {
      end(batch);
      for (const { pending, resolve } of batch.holds) {
        confirmHold(this.#deps.balances, pending);
        resolve();
      }
      for (const { resolve } of [...batch.progress, ...batch.settlements]) resolve();
    }
  }

  #failed(error: unknown): void {
    const pauseMs = pauseAfter(this.#failures, RETRY);
    this.#failures++;
    this.#report(error instanceof Error ? error.message : String(error));
    this.#commitAgainIn(pauseMs);
  }

  #commitAgainIn(pauseMs: number): void {
    this.#startTimers();
    if (this.#retry || this.#stopped) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#commit();
    }, pauseMs);
  }

  #recovered(): void {
    this.#failures = 0;
    this.#late = false;
    if (this.#reported) this.#deps.onFault({ state: 'Recovered', reason: '' });
    this.#reported = false;
  }

  #report(reason: string): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#deps.onFault({ state: 'Failing', reason });
  }

  #startTimers(): void {
    for (const batch of [...this.#unsynced, ...this.#uncommitted])
      if (batch.timers.length === 0) this.#startTimersOf(batch);
  }

  #startTimersOf(batch: Batch): void {
    const { timeoutMs } = this.#deps;
    const after = (ms: number, expire: () => void): void => {
      // if the event loop was blocked, acknowledge a completed sync before the timer's callback runs
      const timer = setTimeout(
        () =>
          setImmediate(() => {
            if (this.#unsynced.includes(batch) || this.#uncommitted.includes(batch)) expire();
          }),
        ms,
      );
      batch.timers.push(timer.unref());
    };
    after(timeoutMs * LATE, () => {
      this.#late = true;
      this.#report('a commit to the file is late');
    });
    after(timeoutMs, () => this.#refuseHolds(batch));
    after(PROGRESS_TIMEOUT_MS, () => refuse(batch.progress, unavailable()));
  }

  /**
   * Refuses holds, and withdraws them before a caller learns of the refusal, so that a refused call costs nothing even
   * if the process is killed next. A hold that was never committed needs no withdrawal in the file.
   */
  #refuseHolds(batch: Batch): void {
    refuse(this.#withdraw([batch]), unavailable());
    this.#tryCommit();
    // acknowledges the others of the batch
    this.scheduleCommit();
  }

  /** Withdraws the batches' holds in memory. Returns the callers whose holds were never committed. */
  #withdraw(batches: readonly Batch[]): Waiter[] {
    const refused: Waiter[] = [];
    for (const batch of batches) {
      const holds = batch.holds.splice(0);
      for (const { pending } of holds) withdrawHold(this.#deps.balances, pending);
      (this.#unsynced.includes(batch) ? this.#withdrawn : refused).push(...holds);
    }
    return refused;
  }
}

/** The error while the file cannot be written, or not in time. */
export function unavailable(cause?: unknown): LedgerUnavailable {
  return new LedgerUnavailable("the ledger's file cannot be written now", cause === undefined ? {} : { cause });
}

function emptyBatch(): Batch {
  return { holds: [], progress: [], settlements: [], timers: [] };
}

function isEmpty({ holds, progress, settlements }: Batch): boolean {
  return holds.length + progress.length + settlements.length === 0;
}

function end({ timers }: Batch): void {
  for (const timer of timers) clearTimeout(timer);
}

function refuse(waiting: Waiter[], error: LedgerUnavailable): void {
  for (const { reject } of waiting.splice(0)) reject(error);
}
