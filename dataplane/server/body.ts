/**
 * Request bodies, read whole and within limits: of one body, and of all that this process holds at a time. Bytes go into one
 * growing store, because a body may come in pieces of a single byte, each of which would cost a hundred.
 */
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';
import { RequestBody } from '../pipeline/request-body.ts';
import { RequestMessage } from './request-message.ts';
import type { BodySink } from './request-message.ts';

/** A body of this size or more is large: not read before its sender's key is known, and the first to be refused when memory is short. */
export const LARGE_BODY_BYTES = 64 * 1024;
/** Of the budget, what only small bodies may take: large ones do not shut them out. */
const SMALL_SHARE = 1 / 8;
const FIRST_STORE_BYTES = 4096;
const RETRY_SECONDS = 1;
const NO_BYTES = Buffer.alloc(0);

export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** Of all bodies together; at least maxBodyBytes. */
  readonly maxBufferedBytes: number;
}

export interface BodyReader {
  /** Calls `done` once: with the body, or with a GatewayError. The bytes count until the body is dropped. */
  read(message: IncomingMessage, done: (error: Error | null, body?: RequestBody) => void): void;
  /** Half of the budget is held: from now on nobody unknown gets into it. */
  readonly crowded: boolean;
}

export function createBodyReader(limits: BodyLimits): BodyReader {
  const budget = new Budget(limits);
  return {
    read(message, done) {
      const reading = new Reading(message, { limits, budget, done });
      reading.begin();
    },
    get crowded() { return budget.crowded; },
  };
}

/** What was read of a request; an empty body where it has none. */
export function bodyOf({ body }: { readonly body?: unknown }): RequestBody {
  return body instanceof RequestBody ? body : new RequestBody(NO_BYTES);
}

class Budget {
  #held = 0;
  readonly #all: number;
  readonly #large: number;

  constructor({ maxBodyBytes, maxBufferedBytes }: BodyLimits) {
    this.#all = Math.max(maxBodyBytes, maxBufferedBytes);
    this.#large = Math.max(maxBodyBytes, this.#all * (1 - SMALL_SHARE));
  }

  get crowded(): boolean {
    return this.#held > this.#all / 2;
  }

  /** False: there is no room for so many more, for a store that will then have `size`. */
  take(bytes: number, size: number): boolean {
    if (this.#held + bytes > (size >= LARGE_BODY_BYTES ? this.#large : this.#all)) return false;
    this.#held += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#held -= bytes;
  }
}

interface Whereto {
  readonly limits: BodyLimits;
  readonly budget: Budget;
  readonly done: (error: Error | null, body?: RequestBody) => void;
}

/** One body on its way in. */
class Reading implements BodySink {
  readonly #message: IncomingMessage;
  readonly #to: Whereto;
  /** As the client declares it; undefined: in chunks. */
  readonly #length: number | undefined;
  #store: Buffer = NO_BYTES;
  #filled = 0;
  #isOver = false;

  constructor(message: IncomingMessage, to: Whereto) {
    this.#message = message;
    this.#to = to;
    const declared = message.headers['content-length'];
    this.#length = declared === undefined ? undefined : Number(declared);
  }

  begin(): void {
    if ((this.#length ?? 0) > this.#to.limits.maxBodyBytes) return this.#fail(tooLarge(this.#to.limits));
    const message = this.#message;
    if (message instanceof RequestMessage && message.deliver(this)) return;
    message.on('data', (chunk: Buffer) => this.take(chunk)).on('end', () => this.end()).on('error', (error) => this.broken(error));
  }

  take(chunk: Buffer): void {
    // what is refused is not kept
    if (this.#isOver) return;
    const size = this.#filled + chunk.length;
    // most bodies come in one piece, which then is the store
    if (size === this.#length && this.#filled === 0 && chunk.length === chunk.buffer.byteLength) return this.#keep(chunk);
    if (size > this.#to.limits.maxBodyBytes) return this.#fail(tooLarge(this.#to.limits));
    if (size > this.#store.length && !this.#grow(size)) return this.#fail(tooBusy());
    chunk.copy(this.#store, this.#filled);
    this.#filled = size;
  }

  #keep(chunk: Buffer): void {
    if (!this.#to.budget.take(chunk.length, chunk.length)) return this.#fail(tooBusy());
    this.#store = chunk;
    this.#filled = chunk.length;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { budget, done } = this.#to;
    const store = this.#store;
    // the message lives as long as its answer, and its listeners with it
    this.#store = NO_BYTES;
    const taken = store.length;
    done(null, new RequestBody(store.subarray(0, this.#filled), () => budget.give(taken)));
  }

  /** The client has gone, or its framing is broken: nobody reads the answer. */
  broken(error: Error): void {
    this.#fail(new GatewayError('invalid_request', 'The request body did not arrive whole.', { cause: error }));
  }

  /** Twofold, but not beyond what is to come. */
  #grow(size: number): boolean {
    const most = Math.min(this.#length ?? Infinity, this.#to.limits.maxBodyBytes);
    const capacity = Math.max(size, Math.min(most, Math.max(FIRST_STORE_BYTES, this.#store.length * 2)));
    if (!this.#to.budget.take(capacity - this.#store.length, capacity)) return false;
    const store = Buffer.allocUnsafe(capacity);
    this.#store.copy(store, 0, 0, this.#filled);
    this.#store = store;
    return true;
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#to.budget.give(this.#store.length);
    this.#store = NO_BYTES;
    this.#message.resume();
    this.#to.done(error);
  }
}

function tooLarge({ maxBodyBytes }: BodyLimits): GatewayError {
  return new GatewayError('request_too_large', `The request body is larger than ${maxBodyBytes} bytes.`);
}

function tooBusy(): GatewayError {
  return new GatewayError('too_busy', 'This process holds as many request bodies as it has memory for. Try again shortly.', { retryAfterSeconds: RETRY_SECONDS });
}
