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
    for (const [old, now] of differences(before, objects, same)) {
      const name = nameOf(old, now);
      if (!put(name, now && encodeObject(field, now))) continue;
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

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Pairs of differing objects. Edits are few and lists keep their order, so equal items at both ends cost one comparison
 * each; objects are looked up by name only between the first and the last difference.
 */
function differences<M extends Named>(before: readonly M[], after: readonly M[], same: (a: M, b: M) => boolean): [old:
  | M | undefined, now: M | undefined][] {
  const alike = (index: number, from: number): boolean => {
    const [a, b] = [before.at(index), after.at(index)];
    return a !== undefined && b !== undefined && from < Math.min(before.length, after.length) && same(a, b);
  };
  let start = 0;
  while (alike(start, start)) start += 1;
  let end = 0;
  while (alike(-1 - end, start + end)) end += 1;
  const old = new Map(before.slice(start, before.length - end).map((object) => [resourceName(object), object]));
  const found: [M | undefined, M | undefined][] = [];
  for (const now of after.slice(start, after.length - end)) {
    const name = resourceName(now);
    const was = old.get(name);
    old.delete(name);
    if (!was || !same(was, now)) found.push([was, now]);
  }
  for (const gone of old.values()) found.push([gone, undefined]);
  return found;
}
