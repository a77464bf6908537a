/**
 * [P] What belongs to the calls in flight, by call id. A Map that is entered and left all the time keeps what has left
 * it alive until the whole heap is collected; this one forgets it at once.
 */

const FIRST_SLOTS = 64;
/** Ids differ in their ends. */
const HASHED_CHARACTERS = 8;

/** Open addressing: an id is at its hash or behind it; what is behind moves up when an index becomes free. */
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

  /** In no order. What is added meanwhile may be missing. */
  * entries(): Generator<readonly [string, V], void, undefined> {
    const [ids, values] = [this.#ids.slice(), this.#values.slice()];
    for (const [index, id] of ids.entries()) {
      const value = values[index];
      if (id !== undefined && value !== undefined) yield [id, value];
    }
  }

  /** Where the id is, or the free index where it belongs. */
  #indexOf(id: string): number {
    const ids = this.#ids;
    const last = ids.length - 1;
    let index = hashOf(id) & last;
    for (let there = ids[index]; there !== undefined && there !== id; there = ids[index]) index = (index + 1) & last;
    return index;
  }

  /** Whatever would not be found past the free index moves into it. */
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
  // its low bits depend on all characters, its high ones mostly on the first
  return (hash ^ (hash >>> 15)) >>> 0;
}
