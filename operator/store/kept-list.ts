/**
 * [P] Lists that are worked out from lists, over and over, where each time only a few items differ: sorting and mapping that costs
 * what has changed. The result is always what sorting or mapping the whole would have given.
 */
import { listChanges, sameEnds, sameItems } from './list-changes.ts';

/** More changes than this, and the whole is sorted anew. */
const FEW = 64;

/** Sorts the items of a list that are wanted. `compare` says 0 of no two of them; the same items give the same list object. */
export function keepSorted<T>(compare: (a: T, b: T) => number, wanted: (item: T) => boolean = () => true): (items: readonly T[]) => readonly T[] {
  let before: readonly T[] = [];
  let sorted: readonly T[] = before;
  return (items) => {
    const { removed, added } = listChanges(before, items);
    before = items;
    const [gone, come] = [removed.filter(wanted), added.filter(wanted)];
    if (gone.length + come.length === 0) return sorted;
    sorted = gone.length + come.length > FEW ? items.filter(wanted).sort(compare) : edit(sorted, gone, come);
    return sorted;
  };

  function edit(list: readonly T[], gone: readonly T[], come: readonly T[]): T[] {
    const next = list.slice();
    for (const item of gone) next.splice(next.indexOf(item, placeOf(next, item)), 1);
    for (const item of come) next.splice(placeOf(next, item), 0, item);
    return next;
  }

  /** The first place whose item does not go before this one. */
  function placeOf(list: readonly T[], item: T): number {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = list[middle];
      if (other !== undefined && compare(other, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * Maps a list. `inputs` are whatever else the mapping looks at: as long as they are the same objects, results of before are kept for
 * items that are where they were, except for those that are to be mapped `again`. The same results give the same list object.
 */
type KeptMap<T, R> = (items: readonly T[], inputs: readonly unknown[], map: (item: T) => R, again?: ReadonlySet<T>) => readonly R[];

const NONE: ReadonlySet<never> = new Set();

export function keepMapped<T, R>(): KeptMap<T, R> {
  let before: readonly T[] = [];
  let inputsBefore: readonly unknown[] = [];
  let results: readonly R[] = [];

  return (items, inputs, map, again = NONE) => {
    const valid = sameItems(inputsBefore, inputs);
    if (valid && items === before && again.size === 0) return results;
    const next = valid ? remap(items, map) : items.map(map);
    if (valid && again.size > 0) items.forEach((item, at) => { if (again.has(item)) next[at] = map(item); });
    [before, inputsBefore] = [items, inputs];
    if (!sameItems(next, results)) results = next;
    return results;
  };

  function remap(items: readonly T[], map: (item: T) => R): R[] {
    if (before.length === 0) return items.map(map);
    if (items.length === before.length) {
      const next = results.slice();
      for (let at = 0; at < items.length; at++) {
        const item = items[at];
        if (item !== before[at] && item !== undefined) next[at] = map(item);
      }
      return next;
    }
    const { start, end } = sameEnds(before, items);
    return [...results.slice(0, start), ...items.slice(start, items.length - end).map(map), ...results.slice(results.length - end)];
  }
}

/**
 * A value that is worked out again only when one of its inputs is another object. Where it comes to the `same` as before, the object
 * of before is given, so that what follows from it stands.
 */
export function keepResult<R>(same: (a: R, b: R) => boolean = Object.is): (inputs: readonly unknown[], work: () => R) => R {
  let kept: { readonly inputs: readonly unknown[]; readonly result: R } | undefined;
  return (inputs, work) => {
    if (kept && sameItems(kept.inputs, inputs)) return kept.result;
    const result = work();
    kept = { inputs, result: kept && same(kept.result, result) ? kept.result : result };
    return kept.result;
  };
}

/** Whether two maps have the same entries. */
export function sameEntries<K, V>(a: ReadonlyMap<K, V>, b: ReadonlyMap<K, V>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value || !b.has(key)) return false;
  return true;
}

/** The next of some moments that items of a list tell of; undefined: none is to come. */
export function keepNextMoment<T>(momentsOf: (item: T) => readonly number[]): (items: readonly T[], nowMs: number) => number | undefined {
  let before: readonly T[] = [];
  let atMs = Number.NEGATIVE_INFINITY;
  let nextMs = Number.POSITIVE_INFINITY;
  const first = (items: readonly T[], nowMs: number): number => {
    let next = Number.POSITIVE_INFINITY;
    for (const item of items) for (const ms of momentsOf(item)) if (ms > nowMs && ms < next) next = ms;
    return next;
  };
  return (items, nowMs) => {
    const { removed, added } = listChanges(before, items);
    const stands = nowMs >= atMs && nowMs < nextMs && first(removed, nowMs) > nextMs;
    nextMs = stands || (nextMs === Number.POSITIVE_INFINITY && nowMs >= atMs) ? Math.min(nextMs, first(added, nowMs)) : first(items, nowMs);
    [before, atMs] = [items, nowMs];
    return nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs;
  };
}
