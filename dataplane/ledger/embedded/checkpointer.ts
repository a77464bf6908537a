/**
 * Checkpoints: at intervals, where anything has changed, what keys and accounts come to is appended to the newest
 * segment of the journal, another segment begins, and the file's thread takes in the complete one. Nobody waits for it,
 * and calls go on while it fails: the journal has everything until the file does.
 */
import { changesCheckpointed } from '../balances.ts';
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
  /** Opens the file again, or a new one in its place. */
  readonly reopen: () => Promise<OpenFile>;
  readonly onFault: (fault: LedgerFault) => void;
}

/** A segment of this size is complete also where only progress was recorded. */
const SEGMENT_BYTES = 8 << 20;
/** So many failures are reported: before that, somebody may just have read the file for a while. */
const FAILURES_TO_REPORT = 3;
const FINAL_TRIES = 3;

export class Checkpointer {
  readonly #deps: CheckpointerDeps;
  readonly #timer: NodeJS.Timeout;
  readonly #ledgerId: string;
  #thread: FileThread;
  /** The last segment that the file has. */
  #taken: number;
  /** The last segment that is complete. */
  #complete: number;
  /** Segments up to this one are taken in together: only its end has the totals of keys and accounts. */
  #notBefore: number;
  /** The file is not the one that it was: the next segment begins with all balances. */
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

  /** Takes in what has changed, unless something is being taken in already. */
  begin(): void {
    if (this.#stopped || this.#running) return;
    this.#completeSegment();
    if (this.#hasWork()) this.#running = this.#run();
  }

  /** Takes in nothing more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#stopped = true;
  }

  /** Takes in everything, the newest segment too. What fails now is taken in at the next start. */
  async finish(): Promise<void> {
    this.stop();
    await this.#running;
    const { journal } = this.#deps;
    for (let tries = 0; tries < FINAL_TRIES; tries++) {
      try {
        this.#flushTotals();
        if (this.#needsWhole) this.#rotate();
      } catch {
        // the journal has all movements already, but without the totals nothing of it can be taken in
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
      // not while the file takes segments in, which removes them
      if (!this.#running && journal.isGone) journal.renew(false);
    } catch (error) {
      // what is written to a file without a name is lost with the process: as bad as not being able to write
      committer.failed(error);
      return;
    }
    this.begin();
  }

  /** Begins another segment where the newest has something for the file. A file that lags gets large ones. */
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
      // the newest segment goes on
      this.#count(error);
    }
  }

  /** Ends the newest segment with what its movements come to. */
  #flushTotals(): void {
    const { balances, journal } = this.#deps;
    journal.addTotals(balances.changedKeys, balances.changedAccounts);
    journal.flush();
  }

  #rotate(): void {
    const { balances, journal } = this.#deps;
    journal.rotate(balances, this.#needsWhole);
    changesCheckpointed(balances);
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

  /** The file may be another by now: an empty one in the place of one that was removed, or an older one. */
  async #reopen(): Promise<void> {
    const { thread, checkpoint: { ledgerId, segment } } = await this.#deps.reopen();
    this.#thread = thread;
    const isSame = ledgerId === this.#ledgerId && segment >= this.#taken && segment <= this.#complete;
    if (isSame) this.#hasTaken(segment);
    else this.#needsWhole = true;
  }

  async #failed(error: unknown): Promise<void> {
    this.#count(error);
    // another thread begins afresh, whatever was wrong with this one
    await this.#thread.kill();
  }

  #count(error: unknown): void {
    if (++this.#failures !== FAILURES_TO_REPORT) return;
    this.#deps.onFault({ state: 'Lagging', reason: error instanceof Error ? error.message : String(error) });
  }
}
