/**
 * Work that is refused when it is not done in time.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Deadline {
  /** Set by the owner when the work is done in time, and here when it is refused. */
  over: boolean;
}

/** In slices of this, so that it is noticed how long the process itself stood still. */
const SLICE_MS = 25;

interface Entry extends Deadline {
  dueMs: number;
  readonly refuse: () => void;
}

/** The deadlines of much work of one kind: one timer serves all of them, since all have the same patience. */
export class Deadlines {
  readonly #patienceMs: number;
  #entries: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** `refuse` is called once, unless the deadline is over before. */
  add(refuse: () => void): Deadline {
    const entry = { over: false, dueMs: performance.now() + this.#patienceMs, refuse };
    this.#entries.push(entry);
    if (!this.#timer) this.#arm();
    return entry;
  }

  #arm(): void {
    const first = this.#entries.findIndex(({ over }) => !over);
    this.#entries = first < 0 ? [] : this.#entries.slice(first);
    const [head] = this.#entries;
    if (!head) {
      this.#timer = undefined;
      return;
    }
    const dueMs = Math.min(head.dueMs, performance.now() + SLICE_MS);
    // where the loop itself was late, what is already done gets to say so first
    this.#timer = setTimeout(() => {
      this.#grant(performance.now() - dueMs);
      setImmediate(() => this.#expire());
    }, Math.max(0, dueMs - performance.now()));
    // what is waited for keeps the process, not the waiting
    this.#timer.unref();
  }

  /** A process that stood still has not waited: what it was asked before may not even have been sent. */
  #grant(lateMs: number): void {
    if (lateMs < SLICE_MS) return;
    for (const entry of this.#entries) entry.dueMs += lateMs;
  }

  #expire(): void {
    const nowMs = performance.now();
    for (const entry of this.#entries) {
      if (entry.dueMs > nowMs) break;
      if (entry.over) continue;
      entry.over = true;
      entry.refuse();
    }
    this.#arm();
  }
}

/** The result of the work, or `undefined` after this time; the work goes on. */
export async function within<T>(ms: number, work: Promise<T>): Promise<{ readonly result: T } | undefined> {
  const waiting = new AbortController();
  const timeout = sleep(ms, undefined, { signal: waiting.signal });
  try {
    return await Promise.race([work.then((result) => ({ result })), timeout]);
  } finally {
    timeout.catch(() => undefined);
    waiting.abort();
  }
}
