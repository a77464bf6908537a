/**
 * Reads request bodies completely, decodes them, and enforces the limits of one body and of all bodies in this process.
 * The bytes go into one growing buffer, because a body may come in chunks of one byte, each of which would take a
 * hundred bytes as a Buffer.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyWorker } from '../body-worker/body-worker.ts';
import { every } from '../clock.ts';
import type { Every } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import { RequestBody } from '../pipeline/request-body.ts';
import { addTo, BodyBudget } from './body-budget.ts';
import type { BodyLimits, BodyOwner } from './body-budget.ts';
import { decodeBody, isEncoded } from './decode-body.ts';

const INITIAL_CAPACITY = 4096;
const NO_BYTES = Buffer.alloc(0);
/** The least average rate of an upload after its grace period, because a stalled upload holds memory. */
const MIN_BYTES_PER_SECOND = 1024;
const GRACE_MS = 15_000;
const RATE_CHECK_MS = 1_000;

/** The thread that reads expensive bodies. Absent: every body is read on this thread. */
export type BodyThreads = Pick<BodyWorker, 'run'>;

export interface BodyReaderOptions {
  /** The timer that measures uploads. */
  readonly every?: Every;
  readonly worker?: BodyThreads | undefined;
}

export interface BodyReader {
  /**
   * Resolves with the body, which counts against the budget until it is dropped. Rejects with a GatewayError, and then
   * discards the rest, so that the client can read its response.
   */
  read(message: IncomingMessage, owner?: BodyOwner): Promise<RequestBody>;
  /** The number of bodies of this key that are still arriving. */
  uploads(keyUid: string): number;
  /** True if more than half of the budget is in use; even small bodies then need a known key. */
  readonly crowded: boolean;
  stop(): void;
}

/**
 * Creates the process's body reader, which tracks the budget of all bodies. Its timer does not keep the process alive.
 */
export function createBodyReader(
  limits: BodyLimits,
  { every: repeat = every, worker }: BodyReaderOptions = {},
): BodyReader {
  const budget = new BodyBudget(limits);
  const uploads = new Map<string, number>();
  const open = new Set<Upload>();
  const stop = repeat(RATE_CHECK_MS, () => {
    for (const upload of open) {
      upload.elapsedMs += RATE_CHECK_MS;
      if (isTooSlow(upload)) upload.refuse(tooSlow());
    }
  });
  return {
    get crowded() {
      return budget.crowded;
    },
    uploads: (keyUid) => uploads.get(keyUid) ?? 0,
    stop,
    async read(message, owner) {
      const declared = isEncoded(message) ? undefined : lengthOf(message);
      const buffer = new BodyBuffer({ maxBytes: limits.maxBodyBytes, budget, owner, worker, declared });
      if (owner) addTo(uploads, owner.uid, 1);
      try {
        return await receiveBody(message, buffer, open);
      } finally {
        if (owner) addTo(uploads, owner.uid, -1);
      }
    },
  };
}

interface Upload {
  readonly buffer: BodyBuffer;
  /** Counted by the timer, so that the client is not blamed for the time in which this process stood still. */
  elapsedMs: number;
  /** The number of bytes received so far, before decoding. */
  received: number;
  readonly refuse: (error: GatewayError) => void;
}

/** The declared length; undefined for a chunked body. */
function lengthOf({ headers: { 'content-length': length } }: IncomingMessage): number | undefined {
  return length === undefined ? undefined : Number(length);
}

function receiveBody(message: IncomingMessage, buffer: BodyBuffer, open: Set<Upload>): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    const refuse = (error: GatewayError): void => {
      open.delete(upload);
      buffer.release();
      message.off('data', count);
      decoded.bytes.off('data', take).off('end', finish);
      decoded.stop();
      reject(error);
    };
    const decoded = decodeBody(message, refuse);
    const upload: Upload = { buffer, elapsedMs: 0, received: 0, refuse };
    const count = ({ length }: Buffer): void => {
      upload.received += length;
      if (upload.received > buffer.maxBytes) refuse(tooLarge(buffer.maxBytes));
    };
    const take = (chunk: Buffer): void => {
      const refusal = buffer.append(chunk);
      if (refusal) refuse(refusal);
    };
    const finish = (): void => {
      open.delete(upload);
      resolve(buffer.toBody());
    };
    open.add(upload);
    if (isTooLarge(message, buffer.maxBytes)) return refuse(tooLarge(buffer.maxBytes));
    decoded.bytes.on('data', take).on('end', finish);
    message.on('data', count);
  });
}

