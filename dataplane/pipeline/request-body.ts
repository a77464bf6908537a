/**
 * A request's body for as long as it may be needed. A stream lasts for minutes, and its context has megabytes, as text and once
 * more as a value: once a provider has answered, no other channel is asked, and both are let go.
 */
import type { JsonObject } from '../protocol/json-scan.ts';
import { readBody } from '../protocol/parse-body.ts';

const NO_BYTES = Buffer.alloc(0);

export type ParsedBody = Readonly<Record<string, unknown>>;

export class RequestBody {
  #bytes: Buffer;
  #parsed: ParsedBody | undefined;
  #scanned: JsonObject | undefined;
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
  parse(read?: (bytes: Uint8Array) => ParsedBody): ParsedBody {
    return this.#parsed ??= read ? read(this.#bytes) : this.#read();
  }

  /** Where its members are, once it has been read as what nearly every endpoint takes. */
  get scanned(): JsonObject | undefined {
    return this.#scanned;
  }

  #read(): ParsedBody {
    const { parsed, scanned } = readBody(this.#bytes);
    this.#scanned = scanned;
    return parsed;
  }

  drop(): void {
    const onDrop = this.#onDrop;
    this.#onDrop = undefined;
    this.#parsed = undefined;
    this.#scanned = undefined;
    this.#bytes = NO_BYTES;
    onDrop?.();
  }
}
