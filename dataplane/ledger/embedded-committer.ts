/**
 * Group commit: whatever has changed in one turn of the event loop, and while a commit runs, goes to the file as one message
 * and one transaction. A commit that fails is tried again with what the books say by then: the values are absolute, so that
 * it does not matter whether the failed one was written. Only what is in the file is acknowledged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { noChanges } from './books.ts';
import type { Books, Changes } from './books.ts';
import { Deadlines } from './deadlines.ts';
import { encodeChanges } from './embedded-rows.ts';
import type { FileThread } from './embedded-thread.ts';
import { trimRecent } from './ledger-core.ts';
import { LedgerUnavailable } from './ledger.ts';

/** Somebody who waits for what the books say now to be in the file. */
export interface Waiter {
  readonly committed: () => void;
  /** The ledger was closed first. */
  readonly abandoned: (error: LedgerUnavailable) => void;
}

/** The file began to fail, or works again. */
export interface LedgerFault {
  readonly state: 'Failing' | 'Recovered';
  readonly reason: string;
}

export interface CommitterDeps {
  readonly books: Books;
  readonly nowMs: () => number;
  readonly reopen: () => Promise<FileThread>;
  readonly onFault: (fault: LedgerFault) => void;
  /** A commit that takes longer means that nothing can be promised now. */
  readonly lateAfterMs: number;
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;
/** So many failures in a row, and the file is opened afresh. */
const FAILURES_TO_REOPEN = 6;
/** Settlements kept in memory for those who ask again. */
const RECENT_KEPT = 4096;

export class Committer {
  readonly #deps: CommitterDeps;
  #thread: FileThread;
  #waiters: Waiter[] = [];
  #scheduled = false;
  #running = false;
  #committing = false;
  #late = false;
  readonly #deadlines: Deadlines;
  #failures = 0;
  /** The file was opened afresh: it is made to agree with the books, which are right. */
  #whole = false;
  #reported = false;
  #stopped = false;

  constructor(deps: CommitterDeps, thread: FileThread) {
    this.#deps = deps;
    this.#deadlines = new Deadlines(deps.lateAfterMs);
    this.#thread = thread;
  }

  get thread(): FileThread {
    return this.#thread;
  }

  /** The last commit failed, or the present one is late. Either is being mended: there is something left to write. */
  get failing(): boolean {
    return this.#failures > 0 || this.#late;
  }

  /** Has the present state of the books written, and tells when it is. */
  enlist(waiter: Waiter): void {
    this.#waiters.push(waiter);
    this.touch();
  }

  /** Has the present state of the books written. */
  touch(): void {
    if (this.#scheduled || this.#running || this.#stopped) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#run();
    });
  }

  /** Resolves when nothing is left to write, or after this time. What waits then is abandoned. */
  async stop(graceMs: number): Promise<void> {
    const untilMs = performance.now() + graceMs;
    // a refused hold may have opened a book without anyone waiting for it
    this.touch();
    while (this.#hasWork() && performance.now() < untilMs) await sleep(5);
    this.#stopped = true;
    this.#abandonWaiters();
  }

  #abandonWaiters(): void {
    const error = new LedgerUnavailable('the ledger was closed before its file took everything');
    for (const { abandoned } of this.#waiters.splice(0)) abandoned(error);
  }

  #hasWork(): boolean {
    const { keys, accounts, holds, progress, settled } = this.#deps.books.changes;
    return this.#committing || this.#waiters.length > 0 || this.#whole
      || keys.size + accounts.size + holds.size + progress.size + settled.length > 0;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#hasWork() && !this.#stopped) {
      await this.#commit();
      if (this.#failures > 0) await sleep(Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - 1), LONGEST_PAUSE_MS));
    }
    this.#running = false;
  }

  async #commit(): Promise<void> {
    if (!await this.#threadIsOpen()) return;
    const { books, nowMs } = this.#deps;
    const { changes } = books;
    const waiters = this.#waiters;
    this.#waiters = [];
    books.changes = noChanges();
    try {
      await this.#inTime(this.#thread.commit(encodeChanges(books, changes, { whole: this.#whole, nowMs: nowMs() })));
    } catch (error) {
      putBack(books, changes);
      this.#waiters = [...waiters, ...this.#waiters];
      this.#failed(error);
      if (this.#stopped) this.#abandonWaiters();
      return;
    }
    this.#succeeded();
    for (const { committed } of waiters) committed();
    trimRecent(books, RECENT_KEPT);
  }

  /** Notices when a commit is late, and goes on waiting for it. */
  async #inTime(commit: Promise<void>): Promise<void> {
    const deadline = this.#deadlines.add(() => {
      this.#late = true;
      this.#report('a commit is late');
    });
    this.#committing = true;
    try {
      await commit;
    } finally {
      deadline.over = true;
      this.#committing = false;
      this.#late = false;
    }
  }

  /** A thread that ended, or whose file keeps failing, is replaced. */
  async #threadIsOpen(): Promise<boolean> {
    try {
      if (!this.#thread.ended && this.#failures > 0 && this.#failures % FAILURES_TO_REOPEN === 0) await this.#thread.kill();
      if (!this.#thread.ended) return true;
      this.#whole = true;
      this.#thread = await this.#deps.reopen();
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #failed(error: unknown): void {
    this.#failures++;
    this.#report(error instanceof Error ? error.message : String(error));
  }

  #succeeded(): void {
    this.#failures = 0;
    this.#whole = false;
    if (this.#reported) this.#deps.onFault({ state: 'Recovered', reason: '' });
    this.#reported = false;
  }

  #report(reason: string): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#deps.onFault({ state: 'Failing', reason });
  }
}

/** What could not be written is to be written with what has changed since. */
function putBack(books: Books, { keys, accounts, holds, progress, settled }: Changes): void {
  const { changes } = books;
  for (const key of keys) changes.keys.add(key);
  for (const account of accounts) changes.accounts.add(account);
  for (const callId of holds) changes.holds.add(callId);
  for (const callId of progress) changes.progress.add(callId);
  changes.settled.unshift(...settled);
}
