/**
 * Group commit: whatever has changed in one turn of the event loop goes to the journal in one write, and is acknowledged then
 * (sync normal), or once the disk has confirmed it (full); what comes meanwhile joins the next confirmation. A write that fails
 * is tried again. Holds that are not in the journal in time are refused and undone, there as well.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { atTurnsEnd } from '../turn.ts';
import type { Books } from './books.ts';
import type { LedgerSync } from './embedded-schema.ts';
import type { Journal } from './embedded-journal.ts';
import { confirmHold, withdrawHold } from './ledger-core.ts';
import type { PendingHold } from './ledger-core.ts';
import { LedgerUnavailable } from './ledger.ts';
import type { HoldResult } from './ledger.ts';

/** The journal began to fail (calls are refused), or works again; or the file lags behind the journal (calls go on), or has caught up. */
export interface LedgerFault {
  readonly state: 'Failing' | 'Recovered' | 'Lagging' | 'CaughtUp';
  readonly reason: string;
}

export interface CommitterDeps {
  readonly books: Books;
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
  sinceMs: number;
  readonly holds: WaitingHold[];
  readonly durable: Waiting[];
  /** There only if somebody waits. */
  renewed: PromiseWithResolvers<void> | undefined;
}

/** Progress may be late without harm: the next one says more. */
const PROGRESS_PATIENCE_MS = 5_000;
/** After this part of the patience, a write is late: nothing more is promised until it is done. */
const LATE = 0.75;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;
/** So many failures in a row, and the journal's files are made again. */
const FAILURES_TO_RENEW = 6;

export class Committer {
  readonly #deps: CommitterDeps;
  #batch = emptyBatch();
  /** Written or to be written again, and not acknowledged. */
  #waiting: Batch[] = [];
  #scheduled = false;
  #retry: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #syncing = false;
  /** What was due by then has been refused or reported. */
  #expiredMs = 0;
  #late = false;
  #failures = 0;
  #reported = false;
  #stopped = false;

  constructor(deps: CommitterDeps) {
    this.#deps = deps;
  }

  /** The last write failed, or the present one is late. Either is being mended: there is something left to write. */
  get failing(): boolean {
    return this.#failures > 0 || this.#late;
  }

  /** Resolves with the answer when everything that was logged so far is durable, however long that takes. */
  durable<T>(answer: T): Promise<T> {
    this.touch();
    return new Promise((resolve, reject) => {
      this.#batch.durable.push({ resolve: () => resolve(answer), reject });
    });
  }

  /** Confirms a hold once it is durable, and resolves with the answer; undoes it when that is late, and rejects. */
  held(pending: PendingHold, answer: HoldResult): Promise<HoldResult> {
    this.touch();
    return new Promise((resolve, reject) => {
      this.#batch.holds.push({ pending, resolve: () => resolve(answer), reject });
    });
  }

