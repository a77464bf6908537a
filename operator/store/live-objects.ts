/**
 * What the API server has of the five kinds at this moment, from any number of watches. Two views of each object are kept apart:
 * the one that translate reads, which stays the same as long as nothing changes that matters to it, and the live status, which
 * is compared with what it should be.
 */
import type { Kind, Resource } from '#crds/types.gen.ts';
import { differsForTranslate, isLeaving, isNewer } from './relevance.ts';
import { freezeDeep, objectId } from './resources.ts';

/** What the API server has of an object besides its spec. */
export interface LiveObject {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly status: NonNullable<Resource['status']>;
}

export interface LiveObjects {
  /** A complete list of one watch. */
  replace(source: string, objects: readonly Resource[]): void;
  apply(source: string, object: Resource): void;
  remove(source: string, object: Pick<Resource, 'kind' | 'metadata'>): void;
  /** What a write of its status came to; the watch tells it later. */
  written(object: Resource): void;
  /** By "Kind namespace/name". */
  live(id: string): LiveObject | undefined;
  /** Those of a kind that count, the same list as long as nothing has changed. */
  ofKind(kind: Kind): readonly Resource[];
  count(kind: Kind): number;
}

export interface LiveObjectsOptions {
  /** Something that translate reads has changed. */
  readonly onSpecs: (kind: Kind) => void;
  /** Something of the live object has changed, or it is gone. */
  readonly onLive: (id: string) => void;
}

interface Entry {
  readonly spec: Resource;
  readonly live: LiveObject;
}

export function openLiveObjects({ onSpecs, onLive }: LiveObjectsOptions): LiveObjects {
  const sources = new Map<string, Map<string, Entry>>();
  const lists = new Map<Kind, readonly Resource[]>();

  function entriesOf(source: string): Map<string, Entry> {
    const known = sources.get(source) ?? new Map<string, Entry>();
    sources.set(source, known);
    return known;
  }

  function changed(kind: Kind): void {
    lists.delete(kind);
    onSpecs(kind);
  }

  function apply(source: string, object: Resource): void {
    const entries = entriesOf(source);
    const id = objectId(object);
    const before = entries.get(id);
    const matters = !before || differsForTranslate(before.spec, object);
    const overtaken = before && !isNewer(object.metadata.resourceVersion, before.live.resourceVersion);
    entries.set(id, { spec: matters ? freezeDeep(object) : before.spec, live: overtaken ? before.live : liveOf(object) });
    if (matters) changed(object.kind);
    if (!overtaken) onLive(id);
  }

  function remove(source: string, object: Pick<Resource, 'kind' | 'metadata'>): void {
    const id = objectId(object);
    if (!entriesOf(source).delete(id)) return;
    changed(object.kind);
    onLive(id);
  }

  function find(id: string): [Map<string, Entry>, Entry] | undefined {
    for (const entries of sources.values()) {
      const entry = entries.get(id);
      if (entry) return [entries, entry];
    }
    return undefined;
  }

  return {
    apply,
    remove,
    replace(source, objects) {
      const now = new Set(objects.map(objectId));
      for (const [id, { spec }] of entriesOf(source)) if (!now.has(id)) remove(source, spec);
      for (const object of objects) apply(source, object);
    },
    written(object) {
      const id = objectId(object);
      const [entries, entry] = find(id) ?? [];
      if (!entries || !entry || entry.live.uid !== object.metadata.uid || !isNewer(object.metadata.resourceVersion, entry.live.resourceVersion)) return;
      entries.set(id, { ...entry, live: liveOf(object) });
    },
    live(id) {
      const entry = find(id)?.[1];
      return entry && !isLeaving(entry.spec) ? entry.live : undefined;
    },
    ofKind(kind) {
      const known = lists.get(kind);
      if (known) return known;
      const all = [...sources.values()].flatMap((entries) => [...entries.values()].map(({ spec }) => spec));
      const list = Object.freeze(all.filter((spec) => spec.kind === kind && !isLeaving(spec)));
      lists.set(kind, list);
      return list;
    },
    count: (kind) => [...sources.values()].reduce((sum, entries) => sum + [...entries.values()].filter(({ spec }) => spec.kind === kind).length, 0),
  };
}

function liveOf({ kind, metadata, status = {} }: Resource): LiveObject {
  const { namespace, name, uid = '', resourceVersion = '' } = metadata;
  return { kind, namespace, name, uid, resourceVersion, status };
}
