/**
 * The main thread's end of the file's thread: requests with promises.
 */
import { Worker } from 'node:worker_threads';
import type { FileAnswer, FileRequest, FileSettings, StoredBooks } from './embedded-messages.ts';
import type { FileMark } from './journal-segments.ts';
import type { Row } from './row-reader.ts';

/** A request without its number. */
type Unnumbered<R> = R extends FileRequest ? Omit<R, 'seq'> : never;

interface Caller {
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** The file's thread, open. Everything that it was asked rejects when it ends. */
export class FileThread {
  readonly #worker: Worker;
  readonly #callers = new Map<number, Caller>();
  #seq = 0;
  #ended = false;
  #reason = 'it ended';

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (answer: FileAnswer) => this.#answered(answer));
    // an 'exit' follows, which rejects what is waiting
    worker.on('error', (error) => {
      this.#reason = error instanceof Error ? error.message : String(error);
    });
    worker.on('exit', () => this.#end());
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Resolves when the segments are in the file, and removed. */
  async fold(span: Omit<Extract<FileRequest, { type: 'Fold' }>, 'type' | 'seq'>): Promise<void> {
    await this.#ask({ type: 'Fold', ...span });
  }

  /** The row of a settled call. */
  findCall(callId: string): Promise<Row | undefined> {
    return this.#ask({ type: 'FindCall', callId });
  }

  /** The row of a job, by the key that made it or by its channel. */
  findJob(by: 'Key' | 'Channel', of: string, jobId: string): Promise<Row | undefined> {
    return this.#ask({ type: 'FindJob', by, of, jobId });
  }

  /** Resolves when the file is closed, its log folded in. */
  async close(): Promise<void> {
    await this.#ask({ type: 'Close' });
  }

  /** Ends the thread, whatever it does; it may take until the operating system answers it. */
  async kill(): Promise<void> {
    await this.#worker.terminate();
  }

  #ask(request: Unnumbered<FileRequest>): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(this.#obituary());
        return;
      }
      const seq = ++this.#seq;
      this.#callers.set(seq, { resolve, reject });
      this.#worker.postMessage({ ...request, seq }, []);
    });
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
    for (const { reject } of this.#callers.values()) reject(this.#obituary());
    this.#callers.clear();
  }

  #obituary(): Error {
    return new Error(`the file's thread has ended: ${this.#reason}`);
  }
}

/** Of what it reads nothing stays: a large young generation, as the main thread's, would only be memory that is touched for the first time again and again. */
const YOUNG_MIB = 24;

/** Where node watches the code (--watch), it tells by messages from a thread which files that loads: "watch:import" and the like. */
type NodeNotice = Readonly<Record<`watch:${string}`, unknown>>;

/** A file that was opened, and what it had. */
export interface OpenFile {
  readonly thread: FileThread;
  readonly mark: FileMark;
  readonly stored: StoredBooks;
}

/** Starts a thread that opens the file; rejects with what is wrong with the file. */
export function openFileThread(settings: FileSettings): Promise<OpenFile> {
  const worker = new Worker(new URL('embedded-worker.ts', import.meta.url), { workerData: settings, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB } });
  const thread = new FileThread(worker);
  return new Promise((resolve, reject) => {
    const opened = (answer: FileAnswer | NodeNotice): void => {
      if (!('type' in answer)) return;
      worker.off('message', opened);
      if (answer.type === 'Opened') resolve({ thread, mark: answer.mark, stored: answer.stored });
      else reject(new Error(answer.type === 'NotOpened' ? answer.reason : 'an answer before the file was open'));
    };
    worker.on('message', opened);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the file\'s thread ended before the file was open')));
  });
}
