/**
 * Waiting for the ledger, but not for ever. Every call waits so, and hardly any in vain: all that are equally patient share one
 * timer, which looks at those that have waited longest.
 */
import { performance } from 'node:perf_hooks';
import { LedgerUnavailable } from '../ledger/ledger.ts';

interface Waiting {
  readonly dueMs: number;
  /** Undefined: it is over, and this only waits to be taken out of the queue. */
  giveUp: ((error: LedgerUnavailable) => void) | undefined;
}

const LEAST_TIDIED = 64;

/** The work's result, or LedgerUnavailable when so much time has passed first; the work goes on, and its late failure is nobody's. */
export function createPatience(): <T>(ms: number, work: Promise<T>) => Promise<T> {
  const queues = new Map<number, PatienceQueue>();
  return (ms, work) => {
    let queue = queues.get(ms);
    if (!queue) queues.set(ms, queue = new PatienceQueue(ms));
    return queue.wait(work);
  };
}

class PatienceQueue {
  readonly #ms: number;
  /** In the order in which they become due; a list, as a set that is entered and left so often keeps what left it alive. */
  #waiting: Waiting[] = [];
  #unfinished = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  wait<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { dueMs: performance.now() + this.#ms, giveUp: reject };
      this.#waiting.push(waiting);
      this.#unfinished++;
      if (!this.#timer) this.#arm(this.#ms);
      work.then((result) => {
        this.#end(waiting);
        resolve(result);
      }, (error: unknown) => {
        this.#end(waiting);
        reject(error instanceof Error ? error : new LedgerUnavailable('the ledger failed', { cause: error }));
      });
    });
  }

  #end(waiting: Waiting): void {
    if (!waiting.giveUp) return;
    waiting.giveUp = undefined;
    this.#unfinished--;
    // at most half of the list is over
    if (this.#waiting.length > LEAST_TIDIED + 2 * this.#unfinished) this.#waiting = this.#waiting.filter(isUnfinished);
  }

  /** What is waited for keeps the process, not the waiting. */
  #arm(ms: number): void {
    this.#timer = setTimeout(() => this.#expire(), ms).unref();
  }

  #expire(): void {
    const nowMs = performance.now();
    for (const waiting of this.#waiting.filter(isUnfinished)) {
      if (waiting.dueMs > nowMs) return this.#arm(waiting.dueMs - nowMs);
      const { giveUp } = waiting;
      this.#end(waiting);
      giveUp?.(new LedgerUnavailable(`no answer within ${this.#ms} ms`));
    }
    this.#timer = undefined;
  }
}

function isUnfinished({ giveUp }: Waiting): boolean {
  return giveUp !== undefined;
}
