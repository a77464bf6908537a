/**
 * The main thread's handle of the thread that owns the ledger's file. It sends requests and returns promises. It does
 * not send movements, because the thread reads them from the journal.
 */
import { Worker } from 'node:worker_threads';
import type { Keeping } from './kept-conversations.ts';
import type { FileSettings, JobKey, SegmentRange } from './ledger-file.ts';
import type { FileState } from './recovery.ts';
import type { Row } from '../../usage/rows.ts';

export interface ThreadSettings extends FileSettings {
  /** Whether opening the file reads the balances. */
  readonly readsBalances: boolean;
}

export type FileRequest =
  | { readonly type: 'Checkpoint'; readonly seq: number; readonly range: SegmentRange }
  | { readonly type: 'FindCall'; readonly seq: number; readonly callId: string }
  | { readonly type: 'FindJob'; readonly seq: number; readonly job: JobKey }
  | { readonly type: 'KeepConversation'; readonly seq: number; readonly keeping: Keeping }
  | { readonly type: 'ForgetConversation'; readonly seq: number; readonly account: string; readonly id: string }
  | { readonly type: 'Close'; readonly seq: number };

export type FileAnswer =
  | ({ readonly type: 'Opened' } & FileState)
  | { readonly type: 'NotOpened'; readonly reason: string }
  | { readonly type: 'Done'; readonly seq: number; readonly row: Row | undefined }
  | { readonly type: 'Failed'; readonly seq: number; readonly reason: string };

/** A request before it gets its number. */
type Unnumbered<R> = R extends FileRequest ? Omit<R, 'seq'> : never;
type Caller = PromiseWithResolvers<Row | undefined>;

/** The running thread. All pending requests reject when it ends. */
export class FileThread {
  readonly #worker: Worker;
  readonly #callers = new Map<number, Caller>();
  #seq = 0;
  #ended = false;
  #reason = 'it ended';

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (answer: FileAnswer) => this.#answered(answer));
    // an 'exit' event follows, which rejects all pending requests
    worker.on('error', (error) => {
      this.#reason = error instanceof Error ? error.message : String(error);
    });
    worker.on('exit', () => this.#end());
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when the segments are in the file and deleted. */
  async checkpoint(range: SegmentRange): Promise<void> {
    await this.#ask({ type: 'Checkpoint', range });
  }

  findCall(callId: string): Promise<Row | undefined> {
    return this.#ask({ type: 'FindCall', callId });
  }

  findJob(job: JobKey): Promise<Row | undefined> {
    return this.#ask({ type: 'FindJob', job });
  }

  /** Resolves with an empty row, or with undefined if the conversation would exceed the limits. */
  keepConversation(keeping: Keeping): Promise<Row | undefined> {
    return this.#ask({ type: 'KeepConversation', keeping });
  }

  forgetConversation(account: string, id: string): Promise<Row | undefined> {
    return this.#ask({ type: 'ForgetConversation', account, id });
  }

  /** Resolves when the file is closed. */
  async close(): Promise<void> {
    await this.#ask({ type: 'Close' });
  }

  /** Terminates the thread. A blocked system call delays that until it returns. */
  async kill(): Promise<void> {
    await this.#worker.terminate();
  }

  #ask(request: Unnumbered<FileRequest>): Promise<Row | undefined> {
    if (this.#ended) return Promise.reject(this.#endError());
    const caller: Caller = Promise.withResolvers();
    const seq = ++this.#seq;
    this.#callers.set(seq, caller);
    this.#worker.postMessage({ ...request, seq }, []);
    return caller.promise;
  }

  #answered(answer: FileAnswer): void {
    if (answer.type !== 'Done' && answer.type !== 'Failed') return;
    const caller = this.#callers.get(answer.seq);
    this.#callers.delete(answer.seq);
    if (answer.type === 'Done') caller?.resolve(answer.row);
    else caller?.reject(new Error(answer.reason));
  }

  #end(): void {
    this.#ended = true;
    for (const { reject } of this.#callers.values()) reject(this.#endError());
    this.#callers.clear();
  }

  #endError(): Error {
    return new Error(`the file's thread has ended: ${this.#reason}`);
  }
}

/** A message such as "watch:import", which a thread sends under `node --watch`. */
type NodeNotice = Readonly<Record<`watch:${string}`, unknown>>;

/** An opened file and its state. */
export interface OpenFile extends FileState {
  readonly thread: FileThread;
}

/** Starts a thread that opens the file. Rejects with the reason if that fails. */
export function openFileThread(settings: ThreadSettings): Promise<OpenFile> {
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: settings });
  const thread = new FileThread(worker);
  return new Promise((resolve, reject) => {
    const opened = (answer: FileAnswer | NodeNotice): void => {
      if (!('type' in answer)) return;
      worker.off('message', opened);
      if (answer.type === 'Opened') resolve({ thread, checkpoint: answer.checkpoint, stored: answer.stored });
      else reject(new Error(answer.type === 'NotOpened' ? answer.reason : 'an answer before the file was open'));
    };
    worker.on('message', opened);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error("the file's thread ended before the file was open")));
  });
}