/** Whether content-length exceeds the limit; decoded bytes are counted as they arrive. */
function isTooLarge(message: IncomingMessage, maxBytes: number): boolean {
  return (lengthOf(message) ?? 0) > maxBytes;
}

function isTooSlow({ received, elapsedMs }: Upload): boolean {
  return elapsedMs > GRACE_MS && received < (elapsedMs / 1000) * MIN_BYTES_PER_SECOND;
}

/** The body that was read of a request; an empty one if it has none. */
export function bodyOf({ body }: { readonly body?: unknown }): RequestBody {
  return body instanceof RequestBody ? body : new RequestBody(NO_BYTES);
}

interface BodyBufferOptions {
  readonly maxBytes: number;
  readonly budget: BodyBudget;
  readonly owner: BodyOwner | undefined;
  readonly worker: BodyThreads | undefined;
  /** The number of bytes to come; undefined if it is unknown. */
  readonly declared: number | undefined;
}

/** A body that is still arriving. */
class BodyBuffer {
  readonly maxBytes: number;
  /** The number of decoded bytes so far. */
  length = 0;
  readonly #budget: BodyBudget;
  readonly #owner: BodyOwner | undefined;
  readonly #worker: BodyThreads | undefined;
  /** An upper bound of the bytes that will come. */
  readonly #declared: number;
  #buffer: Buffer = NO_BYTES;

  constructor({ maxBytes, budget, owner, worker, declared = Infinity }: BodyBufferOptions) {
    this.maxBytes = maxBytes;
    this.#budget = budget;
    this.#owner = owner;
    this.#worker = worker;
    this.#declared = declared;
  }

  /** Returns the refusal if the budget or a limit is exceeded. */
  append(chunk: Buffer): GatewayError | undefined {
    const length = this.length + chunk.length;
    if (length > this.maxBytes) return tooLarge(this.maxBytes);
    const refusal = length > this.#buffer.length ? this.#grow(length) : undefined;
    if (refusal) return refusal;
    chunk.copy(this.#buffer, this.length);
    this.length = length;
    return undefined;
  }

  /** Moves the buffer into a body, because the message's listeners keep this object until the response is sent. */
  toBody(): RequestBody {
    const [buffer, budget, owner] = [this.#buffer, this.#budget, this.#owner];
    this.#buffer = NO_BYTES;
    const thread = this.#worker && { worker: this.#worker, key: owner?.uid ?? '' };
    const onDrop = (): void => budget.giveBack(buffer.length, owner);
    return new RequestBody(buffer.subarray(0, this.length), { onDrop, thread });
  }

  release(): void {
    this.#budget.giveBack(this.#buffer.length, this.#owner);
    this.#buffer = NO_BYTES;
    this.length = 0;
  }

  /** Doubles the buffer, but at most to the expected length. Returns the refusal if the budget has no room. */
  #grow(length: number): GatewayError | undefined {
    const expected = Math.min(this.#declared, this.maxBytes);
    const capacity = Math.max(length, Math.min(expected, Math.max(INITIAL_CAPACITY, this.#buffer.length * 2)));
    const refusal = this.#budget.take(capacity - this.#buffer.length, capacity, this.#owner);
    if (refusal) return refusal;
    const larger = Buffer.allocUnsafe(capacity);
    this.#buffer.copy(larger, 0, 0, this.length);
    this.#buffer = larger;
    return undefined;
  }
}

function tooLarge(maxBodyBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The request body is larger than ${maxBodyBytes} bytes.`);
}

function tooSlow(): GatewayError {
  return new GatewayError('request_timeout', 'The request body arrives too slowly. Send it again.', {
    headers: { connection: 'close' },
  });
}
