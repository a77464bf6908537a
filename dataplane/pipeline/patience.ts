/**
 * Waiting for the ledger, but not for ever. Every call waits so, and hardly any in vain: all that are equally patient share one
 * timer, which looks at those that have waited longest.
 */
import { LedgerUnavailable } from '../ledger/ledger.ts';

interface Waiting {
  readonly dueMs: number;
  /** Undefined: it is over. Let go of, as an outgrown table of the set may keep this until a full collection. */
  giveUp: ((error: LedgerUnavailable) => void) | undefined;
}

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
  /** In the order in which they become due. */
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  wait<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { dueMs: performance.now() + this.#ms, giveUp: reject };
      this.#waiting.add(waiting);
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
    this.#waiting.delete(waiting);
    waiting.giveUp = undefined;
  }

  /** What is waited for keeps the process, not the waiting. */
  #arm(ms: number): void {
    this.#timer = setTimeout(() => this.#expire(), ms).unref();
  }

  #expire(): void {
    const nowMs = performance.now();
    for (const waiting of this.#waiting) {
      if (waiting.dueMs > nowMs) {
        return this.#arm(waiting.dueMs - nowMs);
      }
      const { giveUp } = waiting;
      this.#end(waiting);
      giveUp?.(new LedgerUnavailable(`no answer within ${this.#ms} ms`));
    }
    this.#timer = undefined;
  }
}
