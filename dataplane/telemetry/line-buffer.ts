/**
 * Where log lines wait to be written together, as bytes: a line is put together from dozens of pieces, which are copied once, while
 * they are at hand, and then forgotten. Kept as text they would outlive a collection or two, and be walked through again when they
 * are written.
 */
import type { DestinationStream } from 'pino';

/** pino's own, which knows of slow and broken outputs. */
export interface Output {
  write(lines: Uint8Array): unknown;
  /** Nothing can be written any more. */
  readonly destroyed?: boolean;
  flush(done?: (error?: Error) => void): void;
  flushSync(): void;
}

export interface LineBufferOptions {
  /** So many bytes are written without waiting for more. */
  readonly writeLength: number;
  /** So late at most. */
  readonly writeEveryMs: number;
}

/** A character takes at most three bytes. */
const MOST_BYTES = 3;
/** Beyond what is written at once: the line that reaches it fits in most cases. */
const ROOM_BYTES = 4096;
const NOTHING = Buffer.alloc(0);

export class LineBuffer implements DestinationStream {
  readonly #output: Output;
  readonly #writeLength: number;
  readonly #writeEveryMs: number;
  /** Given away when it is handed on: who writes it may keep it for a while. */
  #bytes = NOTHING;
  #filled = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(output: Output, { writeLength, writeEveryMs }: LineBufferOptions) {
    this.#output = output;
    this.#writeLength = writeLength;
    this.#writeEveryMs = writeEveryMs;
  }

  write(line: string): void {
    const most = line.length * MOST_BYTES;
    if (this.#filled + most > this.#bytes.length) this.#makeRoom(most);
    const isFirst = this.#filled === 0;
    this.#filled += this.#bytes.write(line, this.#filled);
    if (this.#filled >= this.#writeLength) return this.flush();
    // refreshed, not made anew, and never what keeps a process
    if (!isFirst) return;
    if (this.#timer) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.flush(), this.#writeEveryMs).unref();
  }

  flush(done?: (error?: Error) => void): void {
    this.handOn();
    if (this.#output.destroyed) done?.();
    else this.#output.flush(done);
  }

  /** For the end of the process. */
  flushSync(): void {
    this.handOn();
    if (!this.#output.destroyed) this.#output.flushSync();
  }

  /** Gives the output what has been collected, to be written when it sees fit. */
  handOn(): void {
    if (this.#filled === 0) return;
    const lines = this.#bytes.subarray(0, this.#filled);
    this.#bytes = NOTHING;
    this.#filled = 0;
    if (!this.#output.destroyed) this.#output.write(lines);
  }

  #makeRoom(bytes: number): void {
    this.handOn();
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(bytes, this.#writeLength + ROOM_BYTES));
  }
}
