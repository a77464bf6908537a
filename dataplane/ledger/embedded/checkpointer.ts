/**
 * Makes checkpoints. If anything has changed, the checkpointer appends the totals of keys and accounts to the newest
 * journal segment, starts another segment, and lets the file's thread apply the complete one. Calls never wait for a
 * checkpoint. They continue while checkpoints fail, because the journal keeps everything that is not in the file.
 */
import { markCheckpointed } from '../balances.ts';
import type { Balances } from '../balances.ts';
import { forgetJob } from '../jobs.ts';
import type { Committer, LedgerFault } from './committer.ts';
import type { Journal } from './journal.ts';
import type { Checkpoint } from './segments.ts';
import type { FileThread, OpenFile } from './thread.ts';

export interface CheckpointerDeps {
  readonly balances: Balances;
  readonly journal: Journal;
  readonly committer: Committer;
  readonly nowMs: () => number;
  readonly intervalMs: number;
  /** Reopens the file, or opens a new one in its place. */
  readonly reopen: () => Promise<OpenFile>;
  readonly onFault: (fault: LedgerFault) => void;
}

/** A segment of this size is completed even if it records only progress. */
const SEGMENT_BYTES = 8 << 20;
/** A fault is reported after this many failures; a program that reads the file may cause fewer. */
const FAILURES_TO_REPORT = 3;
const FINAL_TRIES = 3;

export class Checkpointer {
  readonly #deps: CheckpointerDeps;
  readonly #timer: NodeJS.Timeout;
  readonly #ledgerId: string;
  #thread: FileThread;
  /** The number of the last segment that was applied to the file. */
  #taken: number;
  /** The number of the last complete segment. */
  #complete: number;
  /** Segments up to this number are applied together, because only the last of them ends with totals. */
  #notBefore: number;
  /** The file was replaced, so the next segment must begin with all balances. */
  #needsWhole = false;
  #running: Promise<void> | undefined;
  #failures = 0;
  #stopped = false;

  constructor(deps: CheckpointerDeps, thread: FileThread, last: Checkpoint) {
    this.#deps = deps;
    this.#thread = thread;
    this.#ledgerId = last.ledgerId;
    this.#taken = last.segment;
    this.#complete = deps.journal.number - 1;
    this.#notBefore = deps.journal.number;
    this.#timer = setInterval(() => this.#tick(), deps.intervalMs).unref();
  }

  get thread(): FileThread {
    return this.#thread;
  }

  /** Starts a checkpoint of the changes, unless one is running. */
  begin(): void {
    if (this.#stopped || this.#running || this.#deps.journal.isStalled) return;
    this.#completeSegment();
    if (this.#hasWork()) this.#running = this.#run();
  }

  /** Starts no further checkpoint. */
  stop(): void {
    clearInterval(this.#timer);
    this.#stopped = true;
  }

  /** Applies everything, including the newest segment. The next start applies whatever fails now. */
  async finish(): Promise<void> {
    this.stop();
    await this.#running;
    const { journal } = this.#deps;
    for (let tries = 0; tries < FINAL_TRIES; tries++) {
      try {
        this.#flushTotals();
        if (this.#needsWhole) this.#rotate();
      } catch {
        // the journal contains all movements, but a segment without totals cannot be applied
        return;
      }
      this.#complete = journal.number;
      await this.#run();
      if (this.#taken === this.#complete) return;
    }
  }

  #tick(): void {
    const { journal, committer } = this.#deps;
    try {
      // a checkpoint in progress deletes segments itself
      if (!this.#running && journal.isDeleted) journal.rewriteSegments(false);
    } catch (error) {
      // a deleted file would be lost with the process, which is as bad as a failed write
      committer.failed(error);
      return;
    }
    this.begin();
  }

  /**
   * Starts another segment if the newest has changes for the file. While the file lags behind, segments grow larger.
   */
  #completeSegment(): void {
    const { balances, journal, committer } = this.#deps;
    if (committer.failing || this.#thread.ended) return;
    const keepsUp = this.#taken === this.#complete || this.#complete < this.#notBefore;
    const hasNews = balances.changedKeys.size + balances.changedAccounts.size > 0;
    if (!this.#needsWhole && journal.size < SEGMENT_BYTES && !(keepsUp && hasNews)) return;
    try {
      this.#flushTotals();
    } catch (error) {
      committer.failed(error);
      return;
    }
    try {
      this.#rotate();
    } catch (error) {
      // the newest segment stays open
      this.#count(error);
    }
  }

  /** Ends the newest segment with totals. */
  #flushTotals(): void {
    const { balances, journal } = this.#deps;
    journal.addTotals(balances.changedKeys, balances.changedAccounts);
    journal.flush();
  }

  #rotate(): void {
    const { balances, journal } = this.#deps;
    journal.rotate(balances, this.#needsWhole);
    markCheckpointed(balances);
    this.#complete = journal.number - 1;
    if (this.#needsWhole) this.#notBefore = journal.number;
    this.#needsWhole = false;
  }

  #hasWork(): boolean {
    const isDue = this.#taken < this.#complete && this.#complete >= this.#notBefore && !this.#needsWhole;
    return this.#thread.ended || isDue;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      if (this.#thread.ended) await this.#reopen();
      if (this.#hasWork()) await this.#take(this.#complete);
    } catch (error) {
      await this.#failed(error);
    }
    this.#running = undefined;
  }

  async #take(to: number): Promise<void> {
    const { nowMs, onFault } = this.#deps;
    await this.#thread.checkpoint({ from: this.#taken + 1, to, ledgerId: this.#ledgerId, nowMs: nowMs() });
    this.#hasTaken(to);
    if (this.#failures >= FAILURES_TO_REPORT) onFault({ state: 'CaughtUp', reason: '' });
    this.#failures = 0;
  }

  #hasTaken(to: number): void {
    const { balances, journal } = this.#deps;
    this.#taken = to;
    for (const job of journal.checkpointed(to)) forgetJob(balances.jobs, job);
  }

  /** Opens the file again, which an empty or an older one may have replaced. */
  async #reopen(): Promise<void> {
    const {
      thread,
      checkpoint: { ledgerId, segment },
    } = await this.#deps.reopen();
    this.#thread = thread;
    const isSame = ledgerId === this.#ledgerId && segment >= this.#taken && segment <= this.#complete;
    if (isSame) this.#hasTaken(segment);
    else this.#needsWhole = true;
  }

  async #failed(error: unknown): Promise<void> {
    this.#count(error);
    // the retry opens the file in a new thread
    await this.#thread.kill();
  }

  #count(error: unknown): void {
    if (++this.#failures !== FAILURES_TO_REPORT) return;
    this.#deps.onFault({ state: 'Lagging', reason: error instanceof Error ? error.message : String(error) });
  }
}
