/** [P] The gateway's sealing keys, which print as [redacted] wherever they might be printed. */
import { Buffer } from 'node:buffer';

const REDACTED = '[redacted]';

export class SealingKeys {
  readonly #keys: readonly Uint8Array[];

  /** Base64 texts of 32 bytes each, the one that seals first. */
  constructor(texts: readonly string[]) {
    this.#keys = texts.map((text) => Buffer.from(text, 'base64'));
  }

  /** The keys themselves, for a sealer. */
  reveal(): readonly Uint8Array[] { return this.#keys; }

  toString(): string { return REDACTED; }

  toJSON(): string { return REDACTED; }
}
