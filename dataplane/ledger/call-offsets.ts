/**
 * [P] Offsets by call id, without the ids: tens of thousands come in a second and are asked for as good as never, so that nothing of
 * them is kept but a number for each. What has an id's number may be another call's: who asks looks there and compares.
 */

const FIRST_PLACES = 1024;
/** Ids differ in their ends. */
const HASHED_CHARACTERS = 20;

/** Two numbers a place: what the id is known by (0: free), and the offset. A place is looked for from its number on. */
export class CallOffsets {
  #places: Float64Array;
  #count = 0;

  /** `expected`: about so many will come. */
  constructor(expected = 0) {
    let places = FIRST_PLACES;
    while (places < expected * 2) places *= 2;
    this.#places = new Float64Array(places * 2);
  }

  get size(): number {
    return this.#count;
  }

  add(callId: string, offset: number): void {
    if (++this.#count * 4 > this.#places.length) this.#grow();
    put(this.#places, numberOf(callId), offset);
  }

  /** Whether any call has this number (see numberOf). */
  has(number: number): boolean {
    if (this.#count === 0) return false;
    const places = this.#places;
    let at = placeOf(places, number);
    while (places[at] !== 0 && places[at] !== number) at = nextPlace(places, at);
    return places[at] === number;
  }

  /** The offset of the first for which `isIt` holds, of those that this id may have. */
  find(callId: string, isIt: (offset: number) => boolean): number | undefined {
    if (this.#count === 0) return undefined;
    const places = this.#places;
    const number = numberOf(callId);
    for (let at = placeOf(places, number); places[at] !== 0; at = nextPlace(places, at)) {
      const offset = places[at + 1] ?? 0;
      if (places[at] === number && isIt(offset)) return offset;
    }
    return undefined;
  }

  #grow(): void {
    const before = this.#places;
    const places = new Float64Array(before.length * 2);
    for (let at = 0; at < before.length; at += 2) {
      const number = before[at] ?? 0;
      if (number !== 0) put(places, number, before[at + 1] ?? 0);
    }
    this.#places = places;
  }
}

function put(places: Float64Array, number: number, offset: number): void {
  let at = placeOf(places, number);
  while (places[at] !== 0) at = nextPlace(places, at);
  places[at] = number;
  places[at + 1] = offset;
}

/** By the number's lowest bits: the number of places is a power of two. (A remainder of so large a number is a call into C.) */
function placeOf(places: Float64Array, number: number): number {
  return ((number >>> 0) & (places.length / 2 - 1)) * 2;
}

function nextPlace(places: Float64Array, at: number): number {
  return at + 2 === places.length ? 0 : at + 2;
}

/** What an id is known by: 52 bits of two sums over its end; never 0. Others may have the same. */
export function numberOf(callId: string): number {
  let first = 0x811c9dc5;
  let second = callId.length;
  for (let index = Math.max(0, callId.length - HASHED_CHARACTERS); index < callId.length; index++) {
    const code = callId.charCodeAt(index);
    first = Math.imul(first ^ code, 0x01000193);
    second = Math.imul(second, 31) + code | 0;
  }
  return (first >>> 0) * 2 ** 20 + (second & 0xfffff) + 1;
}
