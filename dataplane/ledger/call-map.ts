/**
 * [P] A map from call id to a call in flight. A Map with many insertions and deletions keeps deleted entries in memory
 * until a full garbage collection; this one frees them at once.
 */

const FIRST_SLOTS = 64;
/** Only the last characters are hashed, because they are where call ids differ. */
const HASHED_CHARACTERS = 8;

/** Open addressing with linear probing; deletion moves later entries up. */
export class CallMap<V> {
  #ids: (string | undefined)[] = emptySlots(FIRST_SLOTS);
  #values: (V | undefined)[] = emptySlots(FIRST_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string): V | undefined {
    return this.#values[this.#indexOf(id)];
  }

  set(id: string, value: V): void {
    let index = this.#indexOf(id);
    if (this.#ids[index] === undefined) {
      if (++this.#size * 2 > this.#ids.length) {
        this.#grow();
        index = this.#indexOf(id);
      }
      this.#ids[index] = id;
    }
    this.#values[index] = value;
  }

  delete(id: string): void {
    const index = this.#indexOf(id);
    if (this.#ids[index] === undefined) return;
    this.#size--;
    this.#free(index);
  }

  *values(): Generator<V, void, undefined> {
    for (const [, value] of this.entries()) yield value;
  }

  /** Iterates in no order. It may miss entries that are added meanwhile. */
  *entries(): Generator<readonly [string, V], void, undefined> {
    const [ids, values] = [this.#ids.slice(), this.#values.slice()];
    for (const [index, id] of ids.entries()) {
      const value = values[index];
      if (id !== undefined && value !== undefined) yield [id, value];
    }
  }

  /** The id's index, or the free index at which to insert it. */
  #indexOf(id: string): number {
    const ids = this.#ids;
    const last = ids.length - 1;
    let index = hashOf(id) & last;
    for (let there = ids[index]; there !== undefined && there !== id; there = ids[index]) index = (index + 1) & last;
    return index;
  }

  /** Fills the freed index with later entries that a search would no longer reach. */
  #free(from: number): void {
    const ids = this.#ids;
    const last = ids.length - 1;
    let free = from;
    let index = (free + 1) & last;
    for (let id = ids[index]; id !== undefined; id = ids[index]) {
      const home = hashOf(id) & last;
      if (((index - home) & last) >= ((index - free) & last)) {
        ids[free] = id;
        this.#values[free] = this.#values[index];
        free = index;
      }
      index = (index + 1) & last;
    }
    ids[free] = undefined;
    this.#values[free] = undefined;
  }

  #grow(): void {
    const [ids, values] = [this.#ids, this.#values];
    this.#ids = emptySlots(ids.length * 2);
    this.#values = emptySlots(ids.length * 2);
    for (const [at, id] of ids.entries()) {
      if (id === undefined) continue;
      const index = this.#indexOf(id);
      this.#ids[index] = id;
      this.#values[index] = values[at];
    }
  }
}

function emptySlots<T>(count: number): (T | undefined)[] {
  return Array.from<undefined>({ length: count }).fill(undefined);
}

/** Computes FNV-1a over the last characters. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  const from = Math.max(0, id.length - HASHED_CHARACTERS);
  for (let index = from; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  // the high bits depend mostly on the first characters: mix them into the low ones
  return (hash ^ (hash >>> 15)) >>> 0;
}
