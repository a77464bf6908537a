/**
 * [P] A map by call id for calls in flight. A Map with many insertions and deletions keeps deleted entries alive until
 * a full garbage collection; this one drops them at once.
 */

const FIRST_SLOTS = 64;
/** Call ids differ in their last characters. */
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

  * values(): Generator<V, void, undefined> {
    for (const [, value] of this.entries()) yield value;
  }

  /** In no order. Entries added during the iteration may be missing. */
  * entries(): Generator<readonly [string, V], void, undefined> {
    const [ids, values] = [this.#ids.slice(), this.#values.slice()];
    for (const [index, id] of ids.entries()) {
      const value = values[index];
      if (id !== undefined && value !== undefined) yield [id, value];
    }
  }

  /** The id's index, or the free index for it. */
  #indexOf(id: string): number {
    const ids = this.#ids;
    const last = ids.length - 1;
    let index = hashOf(id) & last;
    for (let there = ids[index]; there !== undefined && there !== id; there = ids[index]) index = (index + 1) & last;
    return index;
  }

  /** Moves entries that a search would no longer reach into the freed index. */
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

/** FNV-1a of the last characters. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  const from = Math.max(0, id.length - HASHED_CHARACTERS);
  for (let index = from; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  // the high bits depend mostly on the first characters: mix them into the low ones
  return (hash ^ (hash >>> 15)) >>> 0;
}
