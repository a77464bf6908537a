/**
 * [P] Decides whether a change of an object can change the configuration. Changes of statuses, managed fields and
 * annotations cannot: the API server increases the generation with each change of a spec. Labels matter only for
 * ModelRoutes, which are selected by label, and for ApiKeys, whose usage records carry labels.
 */
import type { Resource } from '#crds/types.gen.ts';
import type { Labels } from './resources.ts';

/** True if translate could give another result for the second version. */
export function differsForTranslate(before: Resource, now: Resource): boolean {
  const [old, current] = [before.metadata, now.metadata];
  return (
    old.generation !== current.generation ||
    old.uid !== current.uid ||
    isTerminating(before) !== isTerminating(now) ||
    ((now.kind === 'ModelRoute' || now.kind === 'ApiKey') && !sameLabels(old.labels ?? {}, current.labels ?? {}))
  );
}

/** True if an object has a deletionTimestamp: it waits for its finalizers and is no longer in force. */
export function isTerminating({ metadata }: Resource): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function sameLabels(a: Labels, b: Labels): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/**
 * True if the first of two versions of one object is newer. Versions are numbers that only grow; if a server has other
 * versions, the one that came last counts.
 */
export function isNewer(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined) return true;
  if (!/^\d+$/.test(version) || !/^\d+$/.test(than)) return version !== than;
  return version.length === than.length ? version > than : version.length > than.length;
}
