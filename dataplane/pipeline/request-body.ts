/**
 * A request's body for as long as it may be needed. A stream lasts for minutes, and its context has megabytes, as text and once
 * more as a value: once a provider has answered, no other channel is asked, and both are let go.
 */
import { parseBody } from '../protocol/parse-body.ts';

const NO_BYTES = Buffer.alloc(0);

export type ParsedBody = Readonly<Record<string, unknown>>;

export class RequestBody {
  #bytes: Buffer;
  #parsed: ParsedBody | undefined;
  #onDrop: (() => void) | undefined;

  /** `onDrop` is called once, with the bytes' last use. */
  constructor(bytes: Buffer, onDrop?: () => void) {
    this.#bytes = bytes;
    this.#onDrop = onDrop;
  }

  /** As it came; empty once dropped. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /**
   * The same as a value. Throws RequestFault where it is not what nearly every endpoint takes: a JSON object. Who reads it first
   * may read it otherwise.
   */
  parse(read: (bytes: Uint8Array) => ParsedBody = parseBody): ParsedBody {
    this.#parsed ??= read(this.#bytes);
    return this.#parsed;
  }

  drop(): void {
    const onDrop = this.#onDrop;
    this.#onDrop = undefined;
    this.#parsed = undefined;
    this.#bytes = NO_BYTES;
    onDrop?.();
  }
}
