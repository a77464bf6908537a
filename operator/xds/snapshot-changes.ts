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

/** Returns a function that puts one snapshot after another, sorted as translate does, into the cache. */
export function createSnapshotChanges(cache: ResourceCache): (snapshot: Snapshot) => ResourceChanges[] {
  const tracked = { cache, digest: new SetDigest() };
  const catalogs = tracker('catalogs', NONE, tracked);
  const routes = tracker('routes', NONE, tracked);
  const groups = tracker('groups', NONE, tracked);
  const accounts = tracker('accounts', { ...NONE, tightens: tightensAccount }, tracked);
  const keys = tracker('keys', { tightens: tightensKey, revokes: true }, tracked);
  return (snapshot) => {
    const changes = [
      catalogs(snapshot.catalogs),
      routes(snapshot.routes),
      groups(snapshot.groups),
      accounts(snapshot.accounts),
      keys(snapshot.keys),
    ];
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
  restrictions: Restrictions<Snapshot[F][number]>,
  { cache, digest }: Tracked,
): (objects: readonly Snapshot[F][number][]) => ResourceChanges {
  type M = Snapshot[F][number];
  const { tightens, revokes } = restrictions;
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

  return (objects) => {
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
