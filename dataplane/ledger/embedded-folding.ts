/**
 * Keeps the file near the journal: at intervals, where anything has changed, what keys and accounts come to is appended to
 * the newest segment, another is begun, and the file's thread takes in the one that is complete. Nobody waits for it, and calls
 * go on while it fails: the journal has everything until the file does.
 */
import type { Books } from './books.ts';
import { changesFiled } from './changed-spending.ts';
import type { Committer, LedgerFault } from './embedded-committer.ts';
import type { Journal } from './embedded-journal.ts';
import type { FileThread, OpenFile } from './embedded-thread.ts';
import { forgetJob } from './jobs.ts';
import type { FileMark } from './journal-segments.ts';

export interface FoldingDeps {
  readonly books: Books;
  readonly journal: Journal;
  readonly committer: Committer;
  readonly nowMs: () => number;
  readonly everyMs: number;
  /** Opens the file again, or a new one in its place. */
  readonly reopen: () => Promise<OpenFile>;
  readonly onFault: (fault: LedgerFault) => void;
}

/** With so much in it a segment is complete also where only progress was recorded. */
const SEGMENT_BYTES = 8 << 20;
/** The file lags only when it has failed so often: somebody may just have read it for a while. */
const FAILURES_TO_TELL = 3;
const TRIES_TO_FINISH = 3;

/** What moves from the journal to the file, and when. */
export class Folding {
  readonly #deps: FoldingDeps;
  readonly #timer: NodeJS.Timeout;
  readonly #ledgerId: string;
  #thread: FileThread;
  /** The last segment that the file has. */
  #folded: number;
  /** The last that is complete. */
  #complete: number;
  /** Segments up to this one are taken in together: only its end says what keys and accounts come to. */
  #notBefore: number;
  /** The file is not the one that it was: the next segment begins with everything. */
  #needsWhole = false;
  #folding: Promise<void> | undefined;
  #failures = 0;
  #stopped = false;

  constructor(deps: FoldingDeps, thread: FileThread, mark: FileMark) {
    this.#deps = deps;
    this.#thread = thread;
    this.#ledgerId = mark.ledgerId;
    this.#folded = mark.folded;
    this.#complete = deps.journal.number - 1;
    this.#notBefore = deps.journal.number;
    this.#timer = setInterval(() => this.#tick(), deps.everyMs);
    this.#timer.unref();
  }

  get thread(): FileThread {
    return this.#thread;
  }

  /** Takes in what has changed, unless something is being taken in already. */
  begin(): void {
    if (this.#stopped || this.#folding) return;
    this.#completeSegment();
    if (this.#hasWork()) this.#folding = this.#work();
  }

  /** Takes in nothing more. */
  abandon(): void {
    clearInterval(this.#timer);
    this.#stopped = true;
  }

  /** Takes in everything, the newest segment too. What fails now is taken in at the next start. */
  async finish(): Promise<void> {
    this.abandon();
    await this.#folding;
    const { journal } = this.#deps;
    for (let tries = 0; tries < TRIES_TO_FINISH; tries++) {
      try {
        this.#flushStates();
        if (this.#needsWhole) this.#rotate();
      } catch {
        // the journal has all movements already; without the states nothing of it can be taken in
        return;
      }
      this.#complete = journal.number;
      await this.#work();
      if (this.#folded === this.#complete) return;
    }
  }

  #tick(): void {
    const { journal, committer } = this.#deps;
    try {
      // while the file takes segments in, their names leave
      if (!this.#folding && journal.isGone) journal.renew(false);
    } catch (error) {
      // what is written to a file without a name is lost with the process: as bad as not being able to write
      committer.failed(error);
      return;
    }
    this.begin();
  }

  /** Begins another segment where the newest has something for the file. A file that lags gets large ones. */
  #completeSegment(): void {
    const { books, journal, committer } = this.#deps;
    if (committer.failing || this.#thread.ended) return;
    const keepsUp = this.#folded === this.#complete || this.#complete < this.#notBefore;
    const hasNews = books.changedKeys.size + books.changedAccounts.size > 0;
    if (!this.#needsWhole && journal.size < SEGMENT_BYTES && !(keepsUp && hasNews)) return;
    try {
      this.#flushStates();
    } catch (error) {
      committer.failed(error);
      return;
    }
    try {
      this.#rotate();
    } catch (error) {
      // the newest segment goes on
      this.#count(error);
    }
  }

  /** Says at the end of the newest segment what its movements come to. */
  #flushStates(): void {
    const { books, journal } = this.#deps;
    journal.states(books.changedKeys, books.changedAccounts);
    journal.flush();
  }

  #rotate(): void {
    const { books, journal } = this.#deps;
    journal.rotate(books, this.#needsWhole);
    changesFiled(books);
    this.#complete = journal.number - 1;
    if (this.#needsWhole) this.#notBefore = journal.number;
    this.#needsWhole = false;
  }

  #hasWork(): boolean {
    return this.#thread.ended || (this.#folded < this.#complete && this.#complete >= this.#notBefore && !this.#needsWhole);
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    try {
      if (this.#thread.ended) await this.#reopen();
      if (this.#hasWork()) await this.#fold(this.#complete);
    } catch (error) {
      await this.#failed(error);
    }
    this.#folding = undefined;
  }

  async #fold(to: number): Promise<void> {
    await this.#thread.fold({ from: this.#folded + 1, to, ledgerId: this.#ledgerId, nowMs: this.#deps.nowMs() });
    this.#hasTaken(to);
    if (this.#failures >= FAILURES_TO_TELL) this.#deps.onFault({ state: 'CaughtUp', reason: '' });
    this.#failures = 0;
  }

  #hasTaken(to: number): void {
    const { books, journal } = this.#deps;
    this.#folded = to;
    for (const job of journal.folded(to)) forgetJob(books.jobs, job);
  }

  /** The file may be another by now: an empty one in the place of one that was removed, or an older one. */
  async #reopen(): Promise<void> {
    const { thread, mark } = await this.#deps.reopen();
    this.#thread = thread;
    const isSame = mark.ledgerId === this.#ledgerId && mark.folded >= this.#folded && mark.folded <= this.#complete;
    if (isSame) this.#hasTaken(mark.folded);
    else this.#needsWhole = true;
  }

  async #failed(error: unknown): Promise<void> {
    this.#count(error);
    // another thread begins afresh, whatever was wrong with this one
    await this.#thread.kill();
  }

  #count(error: unknown): void {
    if (++this.#failures === FAILURES_TO_TELL) this.#deps.onFault({ state: 'Lagging', reason: error instanceof Error ? error.message : String(error) });
  }
}
