/** The bytes of a body that is still arriving or being decoded, in one growing buffer that counts against the budget. */
import type { BodyWorker } from '../body-worker/body-worker.ts';
import { GatewayError } from '../errors.ts';
import type { MemoryBudget, MemoryOwner } from '../memory-budget.ts';
import { RequestBody } from '../pipeline/request-body.ts';

const INITIAL_CAPACITY = 4096;
const NO_BYTES = Buffer.alloc(0);

/** The thread that reads expensive bodies. Absent: every body is read on this thread. */
export type BodyThreads = Pick<BodyWorker, 'run'>;

export interface BodyBufferOptions {
  readonly maxBytes: number;
  readonly budget: MemoryBudget;
  readonly owner: MemoryOwner | undefined;
  readonly worker: BodyThreads | undefined;
  /** The number of bytes to come; undefined if it is unknown. */
  readonly declared: number | undefined;
}

export class BodyBuffer {
  readonly maxBytes: number;
  /** The number of bytes so far. */
  length = 0;
  readonly #budget: MemoryBudget;
  readonly #worker: BodyThreads | undefined;
  /** An upper bound of the bytes that will come. */
  readonly #declared: number;
  #owner: MemoryOwner | undefined;
  #buffer: Buffer = NO_BYTES;

  constructor({ maxBytes, budget, owner, worker, declared = Infinity }: BodyBufferOptions) {
    this.maxBytes = maxBytes;
    this.#budget = budget;
    this.#owner = owner;
    this.#worker = worker;
    this.#declared = declared;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
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

  /** Counts the bytes for the process only, no longer for their owner. */
  disown(): void {
    this.#budget.disown(this.#buffer.length, this.#owner);
    this.#owner = undefined;
  }

  /** Moves the buffer into a body, because the message's listeners keep this object until the response is sent. */
  toBody(): RequestBody {
    const [bytes, capacity, budget, owner] = [this.bytes, this.#buffer.length, this.#budget, this.#owner];
    this.#buffer = NO_BYTES;
    this.length = 0;
    const thread = this.#worker && { worker: this.#worker, key: owner?.uid ?? '' };
    return new RequestBody(bytes, { onDrop: () => budget.giveBack(capacity, owner), thread });
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

export function tooLarge(maxBodyBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The request body is larger than ${maxBodyBytes} bytes.`);
}
