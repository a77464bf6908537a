/**
 * metadata.generation for objects from files: a number that grows with every change of a spec. Ledgers refuse limits that are
 * older than ones they have seen, so it must not go back over restarts: it counts from the time of the start in milliseconds.
 */

export interface Generations {
  /** The generation of an object with this spec: the one it had, or a new one where the spec is another. */
  assign(id: string, spec: unknown): number;
  /** Forgets objects that are gone. */
  retain(ids: { has(id: string): boolean }): void;
}

/** `startMs`: now, in milliseconds since the epoch. */
export function countGenerations(startMs: number): Generations {
  const known = new Map<string, { readonly spec: string; readonly generation: number }>();
  let last = startMs;
  return {
    assign(id, spec) {
      const text = JSON.stringify(spec);
      const before = known.get(id);
      if (before?.spec === text) return before.generation;
      known.set(id, { spec: text, generation: ++last });
      return last;
    },
    retain(ids) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    },
  };
}
