/**
 * The operator's cache of the cluster for the console. Lists are cached, and only changed objects are refreshed, so that
 * a change costs the same at ten thousand objects as at one.
 */
import { ALL_KINDS, TENANT_KINDS } from '#crds/kinds.ts';
import type { Kind, Resource } from '#crds/types.gen.ts';
import { isOfKind } from './live-objects.ts';
import type { LiveObjects } from './live-objects.ts';
import type { ClusterCache } from '#objects/cluster-cache.ts';
import { isNewer } from '#objects/relevance.ts';
import { objectId } from '#objects/resources.ts';

interface ClusterCacheOptions {
  readonly objects: Pick<LiveObjects, 'ofKind' | 'byNamespace' | 'current' | 'live'>;
  readonly namespaces: () => Iterable<string>;
  /** Returns whether objects of this namespace are read at all. */
  readonly covers: (namespace: string) => boolean;
  /** Calls a function once after a delay; the returned function cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
}

/** A slow watch shows in its own metrics. */
const WAIT_MS = 2_000;
/** With this many changed ids the cache refreshes itself, because ids of deleted objects would accumulate. */
const MAX_DIRTY = 10_000;

interface KeptKind {
  readonly byId: Map<string, Resource>;
  list: readonly Resource[] | undefined;
}

/** The part that reads the cluster calls `changed` and `complete`. */
export function createClusterCache({
  objects,
  namespaces,
  covers,
  after,
}: ClusterCacheOptions): ClusterCache & { changed(id: string): void; complete(): void } {
  const kinds = new Map<string, KeptKind>();
  let dirty = new Set<string>();
  const waiting = new Map<string, Set<() => void>>();
  let isComplete = false;
  /** Changes are not recorded before the first list. */
  let inUse = false;

  function begin(): void {
    inUse = true;
    for (const kind of ALL_KINDS)
      for (const object of objects.ofKind(kind)) dirty.add(objectId(object.kind, object.metadata));
  }

  function keptKind(kind: string): KeptKind {
    const kept = kinds.get(kind) ?? { byId: new Map<string, Resource>(), list: undefined };
    kinds.set(kind, kept);
    return kept;
  }

  function refresh(): void {
    for (const id of dirty) {
      const kept = keptKind(id.slice(0, id.indexOf(' ')));
      const current = objects.current(id);
      kept.list = undefined;
      if (current) kept.byId.set(id, current);
      else kept.byId.delete(id);
    }
    dirty = new Set();
  }

  function isThere(id: string, uid: string, resourceVersion: string | undefined): boolean {
    // a deleted object may stay for its finalizers, and is in no list
    if (resourceVersion === undefined) return objects.current(id)?.metadata.uid !== uid;
    const live = objects.live(id);
    return live !== undefined && (live.uid !== uid || !isNewer(resourceVersion, live.resourceVersion));
  }

  return {
    get isComplete() {
      return isComplete;
    },
    complete() {
      isComplete = true;
    },
    changed(id) {
      if (inUse) dirty.add(id);
      if (dirty.size >= MAX_DIRTY) refresh();
      for (const look of waiting.get(id) ?? []) look();
    },
    list<K extends Kind>(kind: K) {
      if (!inUse) begin();
      refresh();
      const kept = keptKind(kind);
      kept.list ??= [...kept.byId.values()];
      return isOfKind(kept.list, kind) ? kept.list : [];
    },
    namespaces() {
      const known = new Set(namespaces());
      for (const kind of TENANT_KINDS) for (const namespace of objects.byNamespace(kind).keys()) known.add(namespace);
      return known;
    },
    async waitFor(id, { uid, resourceVersion }) {
      const namespace = id.slice(id.indexOf(' ') + 1, id.indexOf('/'));
      if (!covers(namespace) || isThere(id, uid, resourceVersion)) return;
      const looks = waiting.get(id) ?? new Set();
      waiting.set(id, looks);
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = after(WAIT_MS, resolve);
      const look = (): void => {
        if (isThere(id, uid, resourceVersion)) resolve();
      };
      looks.add(look);
      await promise;
      cancel();
      looks.delete(look);
      if (looks.size === 0) waiting.delete(id);
    },
  };
}