  /** Resolves when the progress that was logged is durable; rejects when that is late. */
  renewed(): Promise<void> {
    this.touch();
    return (this.#batch.renewed ??= Promise.withResolvers()).promise;
  }

  /** Has written what was logged, in this turn of the event loop. */
  touch(): void {
    if (this.#scheduled || this.#retry || this.#stopped) return;
    this.#scheduled = true;
    atTurnsEnd(this.#turn);
  }

  /** Resolves when nothing is left to write, or after this time. What waits then is abandoned. */
  async stop(graceMs: number): Promise<void> {
    const untilMs = performance.now() + graceMs;
    while (this.#hasWork() && performance.now() < untilMs) {
      this.touch();
      await sleep(2);
    }
    this.#stopped = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#timer);
    const error = new LedgerUnavailable('the ledger was closed before its journal took everything');
    for (const batch of [...this.#waiting.splice(0), this.#batch]) refuseAll(this.#deps.books, batch, error);
  }

  #hasWork(): boolean {
    return this.#waiting.length > 0 || !this.#deps.journal.isFlushed || !isEmpty(this.#batch);
  }

  readonly #turn = (): void => {
    this.#scheduled = false;
    if (!this.#stopped) this.#write();
  };

  #write(): void {
    const { journal, sync } = this.#deps;
    if (!isEmpty(this.#batch)) {
      this.#batch.sinceMs = performance.now();
      this.#waiting.push(this.#batch);
      this.#batch = emptyBatch();
    }
    try {
      if (journal.isStalled) {
        this.#writeAgainIn(FIRST_PAUSE_MS);
        return;
      }
      if (this.#failures > 0) this.#renew();
      journal.flush();
    } catch (error) {
      this.failed(error);
      return;
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
    if (this.#syncing || this.#waiting.length === 0) return;
    this.#syncing = true;
    this.#watch();
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
    // it waits for one of these, who may have had more patience than the next has
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.failing || this.#reported) this.#recovered();
    const { books } = this.#deps;
    for (const { holds, renewed, durable } of batches) {
      for (const { pending, resolve } of holds) {
        confirmHold(books, pending);
        resolve();
      }
      renewed?.resolve();
      for (const { resolve } of durable) resolve();
    }
  }

  /** A write failed, here or of who else writes to the journal. It is tried again. */
  failed(error: unknown): void {
    this.#failures++;
    this.#report(error instanceof Error ? error.message : String(error));
    this.#writeAgainIn(Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - 1), LONGEST_PAUSE_MS));
  }

  #writeAgainIn(pauseMs: number): void {
    this.#watch();
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

  /** One timer for all that wait: the oldest is late first. */
  #watch(): void {
    const [oldest] = this.#waiting;
    if (this.#timer || !oldest || this.#stopped) return;
    const { timeoutMs } = this.#deps;
    const dueMs = [oldest.sinceMs + timeoutMs * LATE, ...this.#waiting.flatMap((batch) => [...dueOf(batch, timeoutMs)])].filter((ms) => ms > this.#expiredMs);
    if (dueMs.length === 0) return;
    // where the loop itself was late, what is already done gets to say so first
    this.#timer = setTimeout(() => setImmediate(this.#expire), Math.max(0, Math.min(...dueMs) - performance.now()) + 1);
    // what is waited for keeps the process, not the waiting
    this.#timer.unref();
  }

  readonly #expire = (): void => {
    this.#timer = undefined;
    if (this.#stopped) return;
    const { books, timeoutMs } = this.#deps;
    const nowMs = performance.now();
    this.#expiredMs = nowMs;
    for (const batch of this.#waiting) {
      if (batch.sinceMs + timeoutMs * LATE > nowMs) break;
      this.#late = true;
      this.#report('a write to the journal is late');
      if (batch.sinceMs + timeoutMs <= nowMs) refuseHolds(books, batch, late());
      if (batch.sinceMs + PROGRESS_PATIENCE_MS <= nowMs) refuseRenewal(batch, late());
    }
    // the undoing of holds is to be written as well
    if (!this.#deps.journal.isFlushed) this.touch();
    this.#watch();
  };
}

function emptyBatch(): Batch {
  return { sinceMs: 0, holds: [], durable: [], renewed: undefined };
}

function isEmpty({ holds, renewed, durable }: Batch): boolean {
  return holds.length === 0 && durable.length === 0 && renewed === undefined;
}

function* dueOf({ sinceMs, holds, renewed }: Batch, timeoutMs: number): Generator<number> {
  if (holds.length > 0) yield sinceMs + timeoutMs;
  if (renewed) yield sinceMs + PROGRESS_PATIENCE_MS;
}

function refuseHolds(books: Books, batch: Batch, error: LedgerUnavailable): void {
  for (const { pending, reject } of batch.holds.splice(0)) {
    withdrawHold(books, pending);
    reject(error);
  }
}

function refuseRenewal(batch: Batch, error: LedgerUnavailable): void {
  batch.renewed?.reject(error);
  batch.renewed = undefined;
}

function refuseAll(books: Books, batch: Batch, error: LedgerUnavailable): void {
  refuseHolds(books, batch, error);
  refuseRenewal(batch, error);
  for (const { reject } of batch.durable.splice(0)) reject(error);
}

function late(): LedgerUnavailable {
  return new LedgerUnavailable('the ledger\'s journal does not take anything now');
}
