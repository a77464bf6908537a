/** [P] The gateway's sealing keys. Printed or logged, they show only [redacted]. */
import { Buffer } from 'node:buffer';

const REDACTED = '[redacted]';

export class SealingKeys {
  readonly #keys: readonly Uint8Array[];

  /** Takes Base64 texts of 32 bytes each; the first key seals, and all of them open. */
  constructor(texts: readonly string[]) {
    this.#keys = texts.map((text) => Buffer.from(text, 'base64'));
  }

  /** Returns the keys themselves, for a sealer. */
  reveal(): readonly Uint8Array[] {
    return this.#keys;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }
}
