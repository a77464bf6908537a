/**
 * Request bodies, read whole and within limits: of one body, and of all bodies that this process holds at a time. The
 * bytes go into one growing buffer: a body may come in pieces of one byte, each of which costs a hundred as a Buffer.
 */
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';
import { RequestBody } from '../pipeline/request-body.ts';

/** From this size on, a body is read only once its sender's key is known, and refused first when memory is short. */
export const LARGE_BODY_BYTES = 64 * 1024;
/** The share of the budget that is kept for small bodies: large ones do not shut them out. */
const SMALL_SHARE = 1 / 8;
const INITIAL_CAPACITY = 4096;
const RETRY_SECONDS = 1;
const NO_BYTES = Buffer.alloc(0);

export interface BodyLimits {
  readonly maxBodyBytes: number;
  /** Of all bodies together; at least maxBodyBytes. */
  readonly maxBufferedBytes: number;
}

export interface BodyReader {
  /**
   * Resolves with the body, which counts against the budget until it is dropped. Rejects with a GatewayError, and then
   * reads and forgets the rest, so that the client can read its answer.
   */
  read(message: IncomingMessage): Promise<RequestBody>;
  /** More than half of the budget is in use: from now on, even small bodies need a known key. */
  readonly crowded: boolean;
}

/** One reader for the process: it holds the budget of all bodies. */
export function createBodyReader(limits: BodyLimits): BodyReader {
  const budget = new Budget(limits);
  return {
    get crowded() { return budget.crowded; },
    read: (message) => new Promise((resolve, reject) => {
      const { 'content-length': length } = message.headers;
      const buffer = new BodyBuffer(limits.maxBodyBytes, budget, length === undefined ? undefined : Number(length));
      const refuse = (error: GatewayError): void => {
        buffer.release();
        message.off('data', take).resume();
        reject(error);
      };
      const take = (chunk: Buffer): void => {
        const refusal = buffer.append(chunk);
        if (refusal) refuse(refusal);
      };
      if (Number(length ?? 0) > limits.maxBodyBytes) refuse(tooLarge(limits.maxBodyBytes));
      else message.on('data', take);
      // each comes once
      message.on('end', () => resolve(buffer.toBody()));
      message.on('error', (cause) => refuse(incomplete(cause)));
    }),
  };
}

/** The body that was read of a request; an empty one where it has none. */
export function bodyOf({ body }: { readonly body?: unknown }): RequestBody {
  return body instanceof RequestBody ? body : new RequestBody(NO_BYTES);
}

class Budget {
  #used = 0;
  readonly #all: number;
  readonly #large: number;

  constructor({ maxBodyBytes, maxBufferedBytes }: BodyLimits) {
    this.#all = Math.max(maxBodyBytes, maxBufferedBytes);
    this.#large = Math.max(maxBodyBytes, this.#all * (1 - SMALL_SHARE));
  }

  get crowded(): boolean {
    return this.#used > this.#all / 2;
  }

  /** False: there is no room for so many more bytes, in a buffer that then has this capacity. */
  take(bytes: number, capacity: number): boolean {
    if (this.#used + bytes > (capacity >= LARGE_BODY_BYTES ? this.#large : this.#all)) return false;
    this.#used += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#used -= bytes;
  }
}

/** One body while it arrives. */
class BodyBuffer {
  readonly #maxBytes: number;
  readonly #budget: Budget;
  /** No more bytes than this will come. */
  readonly #expected: number;
  #buffer: Buffer = NO_BYTES;
  #length = 0;

  /** `declared` is the content-length; undefined: chunked. */
  constructor(maxBytes: number, budget: Budget, declared = Infinity) {
    this.#maxBytes = maxBytes;
    this.#budget = budget;
    this.#expected = Math.min(declared, maxBytes);
  }

  /** Returns why the body is refused, if it is. */
  append(chunk: Buffer): GatewayError | undefined {
    const length = this.#length + chunk.length;
    if (length > this.#maxBytes) return tooLarge(this.#maxBytes);
    if (length > this.#buffer.length && !this.#grow(length)) return tooBusy();
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
    return undefined;
  }

  /** Gives up the buffer, because the message's listeners keep this object until the response is sent. */
  toBody(): RequestBody {
    const [buffer, budget] = [this.#buffer, this.#budget];
    this.#buffer = NO_BYTES;
    return new RequestBody(buffer.subarray(0, this.#length), () => budget.giveBack(buffer.length));
  }

  release(): void {
    this.#budget.giveBack(this.#buffer.length);
    this.#buffer = NO_BYTES;
    this.#length = 0;
  }

  /** Twofold, but not beyond what is still to come. False: the budget has no room. */
  #grow(length: number): boolean {
    const capacity = Math.max(length, Math.min(this.#expected, Math.max(INITIAL_CAPACITY, this.#buffer.length * 2)));
    if (!this.#budget.take(capacity - this.#buffer.length, capacity)) return false;
    const larger = Buffer.allocUnsafe(capacity);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
    return true;
  }
}

/** The client has left, or its framing is broken. */
function incomplete(cause: Error): GatewayError {
  return new GatewayError('invalid_request', 'The request body did not arrive whole.', { cause });
}

function tooLarge(maxBodyBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The request body is larger than ${maxBodyBytes} bytes.`);
}

function tooBusy(): GatewayError {
  const message = 'This process holds as many request bodies as it has memory for. Try again shortly.';
  return new GatewayError('too_busy', message, { retryAfterSeconds: RETRY_SECONDS });
}
