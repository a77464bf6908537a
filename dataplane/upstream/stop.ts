/**
 * How a call stops its exchange with a provider: what an AbortController does, for the one listener that there is at a time.
 * Every call has one and hardly any uses it; the platform's own is an event target, with a map and a list of listeners.
 */
import type { AbortWatch } from './upstream.ts';

export class Stop implements AbortWatch {
  #aborted = false;
  #listener: { handleEvent(): void } | undefined;

  get signal(): AbortWatch { return this; }

  get aborted(): boolean { return this.#aborted; }

  /** Tells the listener, once. */
  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.handleEvent();
  }

  addEventListener(_type: 'abort', listener: { handleEvent(): void }): void {
    if (this.#listener && this.#listener !== listener) throw new Error('one exchange at a time');
    if (!this.#aborted) this.#listener = listener;
  }

  removeEventListener(_type: 'abort', listener: { handleEvent(): void }): void {
    if (this.#listener === listener) this.#listener = undefined;
  }
}
