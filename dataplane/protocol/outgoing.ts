/**
 * What one push of a stream gives its client: stretches of the provider's bytes, and what was written in place of others. As many
 * events as there are leave as one piece, and uncopied where they lie side by side.
 */

const NOTHING = Buffer.alloc(0);

export class Outgoing {
  readonly #pieces: Uint8Array[] = [];
  /** Stretches of it that are not among the pieces yet: from, to, from, to, … */
  #store: Buffer = NOTHING;
  readonly #edges: number[] = [];

  /** Bytes from `from` to `to` as they are. */
  pass(store: Buffer, from: number, to: number): void {
    if (store !== this.#store) this.#cutOut();
    this.#store = store;
    const edges = this.#edges;
    if (edges.length > 0 && edges[edges.length - 1] === from) edges[edges.length - 1] = to;
    else edges.push(from, to);
  }

  write(piece: Uint8Array): void {
    this.#cutOut();
    this.#pieces.push(piece);
  }

  /** Everything since the last time. */
  take(): Uint8Array {
    if (this.#pieces.length === 0 && this.#edges.length === 0) return NOTHING;
    this.#cutOut();
    this.#store = NOTHING;
    const [only = NOTHING] = this.#pieces;
    const all = this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
    this.#pieces.length = 0;
    return all;
  }

  #cutOut(): void {
    const [from, to, next] = this.#edges;
    if (to === undefined) return;
    this.#pieces.push(next === undefined ? this.#store.subarray(from, to) : this.#copyStretches());
    this.#edges.length = 0;
  }

  #copyStretches(): Buffer {
    const edges = this.#edges;
    let size = 0;
    for (let index = 0; index < edges.length; index += 2) size += (edges[index + 1] ?? 0) - (edges[index] ?? 0);
    const copy = Buffer.allocUnsafe(size);
    let at = 0;
    for (let index = 0; index < edges.length; index += 2) at += this.#store.copy(copy, at, edges[index], edges[index + 1]);
    return copy;
  }
}
