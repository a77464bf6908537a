/**
 * The body of the app's request, as undici reads it: chunk by chunk as the connection accepts it, without buffering. It
 * is untouched until the first read, so that an attempt without a connection can be repeated.
 */
import type { IncomingMessage } from 'node:http';

export interface RequestBodyOptions {
  /** Called before the first chunk is read. */
  readonly onFirstRead: () => void;
  readonly onBytes: (bytes: number) => void;
}

type Read = IteratorResult<Buffer, undefined>;

const DONE: Read = { done: true, value: undefined };
const CHANGES = ['readable', 'end', 'close', 'error'] as const;

export class StreamedRequestBody implements AsyncIterableIterator<Buffer, undefined> {
  readonly #message: IncomingMessage;
  readonly #options: RequestBodyOptions;
  #begun = false;
  #discarded = false;
  /** Ends the wait for the next chunk. */
  #wake: (() => void) | undefined;

  constructor(message: IncomingMessage, options: RequestBodyOptions) {
    this.#message = message;
    this.#options = options;
  }

  /**
   * Tells the reader that the body has ended, and ignores what the app still sends, because the response is complete.
   */
  discardRest(): void {
    this.#discarded = true;
    this.#onChange();
    if (this.#begun) this.#message.resume();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Returns the next chunk. Rejects if the app aborts its request. */
  async next(): Promise<Read> {
    if (!this.#begun) {
      this.#begun = true;
      this.#options.onFirstRead();
    }
    for (;;) {
      if (this.#discarded) return DONE;
      const value: unknown = this.#message.read();
      if (Buffer.isBuffer(value)) {
        this.#options.onBytes(value.length);
        return { done: false, value };
      }
      if (this.#message.readableEnded) return DONE;
      if (this.#message.destroyed) throw new Error('the app broke its request off');
      await this.#nextChange();
    }
  }

  /** Resolves when there may be more to read, or the message has ended. */
  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      for (const event of CHANGES) this.#message.on(event, this.#onChange);
    });
  }

  readonly #onChange = (): void => {
    const wake = this.#wake;
    if (!wake) return;
    this.#wake = undefined;
    for (const event of CHANGES) this.#message.off(event, this.#onChange);
    wake();
  };
}
