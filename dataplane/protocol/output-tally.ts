/**
 * Collects the text that a model generates: its size, and its beginning, from which a tokenizer counts where the
 * provider reports no usage.
 */
import { utf8Bytes } from './fields.ts';

/** In UTF-16 units: about 60,000 tokens of English. What follows counts like it. */
const MAX_KEPT_LENGTH = 256 * 1024;

export class OutputTally {
  /** UTF-8 bytes of all text. */
  bytes = 0;
  /** The text until MAX_KEPT_LENGTH, in pieces as it came. */
  readonly texts: string[] = [];
  #keptLength = 0;

  /** Adds a text; anything else counts as none. */
  add(value: unknown): void {
    if (typeof value !== 'string' || value === '') return;
    this.bytes += utf8Bytes(value);
    if (this.#keptLength >= MAX_KEPT_LENGTH) return;
    this.texts.push(value);
    this.#keptLength += value.length;
  }
}
