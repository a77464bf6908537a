/**
 * node's request, whose body can be taken as it is parsed. Going through the request's stream, a small body takes three turns of
 * the queue of ticks and a dozen of the stream's steps; what is parsed by then waits for nothing.
 */
import { Readable } from 'node:stream';
import { nodeHttp } from '../node-http.ts';

/** Told of a body in order: all of its pieces, then its end; or that it breaks off, at any point before. */
export interface BodySink {
  take(piece: Buffer): void;
  end(): void;
  broken(error: Error): void;
}

/** For node's `IncomingMessage` option. A stream like any other until somebody takes its body. */
export class RequestMessage extends nodeHttp.IncomingMessage {
  static {
    // node asks it whether all was read, by whichever way; for TypeScript it is no accessor, and cannot be overridden as one
    const ofStream = Reflect.getOwnPropertyDescriptor(Readable.prototype, 'readableEnded')?.get;
    Object.defineProperty(this.prototype, 'readableEnded', { get(this: RequestMessage) { return this.#isTaken || ofStream?.call(this); } });
  }

  #sink: BodySink | undefined;
  #isStream = false;
  #isTaken = false;

  /** From now on the body goes to the sink, and never through the stream. False: the stream has had some of it already. */
  deliver(sink: BodySink): boolean {
    if (this.#isStream) return false;
    this.#sink = sink;
    // as if it were read: else node would empty it once it is answered
    super._read(0);
    return true;
  }

  /** Where node's parser puts the body, piece by piece, and `null` at its end. */
  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    const sink = this.#sink;
    if (!sink) {
      this.#isStream = true;
      return super.push(piece, encoding);
    }
    if (piece !== null) sink.take(piece);
    else if (!this.#isTaken) {
      this.#isTaken = true;
      sink.end();
    }
    return true;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (this.#sink && !this.#isTaken) this.#sink.broken(error ?? new Error('the request was given up'));
    super._destroy(error, callback);
  }
}
