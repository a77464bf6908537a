/**
 * Without `alt=sse`, a stream is one JSON array whose elements are sent as they are made. The converters write
 * server-sent events; this wrapper moves their data into the array.
 */
import type { Converter, Meter, StreamConverter, StreamEnd, StreamFailure, StreamRequest } from '../converter.ts';
import { MAX_PICTURE_EVENT_BYTES } from '../event-stream.ts';
import { SseFramer } from '../sse.ts';
import { writeGoogleBody } from './write-errors.ts';

export const JSON_ARRAY_TYPE = 'application/json; charset=UTF-8';

/** Wraps a conversion so that its streams are arrays. */
export function asJsonArray(converter: Converter): Converter {
  return { ...converter, stream: (request) => new ArrayStream(converter.stream(request), request) };
}

class ArrayStream implements StreamConverter {
  readonly #inner: StreamConverter;
  readonly #requestId: string;
  readonly #framer = new SseFramer(MAX_PICTURE_EVENT_BYTES);
  #isOpen = false;

  constructor(inner: StreamConverter, { id }: Pick<StreamRequest, 'id'>) {
    this.#inner = inner;
    this.#requestId = id;
  }

  get terminal(): boolean {
    return this.#inner.terminal;
  }

  get meter(): Meter {
    return this.#inner.meter;
  }

  get pendingBytes(): number {
    return this.#inner.pendingBytes ?? 0;
  }

  push(chunk: Uint8Array): Uint8Array {
    return Buffer.from(this.#write(this.#inner.push(chunk)));
  }

  end(): StreamEnd {
    const end = this.#inner.end();
    return end.outcome === 'Cut' ? end : { ...end, last: Buffer.from(`${this.#write(end.last)}${this.#close()}`) };
  }

  /** A property, because callers take it out of the object. */
  readonly fail = ({ message, code }: StreamFailure): Uint8Array => {
    const httpStatus = code === 'rate_limit_exceeded' ? 429 : 500;
    const error = writeGoogleBody({ message, httpStatus, requestId: this.#requestId });
    return Buffer.from(this.#element(Buffer.from(error).toString('utf8')) + this.#close());
  };

  /** Blank lines, which keep a connection alive, stay blank lines. */
  #write(events: Uint8Array): string {
    this.#framer.append(events);
    let text = '';
    for (let event = this.#framer.next(); event; event = this.#framer.next())
      text += event.data === undefined ? '\n' : this.#element(event.data);
    return text;
  }

  #element(json: string): string {
    const before = this.#isOpen ? ',\r\n' : '[';
    this.#isOpen = true;
    return before + json;
  }

  #close(): string {
    return this.#isOpen ? ']' : '[]';
  }
}
