/**
 * [P] A map that is the one of before with a few entries different, made without copying it. A hundred thousand keys would take
 * milliseconds to copy for every edit of one of them.
 */

/** Changes upon changes are kept in one layer; when it gets this big, all is copied once. */
const MOST_CHANGES = 1024;

function isLayered<V>(map: ReadonlyMap<string, V>): map is LayeredMap<V> {
  return map instanceof LayeredMap;
}

export class LayeredMap<V> implements ReadonlyMap<string, V> {
  readonly #base: ReadonlyMap<string, V>;
  /** Undefined: gone. */
  readonly #changes: ReadonlyMap<string, V | undefined>;
  readonly size: number;

  private constructor(base: ReadonlyMap<string, V>, changes: ReadonlyMap<string, V | undefined>) {
    this.#base = base;
    this.#changes = changes;
    let size = base.size;
    for (const [key, value] of changes) size += Number(value !== undefined) - Number(base.has(key));
    this.size = size;
  }

  /** `map` with these changes; undefined takes an entry away. */
  static of<V>(map: ReadonlyMap<string, V>, changes: ReadonlyMap<string, V | undefined>): ReadonlyMap<string, V> {
    const base = LayeredMap.#baseOf(map);
    const merged = new Map([...LayeredMap.#changesOf(map), ...changes]);
    if (merged.size <= MOST_CHANGES) return new LayeredMap(base, merged);
    const whole = new Map(base);
    for (const [key, value] of merged) {
      if (value === undefined) whole.delete(key);
      else whole.set(key, value);
    }
    return whole;
  }

  /** The keys whose values differ; between maps that have been made from one, only changes are looked at. */
  static differences<V>(before: ReadonlyMap<string, V>, now: ReadonlyMap<string, V>): readonly string[] {
    if (before === now) return [];
    const related = LayeredMap.#baseOf(before) === LayeredMap.#baseOf(now);
    const [those, these] = related ? [LayeredMap.#changesOf(before), LayeredMap.#changesOf(now)] : [before, now];
    return [...new Set([...those.keys(), ...these.keys()])].filter((key) => before.get(key) !== now.get(key));
  }

  static #baseOf<V>(map: ReadonlyMap<string, V>): ReadonlyMap<string, V> {
    return isLayered(map) ? map.#base : map;
  }

  static #changesOf<V>(map: ReadonlyMap<string, V>): ReadonlyMap<string, V | undefined> {
    return isLayered(map) ? map.#changes : new Map<string, V | undefined>();
  }

  get(key: string): V | undefined {
    return this.#changes.has(key) ? this.#changes.get(key) : this.#base.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  *entries(): MapIterator<[string, V]> {
    for (const entry of this.#base) if (!this.#changes.has(entry[0])) yield entry;
    for (const [key, value] of this.#changes) if (value !== undefined) yield [key, value];
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }

  forEach(callback: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) callback(value, key, this);
  }
}
