/**
 * What the operator has read of the cluster, as people see it: objects with their latest statuses. It says nothing of
 * who may see what. Lists are kept, and only what has changed since is looked at again: ten thousand objects cost what
 * one costs.
 */
import type { Kind, Resource } from '#crds/types.gen.ts';
import { isOfKind } from './live-objects.ts';
import type { LiveObjects } from './live-objects.ts';
import { isNewer } from './relevance.ts';
import { objectId } from './resources.ts';

export interface WatchedCopy {
  /** Everything has been read at least once. */
  readonly isComplete: boolean;
  /** The same list as long as nothing has changed. */
  list<K extends Kind>(kind: K): readonly Extract<Resource, { kind: K }>[];
  /** The namespaces that are known. */
  namespaces(): ReadonlySet<string>;
  /** Waits until this version of an object, or its absence, has been told by a watch; not for ever. */
  has(id: string, write: { readonly uid: string; readonly resourceVersion: string | undefined }): Promise<void>;
}

interface WatchedCopyOptions {
  readonly objects: Pick<LiveObjects, 'ofKind' | 'current' | 'live'>;
  readonly namespaces: () => Iterable<string>;
  /** Whether objects of this namespace are read at all. */
  readonly covers: (namespace: string) => boolean;
  /** Runs something once, later; the result takes it back. */
  readonly after: (ms: number, run: () => void) => () => void;
}

/** A watch that tells of a write later than this is told of by its own metrics; people go on. */
const WAIT_MS = 2_000;
/** With so much that is to be looked at again it is, though nobody asks: ids of what has come and gone would add up. */
const MOST_DIRTY = 10_000;
const KINDS = ['Account', 'ApiKey', 'Group', 'ModelRoute', 'PriceCatalog'] as const satisfies readonly Kind[];

interface KeptKind {
  readonly byId: Map<string, Resource>;
  list: readonly Resource[] | undefined;
}

/** `changed` and `complete` are for whoever reads the cluster. */
export function openWatchedCopy({
  objects, namespaces, covers, after,
}: WatchedCopyOptions): WatchedCopy & { changed(id: string): void; complete(): void } {
  const kinds = new Map<string, KeptKind>();
  let dirty = new Set<string>();
  const waiting = new Map<string, Set<() => void>>();
  let isComplete = false;
  /** Somebody has asked for a list. Where nobody ever does, nothing is noted. */
  let inUse = false;

  function begin(): void {
    inUse = true;
    for (const kind of KINDS) for (const object of objects.ofKind(kind)) dirty.add(objectId(object));
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
    const live = objects.live(id);
    if (resourceVersion === undefined) return live?.uid !== uid;
    return live !== undefined && (live.uid !== uid || !isNewer(resourceVersion, live.resourceVersion));
  }

  return {
    get isComplete() { return isComplete; },
    complete() { isComplete = true; },
    changed(id) {
      if (inUse) dirty.add(id);
      if (dirty.size >= MOST_DIRTY) refresh();
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
      for (const kind of ['ApiKey', 'Account'] as const)
        for (const { metadata } of objects.ofKind(kind)) known.add(metadata.namespace);
      return known;
    },
    async has(id, { uid, resourceVersion }) {
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
