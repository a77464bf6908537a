/**
 * metadata.generation for objects from files: a number that grows with every change of a spec. Ledgers refuse limits that are
 * older than ones they have seen, so it must not go back over restarts, and processes that read the same files must agree on
 * it: it is the time at which the file was changed, in milliseconds, or one more than before where that is not later.
 */

export interface Generations {
  /** The generation of an object with this spec: the one it had, or a new one where the spec is another. `changedMs`: of its file. */
  assign(id: string, spec: object, changedMs?: number): number;
  /** Forgets objects that are gone. */
  retain(ids: { has(id: string): boolean }): void;
}

/** `startMs`: now, in milliseconds since the epoch; from there on is counted what has no time of its own. */
export function countGenerations(startMs: number): Generations {
  const known = new Map<string, { readonly spec: string; readonly generation: number }>();
  /** Nobody changes a spec that was read once. */
  const texts = new WeakMap<object, string>();
  let last = startMs;

  function textOf(spec: object): string {
    const before = texts.get(spec);
    if (before !== undefined) return before;
    const text = JSON.stringify(spec);
    texts.set(spec, text);
    return text;
  }

  return {
    assign(id, spec, changedMs) {
      const text = textOf(spec);
      const before = known.get(id);
      if (before?.spec === text) return before.generation;
      const generation = changedMs === undefined ? ++last : Math.max(changedMs, (before?.generation ?? 0) + 1);
      known.set(id, { spec: text, generation });
      return generation;
    },
    retain(ids) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    },
  };
}
