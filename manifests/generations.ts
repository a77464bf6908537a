/**
 * Assigns metadata.generation to objects from files: a number that increases with every change of a spec. Ledgers
 * refuse limits of older generations, so it must not decrease across restarts, and processes that read the same files
 * must agree on it. It is the file's modification time in milliseconds, or the previous generation plus one if that
 * time is not later.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Resource } from '#crds/types.gen.ts';

export interface Generations {
  /**
   * The object with its generation: the previous one, or a new one if its spec has changed. For the same object,
   * returns the same result as before. `changedMs` is the file's modification time.
   */
  assign(id: string, object: Resource, changedMs?: number): Resource;
  /** Drops objects that no longer exist. */
  retain(ids: { has(id: string): boolean }): void;
}

/** `startMs` is the current time, from which objects without a modification time are counted. */
export function countGenerations(startMs: number): Generations {
  const known = new Map<string, { readonly object: Resource; readonly numbered: Resource }>();
  let last = startMs;

  function next(before: number, changedMs?: number): number {
    return changedMs === undefined ? ++last : Math.max(changedMs, before + 1);
  }

  return {
    assign(id, object, changedMs) {
      const before = known.get(id);
      if (before?.object === object) return before.numbered;
      const { generation = 0 } = before?.numbered.metadata ?? {};
      const isSame = before !== undefined && isDeepStrictEqual(before.object.spec, object.spec);
      const assigned = isSame ? generation : next(generation, changedMs);
      const numbered = { ...object, metadata: { ...object.metadata, generation: assigned } };
      known.set(id, { object, numbered });
      return numbered;
    },
    retain(ids) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    },
  };
}
