/**
 * The main thread's handle of the checkpoint thread. Every two seconds it asks for a checkpoint where anything was
 * committed, and looks whether the file is still there. Calls wait only where the log is begun anew. They continue while
 * checkpoints fail, because SQLite's log keeps everything.
 */
import { Worker } from 'node:worker_threads';
import type { ThreadReply, ThreadRequest, ThreadSettings } from './checkpoint-thread.ts';
import type { LedgerFault } from './committer.ts';
import type { LedgerFile } from './ledger-file.ts';

export interface CheckpointerDeps extends Omit<ThreadSettings, 'inode'> {
  readonly file: LedgerFile;
  /** Files settled calls. */
  readonly fileCalls: () => void;
  readonly onFault: (fault: LedgerFault) => void;
  readonly intervalMs: number;
  /** A log of more pages is begun anew, for which commits have to wait. */
  readonly logPages: number;
}

/** A message such as "watch:import", which a thread sends under `node --watch`. */
type NodeNotice = Readonly<Record<`watch:${string}`, unknown>>;

/** A fault is reported after this many failures; a program that reads the file may cause fewer. */
const FAILURES_TO_REPORT = 3;

export class Checkpointer {
  readonly #deps: CheckpointerDeps;
  readonly #timer: NodeJS.Timeout;
  #thread: Worker | undefined;
  readonly #callers = new Map<number, PromiseWithResolvers<number>>();
  #seq = 0;
  #checkpointed = -1;
  #running: Promise<void> | undefined;
  #failures = 0;
  #pauses = 0;

  constructor(deps: CheckpointerDeps) {
    this.#deps = deps;
    this.#thread = this.#start();
    this.#timer = setInterval(() => this.#tick(), deps.intervalMs).unref();
  }

  /** Resolves when everything that was committed is in the file itself, synced. Commits wait meanwhile. */
  async checkpoint(): Promise<void> {
    await this.#whilePaused(() => this.#ask('Restart'));
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    if (this.#thread) await this.#ask('Close').catch(() => undefined);
  }

  /** Terminates the thread. A blocked system call delays that until it returns. */
  async kill(): Promise<void> {
    clearInterval(this.#timer);
    await this.#thread?.terminate();
  }

  #tick(): void {
    if (this.#running) return;
    const { file, fileCalls } = this.#deps;
    const isGone = file.isGone;
    if (!isGone) fileCalls();
    if (!isGone && file.commits === this.#checkpointed) return;
    this.#running = (isGone ? this.#replace() : this.#move()).then(
      () => this.#succeeded(),
      (error: unknown) => this.#failed(error),
    );
  }

  async #move(): Promise<void> {
    const { file, logPages } = this.#deps;
    const { commits } = file;
    const pages = await this.#ask('Move');
    this.#checkpointed = commits;
    if (pages > logPages) await this.checkpoint();
  }

  /** Replaces a file that was removed, or whose log was, by a copy of what is open. */
  async #replace(): Promise<void> {
    const { file } = this.#deps;
    await this.#whilePaused(async () => {
      // after a failure the file may be closed, and copied already
      if (file.isOpen) await (this.#thread ? this.#ask('Copy') : file.copy());
      file.takeCopy();
    });
  }

  async #whilePaused(work: () => Promise<unknown>): Promise<void> {
    const { file } = this.#deps;
    this.#pauses++;
    file.paused = true;
    try {
      await work();
    } finally {
      this.#pauses--;
      file.paused = this.#pauses > 0;
    }
  }

  #succeeded(): void {
    this.#running = undefined;
    if (this.#failures >= FAILURES_TO_REPORT) this.#deps.onFault({ state: 'CaughtUp', reason: '' });
    this.#failures = 0;
  }

  #failed(error: unknown): void {
    this.#running = undefined;
    if (++this.#failures !== FAILURES_TO_REPORT) return;
    this.#deps.onFault({ state: 'Lagging', reason: error instanceof Error ? error.message : String(error) });
  }

  /** Resolves with the number of the log's pages. */
  #ask(task: ThreadRequest['task']): Promise<number> {
    const thread = (this.#thread ??= this.#start());
    const caller = Promise.withResolvers<number>();
    const seq = ++this.#seq;
    this.#callers.set(seq, caller);
    thread.ref();
    thread.postMessage({ seq, task } satisfies ThreadRequest, []);
    return caller.promise;
  }

  #start(): Worker {
    const { path, file, faults } = this.#deps;
    const workerData: ThreadSettings = { path, inode: file.inode, faults };
    const thread = new Worker(new URL('checkpoint-thread.ts', import.meta.url), { workerData });
    let reason = 'it ended';
    thread.on('message', (reply: ThreadReply | NodeNotice) => {
      if ('seq' in reply) this.#replied(reply);
    });
    // an 'exit' event follows
    thread.on('error', (error) => {
      reason = error instanceof Error ? error.message : String(error);
    });
    thread.on('exit', () => {
      this.#thread = undefined;
      for (const seq of this.#callers.keys())
        this.#replied({ seq, pages: 0, reason: `the checkpoint thread ended: ${reason}` });
    });
    thread.unref();
    return thread;
  }

  #replied({ seq, reason, pages }: ThreadReply): void {
    const caller = this.#callers.get(seq);
    this.#callers.delete(seq);
    if (this.#callers.size === 0) this.#thread?.unref();
    if (reason === undefined) caller?.resolve(pages);
    else caller?.reject(new Error(reason));
  }
}
