/**
 * What every stream converter shares: bytes in pieces of any size become events, one handler decides what the client gets for
 * each, and only whole events leave.
 */
import type { Dialect } from './call-facts.ts';
import type { Meter, StreamConverter, StreamEnd } from './converter.ts';
import { failStream } from './error-words.ts';
import { Outgoing } from './outgoing.ts';
import { Skim } from './skim.ts';
import type { Skimming } from './skim.ts';
import { FramedEvent, SseFramer } from './sse.ts';
import type { SseEvent } from './sse.ts';

/** The largest event that is believed in: chat events are small, images in one piece are not. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;

const NOTHING = Buffer.alloc(0);

/** The client gets the event as it is. */
export const AS_IT_IS: readonly Uint8Array[] = [];

/** One pair's state machine. */
export interface EventHandler {
  /** What the client gets for this event now. Not called once `terminal`. */
  take(event: SseEvent): readonly Uint8Array[];
  /** Absent: every event must be taken. */
  readonly skimming?: Skimming;
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
  readonly #outgoing = new Outgoing();
  readonly #skim: Skim | undefined;
  /** Why nothing of the stream can be used any more. */
  #fault: string | undefined;

  constructor(handler: EventHandler, options: EventStreamOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#framer = new SseFramer(options.maxEventBytes ?? MAX_EVENT_BYTES);
    this.#skim = handler.skimming && new Skim(handler.skimming, this.#outgoing);
  }

  get terminal(): boolean {
    return this.#handler.terminal || this.#fault !== undefined;
  }

  get meter(): Meter {
    return this.#handler.meter;
  }

  push(chunk: Uint8Array): Uint8Array {
    if (this.terminal) return NOTHING;
    const framer = this.#framer;
    framer.append(chunk);
    for (let event = this.#next(); event; event = this.#next()) {
      this.#take(event);
      if (this.terminal) break;
    }
    if (framer.overflowed) this.#fault ??= 'The provider sent an event too large to pass on.';
    return this.#outgoing.take();
  }

  end(): StreamEnd {
    const left = this.terminal ? undefined : this.#framer.end();
    if (left) this.#take(left);
    const { client, requestId } = this.#options;
    if (this.#fault !== undefined && !this.#handler.terminal) return failStream(client, { message: this.#fault, type: undefined, code: undefined }, requestId);
    const end = this.#handler.finish();
    const rest = this.#outgoing.take();
    return end.outcome === 'Cut' || rest.length === 0 ? end : { ...end, last: Buffer.concat([rest, end.last]) };
  }

  /** The next event that must be read. */
  #next(): FramedEvent | undefined {
    if (this.#skim) this.#framer.skim(this.#skim);
    return this.#framer.next();
  }

  #take(event: SseEvent): void {
    try {
      this.#send(event, this.#handler.take(event));
    } catch (error) {
      // an event that nests beyond reason cannot be written again
      if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
      this.#fault = 'The provider sent an event that cannot be converted.';
    }
  }

  #send(event: SseEvent, pieces: readonly Uint8Array[]): void {
    if (pieces !== AS_IT_IS) for (const piece of pieces) this.#outgoing.write(piece);
    else if (event instanceof FramedEvent) this.#outgoing.pass(event.store, event.from, event.to);
    else this.#outgoing.write(event.raw);
    if (this.#skim && !this.terminal) this.#skim.learn(event, pieces === AS_IT_IS ? event.raw : pieces[0]);
  }
}
