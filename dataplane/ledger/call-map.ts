/**
 * [P] What belongs to the calls in flight, by call id. A Map would do, but for what it leaves behind: an outgrown table of a Map points
 * to its successor and keeps all that was in it, so that calls that are over live on, one found from the other, until all of the heap
 * is collected. This one forgets what leaves at once.
 */

const FIRST_PLACES = 64;
/** Ids differ in their ends. */
const HASHED_CHARACTERS = 8;

/** A place is looked for from an id's hash on; what was put further on for want of room moves up when one becomes free. */
export class CallMap<V> {
  #ids: (string | undefined)[] = places(FIRST_PLACES);
  #values: (V | undefined)[] = places(FIRST_PLACES);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string): V | undefined {
    return this.#values[this.#placeOf(id)];
  }

  set(id: string, value: V): void {
    let place = this.#placeOf(id);
    if (this.#ids[place] === undefined) {
      if (++this.#size * 2 > this.#ids.length) {
        this.#grow();
        place = this.#placeOf(id);
      }
      this.#ids[place] = id;
    }
    this.#values[place] = value;
  }

  delete(id: string): void {
    const place = this.#placeOf(id);
    if (this.#ids[place] === undefined) return;
    this.#size--;
    this.#free(place);
  }

  * values(): Generator<V, void, undefined> {
    for (const [, value] of this.entries()) yield value;
  }

  /** In no order. What is added meanwhile may be missing. */
  * entries(): Generator<readonly [string, V], void, undefined> {
    const [ids, values] = [this.#ids.slice(), this.#values.slice()];
    for (const [place, id] of ids.entries()) {
      const value = values[place];
      if (id !== undefined && value !== undefined) yield [id, value];
    }
  }

  /** Where the id is, or the free place where it belongs. */
  #placeOf(id: string): number {
    const ids = this.#ids;
    const last = ids.length - 1;
    let place = hashOf(id) & last;
    for (let there = ids[place]; there !== undefined && there !== id; there = ids[place]) place = (place + 1) & last;
    return place;
  }

  /** Whatever would not be found past the free place moves into it. */
  #free(from: number): void {
    const ids = this.#ids;
    const last = ids.length - 1;
    let free = from;
    let place = (free + 1) & last;
    for (let id = ids[place]; id !== undefined; id = ids[place]) {
      const home = hashOf(id) & last;
      if (((place - home) & last) >= ((place - free) & last)) {
        ids[free] = id;
        this.#values[free] = this.#values[place];
        free = place;
      }
      place = (place + 1) & last;
    }
    ids[free] = undefined;
    this.#values[free] = undefined;
  }

  #grow(): void {
    const [ids, values] = [this.#ids, this.#values];
    this.#ids = places(ids.length * 2);
    this.#values = places(ids.length * 2);
    for (const [at, id] of ids.entries()) {
      if (id === undefined) continue;
      const place = this.#placeOf(id);
      this.#ids[place] = id;
      this.#values[place] = values[at];
    }
  }
}

function places<T>(count: number): (T | undefined)[] {
  return Array.from<undefined>({ length: count }).fill(undefined);
}

/** A call enters and leaves several of these one after the other. */
let lastId = '';
let lastHash = reckonHash(lastId);

function hashOf(id: string): number {
  if (id !== lastId) {
    lastId = id;
    lastHash = reckonHash(id);
  }
  return lastHash;
}

function reckonHash(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = Math.max(0, id.length - HASHED_CHARACTERS); index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  // its low bits depend on all characters, its high ones on the first ones most
  return (hash ^ (hash >>> 15)) >>> 0;
}
