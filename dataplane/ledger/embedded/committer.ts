/**
 * Implements group commit. The committer writes all changes of one turn of the event loop to the journal at once, and
 * acknowledges them after the write (sync normal) or after the disk's sync (full). It repeats a failed write. It
 * refuses and withdraws holds that are not in the journal in time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Balances } from '../balances.ts';
import { confirmHold, withdrawHold } from '../ledger-core.ts';
import type { PendingHold } from '../ledger-core.ts';
import { LedgerUnavailable } from '../ledger.ts';
import type { Journal } from './journal.ts';

/** What an acknowledged step survives: a crash of the process (normal), or a power failure too (full). */
export type LedgerSync = 'normal' | 'full';

/**
 * Failing: the journal cannot be written, and calls are refused. Recovered: the journal works again. Lagging: the file
 * falls behind the journal, while calls continue. CaughtUp: the file is up to date again.
 */
export interface LedgerFault {
  readonly state: 'Failing' | 'Recovered' | 'Lagging' | 'CaughtUp';
  readonly reason: string;
}

export interface CommitterDeps {
  readonly balances: Balances;
  readonly journal: Journal;
  readonly sync: LedgerSync;
  readonly onFault: (fault: LedgerFault) => void;
  /** A hold is refused if it is not in the journal within this time. */
  readonly timeoutMs: number;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: LedgerUnavailable) => void;
}

interface HoldWaiter extends Waiter {
  readonly pending: PendingHold;
}

/** Callers that wait for the same write. */
interface Batch {
  readonly holds: HoldWaiter[];
  readonly progress: Waiter[];
  readonly settlements: Waiter[];
  readonly timers: NodeJS.Timeout[];
}

/** Progress may be lost at its timeout, because the next progress replaces it. */
const PROGRESS_TIMEOUT_MS = 5_000;
/** A write that takes longer than this fraction of the timeout is late: new calls are refused until it is done. */
const LATE = 0.75;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;
/** After this many consecutive failures the journal's files are rewritten. */
const FAILURES_TO_REWRITE = 6;

export class Committer {
  readonly #deps: CommitterDeps;
  #batch = emptyBatch();
  /** Batches that are not acknowledged yet. */
  #waiting: Batch[] = [];
  #scheduled = false;
  #retry: NodeJS.Timeout | undefined;
  #syncing = false;
  #late = false;
  #failures = 0;
  #reported = false;
  #stopped = false;

  constructor(deps: CommitterDeps) {
    this.#deps = deps;
  }

  /** The last write failed, or the current one is late. */
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
      this.scheduleWrite();
    });
  }

  /** Schedules a write for the end of this turn of the event loop. */
  scheduleWrite(): void {
    if (this.#scheduled || this.#retry || this.#stopped) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#write();
    });
  }

  /** Resolves when everything is written, or at the timeout, at which callers that still wait are refused. */
  async stop(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs;
    while (this.#hasWork() && performance.now() < untilMs) {
      this.scheduleWrite();
      await sleep(2);
    }
    this.#stopped = true;
    clearTimeout(this.#retry);
    const error = new LedgerUnavailable('the ledger was closed before its journal took everything');
    const batches = [...this.#waiting.splice(0), this.#batch];
    this.#refuseHolds(batches, error);
    for (const batch of batches) {
      refuse(batch.progress, error);
      refuse(batch.settlements, error);
      end(batch);
    }
  }

  #hasWork(): boolean {
    return this.#waiting.length > 0 || !this.#deps.journal.isFlushed || !isEmpty(this.#batch);
  }

  #write(): void {
    const { journal, sync } = this.#deps;
    if (!isEmpty(this.#batch)) {
      this.#waiting.push(this.#batch);
      this.#batch = emptyBatch();
    }
    try {
      if (journal.isStalled) return this.#writeAgainIn(FIRST_PAUSE_MS);
      if (this.#failures > 0) this.#rewriteDeleted();
      journal.flush();
    } catch (error) {
      return this.failed(error);
    }
    if (sync === 'full') this.#sync();
    else this.#acknowledge(this.#waiting.splice(0));
  }

  /** Rewrites deleted files, whose data would be lost with the process. */
  #rewriteDeleted(): void {
    const { journal } = this.#deps;
    const all = this.#failures % FAILURES_TO_REWRITE === 0;
    if (all || journal.isDeleted) journal.rewriteSegments(all);
  }

  /** One sync at a time; later writes wait for the next one. */
  #sync(): void {
    this.#startTimers();
    if (this.#syncing || this.#waiting.length === 0) return;
    this.#syncing = true;
    const batches = this.#waiting.slice();
    this.#deps.journal.sync().then(
      () => {
        this.#syncing = false;
        if (this.#stopped) return;
        this.#waiting.splice(0, batches.length);
        this.#acknowledge(batches);
        this.#sync();
      },
      (error: unknown) => {
        this.#syncing = false;
        if (!this.#stopped) this.failed(error);
      },
    );
  }

  #acknowledge(batches: readonly Batch[]): void {
    if (this.failing || this.#reported) this.#recovered();
    for (const batch of batches) {
      end(batch);
      for (const { pending, resolve } of batch.holds) {
        confirmHold(this.#deps.balances, pending);
        resolve();
      }
      for (const { resolve } of [...batch.progress, ...batch.settlements]) resolve();
    }
  }

  /** Schedules another write after one that failed here or in the checkpointer. */
  failed(error: unknown): void {
    this.#failures++;
    this.#report(error instanceof Error ? error.message : String(error));
    this.#writeAgainIn(Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - 1), LONGEST_PAUSE_MS));
  }

  #writeAgainIn(pauseMs: number): void {
    this.#startTimers();
    if (this.#retry || this.#stopped) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#write();
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
    for (const batch of this.#waiting) if (batch.timers.length === 0) this.#startTimersOf(batch);
  }

  #startTimersOf(batch: Batch): void {
    const { timeoutMs } = this.#deps;
    const error = new LedgerUnavailable("the ledger's journal cannot be written now");
    const after = (ms: number, expire: () => void): void => {
      // if the event loop was blocked, acknowledge a completed write before the timer's callback runs
      const timer = setTimeout(
        () =>
          setImmediate(() => {
            if (this.#waiting.includes(batch)) expire();
          }),
        ms,
      );
      batch.timers.push(timer.unref());
    };
    after(timeoutMs * LATE, () => {
      this.#late = true;
      this.#report('a write to the journal is late');
    });
    after(timeoutMs, () => this.#refuseHolds([batch], error));
    after(PROGRESS_TIMEOUT_MS, () => refuse(batch.progress, error));
  }

  /**
   * Refuses holds and writes their withdrawals before a caller learns of the refusal, so that a refused call costs
   * nothing even if the process is killed next. If the journal cannot be written, the holds are not in it either.
   */
  #refuseHolds(batches: readonly Batch[], error: LedgerUnavailable): void {
    const { balances, journal } = this.#deps;
    const refused = batches.flatMap(({ holds }) => holds.splice(0));
    for (const { pending } of refused) withdrawHold(balances, pending);
    try {
      if (!journal.isStalled) journal.flush();
    } catch (failure) {
      this.failed(failure);
    }
    refuse(refused, error);
    // acknowledges the others of the batch
    this.scheduleWrite();
  }
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
