/**
 * Where log lines wait to be written together. Collected as one text and handed on whole: the destination below measures what it
 * holds anew with each piece that it is given, which makes many small ones dear.
 */
import type { DestinationStream } from 'pino';

/** pino's own, which knows of slow and broken outputs. */
export interface Output extends DestinationStream {
  /** Nothing can be written any more. */
  readonly destroyed?: boolean;
  flush(done?: (error?: Error) => void): void;
  flushSync(): void;
}

export interface LineBufferOptions {
  /** So many characters are written without waiting for more. */
  readonly writeLength: number;
  /** So late at most. */
  readonly writeEveryMs: number;
}

export class LineBuffer implements Output {
  readonly #output: Output;
  readonly #writeLength: number;
  readonly #writeEveryMs: number;
  #lines = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(output: Output, { writeLength, writeEveryMs }: LineBufferOptions) {
    this.#output = output;
    this.#writeLength = writeLength;
    this.#writeEveryMs = writeEveryMs;
  }

  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length >= this.#writeLength) return this.flush();
    // refreshed, not made anew, and never what keeps a process
    if (this.#lines.length > line.length) return;
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
    if (this.#lines === '') return;
    const lines = this.#lines;
    this.#lines = '';
    if (!this.#output.destroyed) this.#output.write(lines);
  }
}
