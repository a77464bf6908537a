/**
 * What one push of a stream gives its client: stretches of the provider's bytes, as they are or each within words of another
 * protocol, and what was written in place of others. As many events as there are leave as one piece, and uncopied where they lie
 * side by side.
 */
import type { Rewrite } from './event-rewrite.ts';

/** Up to this length bytes are copied quicker here than natively. */
const SHORT_TEXT = 48;

const NOTHING = Buffer.alloc(0);

export class Outgoing {
  readonly #pieces: Uint8Array[] = [];
  /** Stretches of it that are not among the pieces yet: from, to, from, to, … */
  #store: Buffer = NOTHING;
  readonly #edges: number[] = [];
  /** What goes around each of these stretches. */
  #rewrite: Rewrite | undefined;

  /** Bytes from `from` to `to` as they are. */
  pass(store: Buffer, from: number, to: number): void {
    if (store !== this.#store || this.#rewrite) this.#turnTo(store, undefined);
    const edges = this.#edges;
    if (edges.length > 0 && edges[edges.length - 1] === from) edges[edges.length - 1] = to;
    else edges.push(from, to);
  }

  /** Bytes from `from` to `to`, around them what the rewrite has. */
  wrap(rewrite: Rewrite, store: Buffer, from: number, to: number): void {
    if (store !== this.#store || this.#rewrite !== rewrite) this.#turnTo(store, rewrite);
    this.#edges.push(from, to);
  }

  write(piece: Uint8Array): void {
    this.#cutOut();
    this.#pieces.push(piece);
  }

  /** Everything since the last time. */
  take(): Uint8Array {
    if (this.#pieces.length === 0 && this.#edges.length === 0) return NOTHING;
    this.#turnTo(NOTHING, undefined);
    const [only = NOTHING] = this.#pieces;
    const all = this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
    this.#pieces.length = 0;
    return all;
  }

  /** Other stretches follow. */
  #turnTo(store: Buffer, rewrite: Rewrite | undefined): void {
    this.#cutOut();
    this.#store = store;
    this.#rewrite = rewrite;
  }

  #cutOut(): void {
    const [from, to, next] = this.#edges;
    if (to === undefined) return;
    this.#pieces.push(this.#rewrite ? this.#copyWrapped(this.#rewrite) : next === undefined ? this.#store.subarray(from, to) : this.#copyStretches());
    this.#edges.length = 0;
  }

  #copyStretches(): Buffer {
    const edges = this.#edges;
    const copy = Buffer.allocUnsafe(this.#sizeOfStretches());
    let at = 0;
    for (let index = 0; index < edges.length; index += 2) at += this.#store.copy(copy, at, edges[index], edges[index + 1]);
    return copy;
  }

  #copyWrapped({ before, after, between }: Rewrite): Buffer {
    const edges = this.#edges;
    const count = edges.length / 2;
    const copy = Buffer.allocUnsafe(this.#sizeOfStretches() + before.length + (count - 1) * between.length + after.length);
    copy.set(before, 0);
    let at = before.length;
    for (let index = 0; index < edges.length; index += 2) {
      at = copyText(this.#store, [edges[index] ?? 0, edges[index + 1] ?? 0], copy, at);
      const words = index + 2 < edges.length ? between : after;
      copy.set(words, at);
      at += words.length;
    }
    return copy;
  }

  #sizeOfStretches(): number {
    const edges = this.#edges;
    let size = 0;
    for (let index = 0; index < edges.length; index += 2) size += (edges[index + 1] ?? 0) - (edges[index] ?? 0);
    return size;
  }
}

/** Returns where the copy ends. */
function copyText(store: Buffer, [from, to]: readonly [number, number], copy: Buffer, start: number): number {
  if (to - from > SHORT_TEXT) return start + store.copy(copy, start, from, to);
  let at = start;
  for (let index = from; index < to; index++) copy[at++] = store[index] ?? 0;
  return at;
}
