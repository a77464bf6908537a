/**
 * A worker thread with a fair queue: keys take turns, so that a key with many jobs delays another key by at most one
 * job. The first job starts the thread, which ends after a minute without jobs. A job is posted when its turn comes, so
 * that only one is copied to the thread at a time.
 */
import { Worker } from 'node:worker_threads';

export interface FairWorkerOptions {
  /** The thread's module. It replies to each Posted<Job> with a Replied<Reply>, in order. */
  readonly module: URL;
  /** Called with the error if the thread could not start or ended by itself. */
  readonly onFault: (error: unknown) => void;
  /** The thread is ended after this time without a job. Default: a minute. */
  readonly idleMs?: number;
  /** The most jobs that wait or run, of one key and in all. Default: no limit. */
  readonly maxOfKey?: number;
  readonly maxInAll?: number;
}

export interface FairWorker<Job, Reply> {
  /**
   * Resolves with the reply, or with undefined if the thread failed or is closed or too many jobs wait. Never rejects.
   */
  run(key: string, job: Job): Promise<Reply | undefined>;
  close(): Promise<void>;
}

export interface Posted<Job> {
  readonly job: Job;
}

export interface Replied<Reply> {
  readonly reply: Reply;
}

interface Queued<Job, Reply> {
  readonly job: Job;
  readonly done: (reply: Reply | undefined) => void;
}

const IDLE_MS = 60_000;

/** Creates the worker without starting its thread. */
export function createFairWorker<Job, Reply>(options: FairWorkerOptions): FairWorker<Job, Reply> {
  return new QueuedWorker(options);
}

class QueuedWorker<Job, Reply> implements FairWorker<Job, Reply> {
  readonly #options: FairWorkerOptions;
  /** Waiting jobs by key, in the order of the keys' turns. */
  readonly #queues = new Map<string, Queued<Job, Reply>[]>();
  #count = 0;
  #running: Queued<Job, Reply> | undefined;
  #runningKey: string | undefined;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: FairWorkerOptions) {
    this.#options = options;
  }

  run(key: string, job: Job): Promise<Reply | undefined> {
    const { maxOfKey = Infinity, maxInAll = Infinity } = this.#options;
    const queue = this.#queues.get(key) ?? [];
    const ofKey = queue.length + Number(this.#runningKey === key);
    if (this.#closed || ofKey >= maxOfKey || this.#count >= maxInAll) return Promise.resolve(undefined);
    return new Promise((done) => {
      queue.push({ job, done });
      this.#queues.set(key, queue);
      this.#count++;
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#end();
    await worker?.terminate();
  }

  #next(): void {
    if (this.#running) return;
    const [first] = this.#queues;
    if (!first) return this.#rest();
    const [key, queue] = first;
    const queued = queue.shift();
    // the key goes to the end of the queue
    this.#queues.delete(key);
    if (queue.length > 0) this.#queues.set(key, queue);
    this.#running = queued;
    this.#runningKey = key;
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    if (queued) this.#worker.postMessage({ job: queued.job } satisfies Posted<Job>, []);
  }

  #start(): Worker {
    const worker = new Worker(this.#options.module);
    worker.unref();
    worker.on('message', ({ reply }: Replied<Reply>) => this.#finish(reply));
    worker.on('error', this.#options.onFault);
    worker.on('exit', () => {
      if (this.#worker === worker) this.#end();
    });
    return worker;
  }

  #finish(reply: Reply): void {
    const running = this.#running;
    this.#running = undefined;
    this.#runningKey = undefined;
    this.#count--;
    running?.done(reply);
    this.#next();
  }

  #rest(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      const worker = this.#worker;
      this.#end();
      void worker?.terminate();
    }, this.#options.idleMs ?? IDLE_MS).unref();
  }

  /** Ends the thread: every waiting job resolves to undefined, and the next job starts another thread. */
  #end(): void {
    this.#worker = undefined;
    clearTimeout(this.#idle);
    const waiting = [this.#running, ...[...this.#queues.values()].flat()];
    this.#queues.clear();
    this.#running = undefined;
    this.#runningKey = undefined;
    this.#count = 0;
    for (const queued of waiting) queued?.done(undefined);
  }
}
