/**
 * [P] Does a change of an object matter to the configuration? Statuses, managed fields and annotations don't: the API
 * server counts a generation for each change of the spec, and labels are looked at only where something selects by
 * them.
 */
import type { Resource } from '#crds/types.gen.ts';
import type { Labels } from './resources.ts';

/** Whether translate could say something else of the second one. */
export function differsForTranslate(before: Resource, now: Resource): boolean {
  const [old, current] = [before.metadata, now.metadata];
  return old.generation !== current.generation || old.uid !== current.uid || isLeaving(before) !== isLeaving(now)
    || (now.kind === 'ModelRoute' && !sameLabels(old.labels ?? {}, current.labels ?? {}));
}

/** An object that was deleted and only waits for what depends on it, or for a finalizer: it counts no more. */
export function isLeaving({ metadata }: Resource): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function sameLabels(a: Labels, b: Labels): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/**
 * Whether the first of two versions of one object is the newer one. Versions are numbers that only grow; where a server
 * has others, what came last counts.
 */
export function isNewer(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined) return true;
  if (!/^\d+$/.test(version) || !/^\d+$/.test(than)) return version !== than;
  return version.length === than.length ? version > than : version.length > than.length;
}
