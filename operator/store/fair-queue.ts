/**
 * [P] A queue of objects that takes one of each namespace in turn, so that thousands of one tenant delay no other
 * tenant's. Within a namespace the first to come is the first to be taken.
 */
export class FairQueue implements Iterable<string> {
  readonly #namespaceOf: (id: string) => string;
  readonly #namespaces = new Map<string, Set<string>>();
  #size = 0;

  constructor(namespaceOf: (id: string) => string) {
    this.#namespaceOf = namespaceOf;
  }

  get size(): number {
    return this.#size;
  }

  /** Appends an object, unless it waits already. */
  add(id: string): void {
    const namespace = this.#namespaceOf(id);
    const ids = this.#namespaces.get(namespace) ?? new Set<string>();
    this.#namespaces.set(namespace, ids);
    this.#size += ids.has(id) ? 0 : 1;
    ids.add(id);
  }

  /** Takes an object out. Its namespace goes behind all others. */
  delete(id: string): void {
    const namespace = this.#namespaceOf(id);
    const ids = this.#namespaces.get(namespace);
    if (!ids?.delete(id)) return;
    this.#size -= 1;
    this.#namespaces.delete(namespace);
    if (ids.size > 0) this.#namespaces.set(namespace, ids);
  }

  clear(): void {
    this.#namespaces.clear();
    this.#size = 0;
  }

  /** Yields the first object of each namespace; a namespace comes again once its object was deleted. */
  *[Symbol.iterator](): Generator<string, void> {
    // a Map's iterator visits what is appended meanwhile
    for (const ids of this.#namespaces.values()) {
      const [first] = ids;
      if (first !== undefined) yield first;
    }
  }
}

/** How many objects are written to the API server at once. */
export const WRITES_AT_ONCE = 16;
/** How many of one namespace, so that a burst of its writes does not delay other namespaces' edits on the watches. */
export const WRITES_AT_ONCE_OF_NAMESPACE = 4;

/** The same turns for a list whose order within each namespace stays. */
export function inTurns<T>(all: Iterable<T>, namespaceOf: (each: T) => string): T[] {
  const waiting = [...Map.groupBy(all, namespaceOf).values()];
  const longest = waiting.reduce((most, { length }) => Math.max(most, length), 0);
  const ordered: T[] = [];
  for (let turn = 0; turn < longest; turn++)
    for (const list of waiting) if (turn < list.length) ordered.push(...list.slice(turn, turn + 1));
  return ordered;
}
