/**
 * A request's body, as bytes and parsed. Both are dropped once a provider has answered, because no other channel is
 * tried then and the response may stream for minutes.
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

  /** `onDrop` is called once, when the body is dropped. */
  constructor(bytes: Buffer, onDrop?: () => void) {
    this.#bytes = bytes;
    this.#onDrop = onDrop;
  }

  /** As it was sent; empty once dropped. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /**
   * The parsed body. Throws RequestFault where it is not a JSON object. The first reader may pass another parser, whose
   * result later readers get too.
   */
  parse(read?: (bytes: Uint8Array) => ParsedBody): ParsedBody {
    return this.#parsed ??= read ? read(this.#bytes) : this.#read();
  }

  /** Where the members of the JSON object are; undefined before it is parsed. */
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
