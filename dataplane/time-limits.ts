/**
 * Time limits of much that waits: nearly all of it is over, or its limit put off, long before. So one timer serves all, set to the
 * earliest limit there was; when it runs out it looks at all of them and is set anew. Nothing is held of what has left.
 */
import { performance } from 'node:perf_hooks';

/** What has a limit. Both fields are the list's own. */
export interface Limited {
  /** By `performance.now()`. */
  dueMs: number;
  /** In the list; NOWHERE: it has no limit. */
  place: number;
  /** Called once when its time is up, and has no limit any more then. */
  expire(): void;
}

export const NOWHERE = -1;
/** A timer may be early by a part of a millisecond. */
const EARLY_MS = 1;

export class TimeLimits {
  readonly #keepsProcess: boolean;
  /** In no order: what leaves is replaced by the last. */
  readonly #entries: Limited[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** When the timer runs out. */
  #wakesAtMs = Infinity;

  /** @param keepsProcess whether the process stays alive for what waits */
  constructor({ keepsProcess }: { readonly keepsProcess: boolean }) {
    this.#keepsProcess = keepsProcess;
  }

  /** From now on; in place of the limit that it has. */
  set(entry: Limited, delayMs: number): void {
    entry.dueMs = performance.now() + delayMs;
    if (entry.place === NOWHERE) {
      entry.place = this.#entries.length;
      if (this.#entries.push(entry) === 1 && this.#keepsProcess) this.#timer?.ref();
    }
    // what is put off is seen when the timer runs out
    if (entry.dueMs < this.#wakesAtMs) this.#wakeAt(entry.dueMs, delayMs);
  }

  /** It has none any more. */
  clear(entry: Limited): void {
    const { place } = entry;
    if (place === NOWHERE) return;
    entry.place = NOWHERE;
    const last = this.#entries.pop();
    if (last && last !== entry) {
      this.#entries[place] = last;
      last.place = place;
    }
    // left alone, as there is a next one soon under load; with nothing to do it runs out once, and keeps nobody
    if (this.#entries.length === 0) this.#timer?.unref();
  }

  #wakeAt(atMs: number, delayMs: number): void {
    clearTimeout(this.#timer);
    this.#wakesAtMs = atMs;
    this.#timer = setTimeout(this.#wake, delayMs);
    if (!this.#keepsProcess) this.#timer.unref();
  }

  readonly #wake = (): void => {
    this.#timer = undefined;
    this.#wakesAtMs = Infinity;
    const nowMs = performance.now();
    const due = this.#entries.filter(({ dueMs }) => dueMs < nowMs + EARLY_MS);
    try {
      for (const entry of due) {
        // another's end may have been its own, or given it more time
        if (entry.place === NOWHERE || entry.dueMs >= nowMs + EARLY_MS) continue;
        this.clear(entry);
        entry.expire();
      }
    } finally {
      this.#wakeForNext();
    }
  };

  #wakeForNext(): void {
    let nextMs = Infinity;
    for (const { dueMs } of this.#entries) if (dueMs < nextMs) nextMs = dueMs;
    if (nextMs < this.#wakesAtMs) this.#wakeAt(nextMs, Math.max(0, nextMs - performance.now()));
  }
}
