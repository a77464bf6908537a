/**
 * metadata.generation for objects from files: a number that increases with every change of a spec. Ledgers refuse
 * limits of older generations, so it must not decrease across restarts, and processes that read the same files must
 * agree on it: it is the file's modification time in milliseconds, or the previous generation plus one if that is not
 * later.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Resource } from '#crds/types.gen.ts';

export interface Generations {
  /**
   * The object with its generation: the one it had, or a new one where its spec is another. For the same object, the
   * result is the same object as at the last call. `changedMs`: of its file.
   */
  assign(id: string, object: Resource, changedMs?: number): Resource;
  /** Forgets objects that are gone. */
  retain(ids: { has(id: string): boolean }): void;
}

/** `startMs`: now, in milliseconds since the epoch; from there on is counted what has no time of its own. */
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
