/**
 * [P] Differences between successive snapshots. A snapshot is always complete; its objects are compared with the
 * previous ones, and only changed objects are encoded and hashed.
 */
import { Checkpoint } from '#snapshot/fleet.gen.ts';
import {
  CHECKPOINT_NAME, CHECKPOINT_TYPE, encodeObject, resourceName, SetDigest, typeUrlOf,
} from '#snapshot/resources.ts';
import type { SnapshotField } from '#snapshot/resources.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { compareNamed, differences } from '#snapshot/sorted.ts';
import type { Named } from '#snapshot/sorted.ts';
import { tightensAccount, tightensKey } from '#snapshot/tightening.ts';
import type { ResourceCache, ResourceChanges } from './resource-cache.ts';
import { sameKey, sameMessage } from './same-message.ts';

/** How objects of one kind are compared. */
interface Comparison<M> {
  readonly same: (a: M, b: M) => boolean;
  /** Returns whether a change restricts callers. */
  readonly tightens: (before: M, after: M) => boolean;
  /** True if a removal restricts callers. */
  readonly revokes: boolean;
}

const PLAIN = { same: sameMessage, tightens: () => false, revokes: false };

/** Returns a function that puts one snapshot after another into the cache, and returns the changes. */
export function createSnapshotChanges(cache: ResourceCache): (snapshot: Snapshot) => ResourceChanges[] {
  const tracked = { cache, digest: new SetDigest() };
  const catalogs = tracker('catalogs', PLAIN, tracked);
  const routes = tracker('routes', PLAIN, tracked);
  const groups = tracker('groups', PLAIN, tracked);
  const accounts = tracker('accounts', { ...PLAIN, tightens: tightensAccount }, tracked);
  const keys = tracker('keys', { same: sameKey, tightens: tightensKey, revokes: true }, tracked);
  return (snapshot) => {
    const changes = [
      catalogs(snapshot.catalogs), routes(snapshot.routes), groups(snapshot.groups), accounts(snapshot.accounts),
      keys(snapshot.keys),
    ];
    const { count, text } = tracked.digest;
    const changed =
      cache.set(CHECKPOINT_TYPE, CHECKPOINT_NAME, Checkpoint.encode({ resources: count, digest: text }).finish());
    return [...changes, { typeUrl: CHECKPOINT_TYPE, names: changed ? [CHECKPOINT_NAME] : [], urgent: new Set() }];
  };
}

interface Tracked {
  readonly cache: ResourceCache;
  /** The digest of all resources in the cache. */
  readonly digest: SetDigest;
}

/** Tracks the objects of one kind. */
function tracker<F extends SnapshotField>(field: F, comparison: Comparison<Snapshot[F][number]>, {
  cache, digest,
}: Tracked): (objects: readonly Snapshot[F][number][]) => ResourceChanges {
  type M = Snapshot[F][number];
  const { same, tightens, revokes } = comparison;
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
      if ((old && now && same(old, now)) || !put(name, now && encodeObject(field, now))) continue;
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
