/**
 * The body of the app's request on its way to the fleet: pulled piece by piece, as the connection takes it, and held nowhere. Until
 * the first pull nothing of it has been read, so that an attempt that finds no connection can be repeated.
 */
import type { IncomingMessage } from 'node:http';

export interface RequestBodyOptions {
  /** Its first byte is asked for. */
  readonly onWanted: () => void;
  readonly onBytes: (bytes: number) => void;
}

type Piece = IteratorResult<Buffer, undefined>;

const DONE: Piece = { done: true, value: undefined };

export class RequestBody implements AsyncIterableIterator<Buffer, undefined> {
  readonly #message: IncomingMessage;
  readonly #options: RequestBodyOptions;
  #begun = false;
  #dropped = false;
  /** Somebody waits for the next piece. */
  #waiting: (() => void) | undefined;

  constructor(message: IncomingMessage, options: RequestBodyOptions) {
    this.#message = message;
    this.#options = options;
  }

  /** The answer is complete: whoever pulls is told that it has ended, and what the app still sends is read and forgotten. */
  drop(): void {
    this.#dropped = true;
    this.#wake();
    if (this.#begun) this.#message.resume();
  }

  [Symbol.asyncIterator](): this { return this; }

  async next(): Promise<Piece> {
    if (!this.#begun) {
      this.#begun = true;
      this.#options.onWanted();
    }
    for (;;) {
      if (this.#dropped) return DONE;
      const value: unknown = this.#message.read();
      if (Buffer.isBuffer(value)) {
        this.#options.onBytes(value.length);
        return { done: false, value };
      }
      if (this.#message.readableEnded) return DONE;
      if (this.#message.destroyed) throw new Error('the app broke its request off');
      await this.#change();
    }
  }

  /** There may be more, or it has ended. */
  #change(): Promise<void> {
    const message = this.#message;
    return new Promise((resolve) => {
      this.#waiting = resolve;
      for (const event of ['readable', 'end', 'close', 'error']) message.on(event, this.#wake);
    });
  }

  readonly #wake = (): void => {
    const resolve = this.#waiting;
    if (!resolve) return;
    this.#waiting = undefined;
    for (const event of ['readable', 'end', 'close', 'error']) this.#message.off(event, this.#wake);
    resolve();
  };
}

/** Whether the message says that it has a body (RFC 9112, 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');
}
