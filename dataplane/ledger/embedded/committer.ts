/**
 * Group commit: whatever has changed in one turn of the event loop goes to the journal in one write, and is
 * acknowledged then (sync normal), or once the disk has confirmed it (full); what comes meanwhile joins the next
 * confirmation. A write that fails is tried again. Holds that are not in the journal in time are refused and withdrawn,
 * there as well.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Balances } from '../balances.ts';
import { confirmHold, withdrawHold } from '../ledger-core.ts';
import type { PendingHold } from '../ledger-core.ts';
import { LedgerUnavailable } from '../ledger.ts';
import type { Journal } from './journal.ts';

/** What an acknowledged step survives: the end of the process (normal), or of the machine too (full). */
export type LedgerSync = 'normal' | 'full';

/**
 * Failing: the journal takes nothing, and calls are refused. Recovered: it works again. Lagging: the file is behind the
 * journal, and calls go on. CaughtUp: it is not any more.
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
  /** A hold that is not in the journal by then is refused. */
  readonly timeoutMs: number;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: LedgerUnavailable) => void;
}

interface WaitingHold extends Waiting {
  readonly pending: PendingHold;
}

/** Those who wait for the same write. */
interface Batch {
  readonly holds: WaitingHold[];
  readonly progress: Waiting[];
  readonly settlements: Waiting[];
  readonly timers: NodeJS.Timeout[];
}

/** Progress may be late without harm: the next one says more. */
const PROGRESS_TIMEOUT_MS = 5_000;
/** After this part of the timeout a write is late: nothing more is promised until it is done. */
const LATE = 0.75;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;
/** After so many failures in a row, the journal's files are made again. */
const FAILURES_TO_RENEW = 6;

export class Committer {
  readonly #deps: CommitterDeps;
  #batch = emptyBatch();
  /** Not acknowledged; to be written, perhaps again, or to be synced. */
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

  /** The last write failed, or the present one is late. */
  get failing(): boolean {
    return this.#failures > 0 || this.#late;
  }

  /** Resolves with the answer when everything that was logged so far is durable, however long that takes. */
  durable<T>(answer: T): Promise<T> {
    return this.#wait((waiting) => this.#batch.settlements.push(waiting), answer);
  }

  /** Confirms a hold once it is durable, and resolves with the answer; withdraws it when that is late, and rejects. */
  held<T>(pending: PendingHold, answer: T): Promise<T> {
    return this.#wait((waiting) => this.#batch.holds.push({ ...waiting, pending }), answer);
  }

  /** Resolves when the progress that was logged is durable; rejects when that is late. */
  renewed(): Promise<void> {
    return this.#wait((waiting) => this.#batch.progress.push(waiting), undefined);
  }

  #wait<T>(add: (waiting: Waiting) => void, answer: T): Promise<T> {
    return new Promise((resolve, reject) => {
      add({ resolve: () => resolve(answer), reject });
      this.touch();
    });
  }

  /** What was logged is written at the end of this turn of the event loop. */
  touch(): void {
    if (this.#scheduled || this.#retry || this.#stopped) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#write();
    });
  }

  /** Resolves when nothing is left to write, or after this time. What waits then is refused. */
  async stop(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs;
    while (this.#hasWork() && performance.now() < untilMs) {
      this.touch();
      await sleep(2);
    }
    this.#stopped = true;
    clearTimeout(this.#retry);
    const error = new LedgerUnavailable('the ledger was closed before its journal took everything');
    for (const batch of [...this.#waiting.splice(0), this.#batch]) {
      this.#refuseHolds(batch, error);
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
      if (this.#failures > 0) this.#renew();
      journal.flush();
    } catch (error) {
      return this.failed(error);
    }
    if (sync === 'full') this.#sync();
    else this.#acknowledge(this.#waiting.splice(0));
  }

  /** What is written to a file that has no name any more is lost with the process. */
  #renew(): void {
    const { journal } = this.#deps;
    const all = this.#failures % FAILURES_TO_RENEW === 0;
    if (all || journal.isGone) journal.renew(all);
  }

  /** At most one at a time: what is written while it runs waits for the next. */
  #sync(): void {
    this.#startTimers();
    if (this.#syncing || this.#waiting.length === 0) return;
    this.#syncing = true;
    const batches = this.#waiting.slice();
    this.#deps.journal.sync().then(() => {
      this.#syncing = false;
      if (this.#stopped) return;
      this.#waiting.splice(0, batches.length);
      this.#acknowledge(batches);
      this.#sync();
    }, (error: unknown) => {
      this.#syncing = false;
      if (!this.#stopped) this.failed(error);
    });
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

  /** A write failed, here or of who else writes to the journal. It is tried again. */
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

  /** For those that could not be acknowledged at once. */
  #startTimers(): void {
    for (const batch of this.#waiting) if (batch.timers.length === 0) this.#startTimersOf(batch);
  }

  #startTimersOf(batch: Batch): void {
    const { timeoutMs } = this.#deps;
    const error = new LedgerUnavailable('the ledger\'s journal does not take anything now');
    const after = (ms: number, expire: () => void): void => {
      // where the loop itself was late, a write that is done is acknowledged first
      const timer = setTimeout(() => setImmediate(() => {
        if (this.#waiting.includes(batch)) expire();
      }), ms);
      batch.timers.push(timer.unref());
    };
    after(timeoutMs * LATE, () => {
      this.#late = true;
      this.#report('a write to the journal is late');
    });
    after(timeoutMs, () => {
      this.#refuseHolds(batch, error);
      // that they are withdrawn is to be written as well
      this.touch();
    });
    after(PROGRESS_TIMEOUT_MS, () => refuse(batch.progress, error));
  }

  #refuseHolds(batch: Batch, error: LedgerUnavailable): void {
    for (const { pending } of batch.holds) withdrawHold(this.#deps.balances, pending);
    refuse(batch.holds, error);
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

function refuse(waiting: Waiting[], error: LedgerUnavailable): void {
  for (const { reject } of waiting.splice(0)) reject(error);
}
