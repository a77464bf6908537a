/**
 * The common part of all stream converters: it splits bytes into events, asks a handler what to send for each event,
 * and sends only whole events.
 */
import type { Dialect } from './call-facts.ts';
import type {
  ConvertedJob,
  LargeEvent,
  LargeEventRead,
  Meter,
  StreamConverter,
  StreamEnd,
  StreamFailure,
} from './converter.ts';
import { failStream } from './stream-errors.ts';
import { SseFramer } from './sse.ts';
import type { SseEvent } from './sse.ts';

/** Default limit of one event. Chat events are small; an endpoint that sends images in events sets its own. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** Limit of one event that may hold a picture. */
export const MAX_PICTURE_EVENT_BYTES = 64 * 1024 * 1024;

const EMPTY = Buffer.alloc(0);
const UNREADABLE = 'The provider sent an event that cannot be converted.';

/** The state machine of one stream. */
export interface EventHandler {
  /** Returns the bytes to send for this event: `[event.raw]` passes it on. Not called once `terminal` is true. */
  handle(event: SseEvent): readonly Uint8Array[];
  /** The terminal event, or the provider's error, has been taken. */
  readonly terminal: boolean;
  readonly meter: Meter;
  /** See StreamConverter. */
  readonly job?: ConvertedJob | undefined;
  /** Called when the provider's stream has ended. */
  finish(): StreamEnd;
  /** See StreamConverter. */
  fail?(error: StreamFailure): Uint8Array;
  /** The event as another thread is to read it; undefined or absent: `handle` takes it. */
  large?(event: SseEvent): LargeEvent | undefined;
  /** Takes such an event. */
  handleRead?(read: LargeEventRead): readonly Uint8Array[];
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
  readonly fail?: StreamConverter['fail'];
  /** The converted last bytes of a stream that was cut. They are sent before the failure. */
  #unsent: readonly Uint8Array[] = [];
  /** Why the rest of the stream cannot be used. */
  #fault: string | undefined;
  /** The event that another thread reads. */
  #large: LargeEvent | undefined;
  /** What the provider's stream ended within. */
  #rest: SseEvent | undefined;

  constructor(handler: EventHandler, options: EventStreamOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#framer = new SseFramer(options.maxEventBytes ?? MAX_EVENT_BYTES);
    if (handler.fail) this.fail = (error) => join([...this.#unsent, handler.fail?.(error) ?? EMPTY]);
  }

  get terminal(): boolean {
    return this.#handler.terminal || this.#fault !== undefined;
  }

  get meter(): Meter {
    return this.#handler.meter;
  }

  get job(): ConvertedJob | undefined {
    return this.#handler.job;
  }

  get pendingBytes(): number {
    return this.#framer.pendingBytes + (this.#large?.bytes.length ?? 0);
  }

  get large(): LargeEvent | undefined {
    return this.#large;
  }

  push(bytes: Uint8Array): Uint8Array {
    if (this.terminal) return EMPTY;
    this.#framer.append(bytes);
    return join(this.#handleEvents([]));
  }

  resume(read: LargeEventRead | undefined): Uint8Array {
    this.#large = undefined;
    const output: Uint8Array[] = [];
    this.#take(() => (read ? this.#handler.handleRead?.(read) : undefined), output);
    if (!read) this.#fault = UNREADABLE;
    return join(this.terminal ? output : this.#handleEvents(output));
  }

  endOfInput(): void {
    if (this.terminal || this.#rest) return;
    this.#rest = this.#framer.end();
    this.#large = this.#rest && this.#handler.large?.(this.#rest);
    if (this.#large) this.#rest = undefined;
  }

  /** Until an event is for another thread. */
  #handleEvents(output: Uint8Array[]): Uint8Array[] {
    for (let event = this.#framer.next(); event; event = this.#framer.next()) {
      this.#large = this.#handler.large?.(event);
      if (this.#large) return output;
      this.#handle(event, output);
      if (this.terminal) break;
    }
    if (this.#framer.overflowed) this.#fault ??= 'The provider sent an event too large to pass on.';
    return output;
  }

  end(): StreamEnd {
    const output: Uint8Array[] = [];
    const rest = this.terminal ? undefined : (this.#rest ?? this.#framer.end());
    if (rest) this.#handle(rest, output);
    if (this.#fault !== undefined && !this.#handler.terminal) return this.#failWith(this.#fault);
    const end = this.#handler.finish();
    if (end.outcome === 'Cut') this.#unsent = output;
    return end.outcome === 'Cut' || output.length === 0 ? end : { ...end, last: join([...output, end.last]) };
  }

  #failWith(message: string): StreamEnd {
    const { client, requestId } = this.#options;
    const end = failStream(client, { message, type: undefined, code: undefined }, requestId);
    return this.fail && end.outcome === 'Failed' ? { ...end, last: this.fail({ code: 'server_error', message }) } : end;
  }

  #handle(event: SseEvent, output: Uint8Array[]): void {
    this.#take(() => this.#handler.handle(event), output);
  }

  #take(handle: () => readonly Uint8Array[] | undefined, output: Uint8Array[]): void {
    try {
      output.push(...(handle() ?? []));
    } catch (error) {
      // JSON that nests too deeply to be written again
      if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
      this.#fault = UNREADABLE;
    }
  }
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const [first = EMPTY] = pieces;
  return pieces.length <= 1 ? first : Buffer.concat(pieces);
}
