/**
 * [P] Differences between successive snapshots. A snapshot is always complete; its objects are compared with the
 * previous ones, and only changed objects are encoded and hashed.
 */
import { isDeepStrictEqual } from 'node:util';
import { Checkpoint } from '#snapshot/fleet.gen.ts';
import {
  CHECKPOINT_NAME,
  CHECKPOINT_TYPE,
  encodeObject,
  resourceName,
  SetDigest,
  typeUrlOf,
} from '#snapshot/resources.ts';
import type { SnapshotField } from '#snapshot/resources.ts';
import { SNAPSHOT_KINDS } from '#snapshot/kinds.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { compareNamed, differences } from '#snapshot/sorted.ts';
import type { Named } from '#snapshot/sorted.ts';
import { tightensAccount, tightensKey } from '#snapshot/tightening.ts';
import type { ResourceCache, ResourceChanges } from './resource-cache.ts';

/** Which changes of one kind's objects restrict callers. */
interface Restrictions<M> {
  readonly tightens: (before: M, after: M) => boolean;
  /** True if a removal does. */
  readonly revokes: boolean;
}

const NONE = { tightens: () => false, revokes: false };
/** Objects of other kinds restrict nobody by themselves. */
const RESTRICTIONS: { readonly [F in SnapshotField]?: Restrictions<Snapshot[F][number]> } = {
  accounts: { ...NONE, tightens: tightensAccount },
  keys: { tightens: tightensKey, revokes: true },
};

/** Returns a function that puts one snapshot after another, sorted as translate does, into the cache. */
export function createSnapshotChanges(cache: ResourceCache): (snapshot: Snapshot) => ResourceChanges[] {
  const tracked = { cache, digest: new SetDigest() };
  const trackers = SNAPSHOT_KINDS.map(({ field }) => tracker(field, tracked));
  return (snapshot) => {
    const changes = trackers.map((changesOf) => changesOf(snapshot));
    const { count, text } = tracked.digest;
    const changed = cache.set(
      CHECKPOINT_TYPE,
      CHECKPOINT_NAME,
      Checkpoint.encode({ resources: count, digest: text }).finish(),
    );
    return [...changes, { typeUrl: CHECKPOINT_TYPE, names: changed ? [CHECKPOINT_NAME] : [], urgent: new Set() }];
  };
}

interface Tracked {
  readonly cache: ResourceCache;
  /** The digest of all resources in the cache. */
  readonly digest: SetDigest;
}

/** Tracks the objects of one kind. */
function tracker<F extends SnapshotField>(
  field: F,
  { cache, digest }: Tracked,
): (snapshot: Pick<Snapshot, F>) => ResourceChanges {
  type M = Snapshot[F][number];
  const { tightens, revokes }: Restrictions<M> = RESTRICTIONS[field] ?? NONE;
  const typeUrl = typeUrlOf(field);
  let before: readonly M[] = [];

  function put(name: string, value: Uint8Array | undefined): boolean {
    const old = cache.get(typeUrl, name);
    if (!cache.set(typeUrl, name, value)) return false;
    const now = cache.get(typeUrl, name);
    if (old) digest.remove(typeUrl, name, old.version);
    if (now) digest.add(typeUrl, name, now.version);
    return true;
  }

  return (snapshot) => {
    const objects: readonly M[] = snapshot[field];
    const names: string[] = [];
    const urgent = new Set<string>();
    for (const [old, now] of differences(before, objects, compareNamed)) {
      const name = nameOf(old, now);
      if (isDeepStrictEqual(old, now) || !put(name, now && encodeObject(field, now))) continue;
      names.push(name);
      if (old && (now ? tightens(old, now) : revokes)) urgent.add(name);
    }
    before = objects;
    return { typeUrl, names, urgent };
  };
}

function nameOf(old: Named | undefined, now: Named | undefined): string {
  const object = now ?? old;
  return object ? resourceName(object) : '';
}
