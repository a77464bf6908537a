/**
 * Lines that wait to be written together, as bytes: a line is put together from many pieces, which are copied once, while they are
 * at hand, and then forgotten. As text they would outlive a collection or two. Two buffers take turns: one is filled while the
 * other one is written. They grow as they have to; one that became unusually large is given up once it was written.
 */
const FIRST_BYTES = 1 << 16;
/** As much as a busy process gathers between two writes. */
const KEPT_BYTES = 1 << 20;
/** A character takes at most three bytes. */
const MOST_BYTES = 3;

export class Lines {
  #filling = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #writing = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #filled = 0;

  add(line: string): void {
    const most = this.#filled + line.length * MOST_BYTES;
    if (most > this.#filling.length) this.#grow(most);
    this.#filled += this.#filling.write(line, this.#filled);
  }

  /** What was added since the last time, perhaps nothing; untouched until the next time. */
  take(): Uint8Array {
    const taken = this.#filling.subarray(0, this.#filled);
    const written = this.#writing.length > KEPT_BYTES ? Buffer.allocUnsafeSlow(FIRST_BYTES) : this.#writing;
    [this.#filling, this.#writing] = [written, this.#filling];
    this.#filled = 0;
    return taken;
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, this.#filling.length * 2));
    larger.set(this.#filling.subarray(0, this.#filled));
    this.#filling = larger;
  }
}
