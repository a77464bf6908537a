/**
 * Work that is refused when it is not done in time. Unlike time-limits.ts it does not count the time in which the process itself
 * stood still: what is refused here is undone, though it may have been done meanwhile.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Deadline {
  /** Set by the owner when the work is done in time, and here when it is not. */
  over: boolean;
}

/** Work that knows itself what it does when it is late, so that nothing is made for its deadline alone. */
export interface Waiting extends Deadline {
  /** On the monotonic clock; set here. */
  dueMs: number;
  /** Called once, unless the deadline is over before. */
  expire(): void;
}

/** In slices of this, so that it is noticed how long the process itself stood still. */
const SLICE_MS = 25;
/** So many places of what is over are given up at once. */
const COMPACT_AT = 1_024;

/** The deadlines of much work of one kind: one timer serves all of them, since all have the same patience. */
export class Deadlines {
  readonly #timeoutMs: number;
  /** In the order of their deadlines, from `#first` on. What is over is let go as soon as it is the first: it would live on for no reason. */
  #entries: (Waiting | undefined)[] = [];
  #first = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** `refuse` is called once, unless the deadline is over before. */
  add(refuse: () => void): Deadline {
    const entry = { over: false, dueMs: 0, expire: refuse };
    this.wait(entry);
    return entry;
  }

  /** Sets when it is due. */
  wait(entry: Waiting): void {
    entry.dueMs = performance.now() + this.#timeoutMs;
    this.#forget();
    this.#entries.push(entry);
    if (!this.#timer) this.#arm();
  }

  /** The first that is not over; what is before it leaves. */
  #forget(): Waiting | undefined {
    const entries = this.#entries;
    let head = entries[this.#first];
    while (head?.over) {
      entries[this.#first++] = undefined;
      head = entries[this.#first];
    }
    if (!head) entries.length = this.#first = 0;
    else if (this.#first >= COMPACT_AT) {
      entries.splice(0, this.#first);
      this.#first = 0;
    }
    return head;
  }

  #arm(): void {
    const head = this.#forget();
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
    for (const entry of this.#entries) if (entry) entry.dueMs += lateMs;
  }

  #expire(): void {
    const nowMs = performance.now();
    const due = [];
    for (const entry of this.#entries) {
      if (!entry) continue;
      if (entry.dueMs > nowMs) break;
      if (!entry.over) due.push(entry);
    }
    for (const entry of due) {
      if (entry.over) continue;
      entry.over = true;
      entry.expire();
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
