/**
 * What every stream converter shares: bytes in pieces of any size become events, one handler decides what the client gets for
 * each, and only whole events leave.
 */
import type { Dialect } from './call-facts.ts';
import type { Meter, StreamConverter, StreamEnd } from './converter.ts';
import { failStream } from './error-words.ts';
import { SseFramer } from './sse.ts';
import type { SseEvent } from './sse.ts';

/** The largest event that is believed in: chat events are small, images in one piece are not. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/** One pair's state machine. */
export interface EventHandler {
  /** What the client gets for this event now. Not called once `terminal`. */
  take(event: SseEvent): readonly Uint8Array[];
  /** The terminal event, or the provider's error, was taken. */
  readonly terminal: boolean;
  readonly meter: Meter;
  /** The stream is over. */
  finish(): StreamEnd;
}

export interface EventStreamOptions {
  readonly client: Dialect;
  readonly requestId: string;
  readonly maxEventBytes?: number;
}

export function openEventStream(handler: EventHandler, options: EventStreamOptions): StreamConverter {
  return new EventStream(handler, options);
}

class EventStream implements StreamConverter {
  readonly #handler: EventHandler;
  readonly #options: EventStreamOptions;
  readonly #framer: SseFramer;
  /** Why nothing of the stream can be used any more. */
  #fault: string | undefined;

  constructor(handler: EventHandler, options: EventStreamOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#framer = new SseFramer(options.maxEventBytes ?? MAX_EVENT_BYTES);
  }

  get terminal(): boolean {
    return this.#handler.terminal || this.#fault !== undefined;
  }

  get meter(): Meter {
    return this.#handler.meter;
  }

  push(chunk: Uint8Array): Uint8Array {
    if (this.terminal) return Buffer.alloc(0);
    const events = this.#framer.push(chunk);
    const pieces = events.flatMap((event) => this.#take(event));
    if (this.#framer.overflowed) this.#fault ??= 'The provider sent an event too large to pass on.';
    return join(pieces);
  }

  end(): StreamEnd {
    const left = this.terminal ? undefined : this.#framer.end();
    const rest = left ? this.#take(left) : [];
    const { client, requestId } = this.#options;
    if (this.#fault !== undefined && !this.#handler.terminal) return failStream(client, { message: this.#fault, type: undefined, code: undefined }, requestId);
    const end = this.#handler.finish();
    return end.outcome === 'Cut' || rest.length === 0 ? end : { ...end, last: join([...rest, end.last]) };
  }

  #take(event: SseEvent): readonly Uint8Array[] {
    if (this.terminal) return [];
    try {
      return this.#handler.take(event);
    } catch (error) {
      // an event that nests beyond reason cannot be written again
      if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
      this.#fault = 'The provider sent an event that cannot be converted.';
      return [];
    }
  }
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only ? only : Buffer.concat(pieces);
}
