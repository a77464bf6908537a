/**
 * Counts the images of a response that is too large to parse, by the names of the members that hold them. A name within
 * a string has a backslash before its closing quote, so it does not count.
 */
const NAMES = ['"b64_json"', '"url"', '"bytesBase64Encoded"'].map((name) => Buffer.from(name));
/** The end of a piece that may be the start of a name. */
const OVERLAP_BYTES = Math.max(...NAMES.map(({ length }) => length)) - 1;

export class ImageCounter {
  readonly #counts = NAMES.map(() => 0);
  #tail: Uint8Array = new Uint8Array();

  /** Of the names that an image may have, the one that occurs most often: some providers write two. */
  get images(): number {
    return Math.max(...this.#counts);
  }

  add(piece: Uint8Array): void {
    const bytes = Buffer.concat([this.#tail, piece]);
    for (const [index, name] of NAMES.entries()) {
      // a name that ends within the tail was counted with the piece before
      const start = Math.max(0, this.#tail.length - name.length + 1);
      this.#counts[index] = (this.#counts[index] ?? 0) + countOf(bytes, name, start);
    }
    this.#tail = bytes.subarray(Math.max(0, bytes.length - OVERLAP_BYTES));
  }
}

function countOf(bytes: Buffer, name: Buffer, start: number): number {
  let count = 0;
  for (let at = bytes.indexOf(name, start); at >= 0; at = bytes.indexOf(name, at + name.length)) count++;
  return count;
}
