/**
 * Collects the text that a model generates: its size, and its beginning, from which a tokenizer counts where the
 * provider reports no usage.
 */
import { utf8Bytes } from './fields.ts';

/** In UTF-16 units: about 60,000 tokens of English. What follows counts like it. */
const MAX_KEPT_LENGTH = 256 * 1024;

/** A picture of usual size is about 1,290 tokens of the output, which so many bytes of text are. */
export const IMAGE_BYTES = 1290 * 4;

/** The characters of base64, in both alphabets. */
const IS_BASE64 = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[\w+/=-]/.test(String.fromCharCode(byte)) && byte < 128 ? 1 : 0,
);

/**
 * The size of a response that has come in part, or is too large to hold: a run of base64 counts as one picture at most,
 * which no text is.
 */
export class OutputSize {
  #bytes = 0;
  /** Of the run that the response has come to. */
  #run = 0;

  get bytes(): number {
    return this.#bytes + Math.min(this.#run, IMAGE_BYTES);
  }

  add(piece: Uint8Array): void {
    for (const byte of piece) {
      if (IS_BASE64[byte] === 1) {
        this.#run++;
        continue;
      }
      this.#bytes += Math.min(this.#run, IMAGE_BYTES) + 1;
      this.#run = 0;
    }
  }
}

export class OutputTally {
  /** UTF-8 bytes of all text, and of what stands for pictures. */
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

  addImage(): void {
    this.bytes += IMAGE_BYTES;
  }
}
