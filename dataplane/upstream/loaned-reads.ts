/**
 * Reads of a connection past its stream: what arrives is put into one buffer that all connections share, copied to as much memory
 * as it needs, and taken by undici at once. node's own way is a new buffer of 64 KiB for each read, which is cut down to what came
 * and handed on by the stream's queue and its ticks.
 *
 * What undici does not take, since it pauses while a reader is behind, is kept here, and nothing is read until it was taken.
 */
import { Buffer } from 'node:buffer';
import type { OnReadOpts, Socket } from 'node:net';

const BUFFER_BYTES = 64 * 1024;
const SHARED = Buffer.allocUnsafeSlow(BUFFER_BYTES);

/** The reads of one connection: `onread` is an option of its socket, which is given to `attach` as soon as it is connected. */
export class LoanedReads {
  readonly onread: OnReadOpts = { buffer: SHARED, callback: (count) => this.#arrived(Buffer.from(SHARED.subarray(0, count))) };
  #socket: Socket | undefined;
  /** Arrived, and not taken. */
  #left: Buffer | undefined;
  #isStopped = false;

  /** For a reader that is told by `readable`, takes all there is by `read()`, and may put some of it back by `unshift`. */
  attach(socket: Socket): void {
    this.#socket = socket;
    const readStream = socket.read.bind(socket);
    socket.read = (size?: number): Buffer | null => {
      // node's own reading, and the end of all of it, which comes behind what is left
      if (size !== undefined) return this.#left ? null : readStream(size);
      const taken = this.#left;
      this.#left = undefined;
      if (!taken && this.#isStopped) {
        this.#isStopped = false;
        readStream(0);
      }
      return taken ?? null;
    };
    socket.unshift = (bytes: Buffer): void => {
      this.#left = this.#left ? Buffer.concat([bytes, this.#left]) : bytes;
    };
  }

  /** False: node is to read no more. */
  #arrived(bytes: Buffer): boolean {
    this.#left = this.#left ? Buffer.concat([this.#left, bytes]) : bytes;
    this.#socket?.emit('readable');
    if (!this.#left) return true;
    this.#isStopped = true;
    return false;
  }
}
