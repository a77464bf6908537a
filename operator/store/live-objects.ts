/**
 * What the API server has of the five kinds at this moment, from any number of watches. Two views of each object are kept apart:
 * the one that translate reads, which stays the same as long as nothing changes that matters to it, and the live status, which
 * is compared with what it should be.
 */
import type { Kind, Resource } from '#crds/types.gen.ts';
import { differsForTranslate, isLeaving, isNewer } from './relevance.ts';
import { freezeDeep, objectId } from './resources.ts';
import type { MalformedObject } from './resources.ts';

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
  ofKind<K extends Kind>(kind: K): readonly Extract<Resource, { kind: K }>[];
  /** Those that do not count because of faults, the same list as long as nothing has changed. */
  malformed(): readonly MalformedObject[];
  count(kind: Kind): number;
}

/** What is wrong with an object, and the object with its defaults. */
export type AdmitObject = (object: Resource) => Admitted;

export interface Admitted {
  readonly object: Resource;
  readonly faults: readonly string[];
  /** Of an ApiKey or Account, which may leave it to its default. */
  readonly gatewayNamespace?: string;
}

export interface LiveObjectsOptions {
  /** Default: what the server has admitted is taken as it is. */
  readonly admit?: AdmitObject;
  /** Something that translate reads has changed. */
  readonly onSpecs: (kind: Kind) => void;
  /** Something of the live object has changed, or it is gone. */
  readonly onLive: (id: string) => void;
}

interface Entry {
  readonly spec: Resource;
  readonly live: LiveObject;
}

export function openLiveObjects({ onSpecs, onLive, admit = (object) => ({ object, faults: [] }) }: LiveObjectsOptions): LiveObjects {
  const sources = new Map<string, Map<string, Entry>>();
  const lists: { readonly [K in Kind]: ObjectList<Resource> } = { Account: openList<Resource>(), ApiKey: openList<Resource>(), Group: openList<Resource>(), ModelRoute: openList<Resource>(), PriceCatalog: openList<Resource>() };

  function entriesOf(source: string): Map<string, Entry> {
    const known = sources.get(source) ?? new Map<string, Entry>();
    sources.set(source, known);
    return known;
  }

  const malformed = openList<MalformedObject>();

  function put(id: string, spec: Resource, { faults, gatewayNamespace }: Admitted): void {
    const counts = !isLeaving(spec);
    if (counts && faults.length === 0) lists[spec.kind].set(id, spec);
    else lists[spec.kind].delete(id);
    if (counts && faults.length > 0) malformed.set(id, { kind: spec.kind, metadata: spec.metadata, faults, ...gatewayNamespace !== undefined && { gatewayNamespace } });
    else malformed.delete(id);
  }

  function apply(source: string, object: Resource): void {
    const entries = entriesOf(source);
    const id = objectId(object);
    const before = entries.get(id);
    const matters = !before || differsForTranslate(before.spec, object);
    const overtaken = before && !isNewer(object.metadata.resourceVersion, before.live.resourceVersion);
    const admitted = matters ? admit(object) : undefined;
    const spec = admitted ? freezeDeep(admitted.object) : before?.spec ?? object;
    entries.set(id, { spec, live: overtaken ? before.live : liveOf(object) });
    if (admitted) {
      put(id, spec, admitted);
      onSpecs(object.kind);
    }
    if (!overtaken) onLive(id);
  }

  function remove(source: string, object: Pick<Resource, 'kind' | 'metadata'>): void {
    const id = objectId(object);
    if (!entriesOf(source).delete(id)) return;
    lists[object.kind].delete(id);
    malformed.delete(id);
    onSpecs(object.kind);
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
    ofKind<K extends Kind>(kind: K) {
      const list = lists[kind].items();
      return isOfKind(list, kind) ? list : [];
    },
    malformed: () => malformed.items(),
    count: (kind) => lists[kind].items().length,
  };
}

/** Nothing else is put into a kind's list. */
function isOfKind<K extends Kind>(list: readonly Resource[], kind: K): list is readonly Extract<Resource, { kind: K }>[] {
  return list[0] === undefined || list[0].kind === kind;
}

/** A list that was given out stays as it is; the next one differs from it in few places. */
interface ObjectList<T> {
  set(id: string, object: T): void;
  delete(id: string): void;
  items(): readonly T[];
}

function openList<T>(): ObjectList<T> {
  const places = new Map<string, number>();
  const ids: string[] = [];
  let items: T[] = [];
  let shown = false;

  function own(): void {
    if (shown) items = items.slice();
    shown = false;
  }

  return {
    set(id, object) {
      own();
      const place = places.get(id) ?? items.length;
      places.set(id, place);
      ids[place] = id;
      items[place] = object;
    },
    delete(id) {
      const place = places.get(id);
      if (place === undefined) return;
      own();
      places.delete(id);
      const [lastId, last] = [ids.pop(), items.pop()];
      if (lastId === undefined || last === undefined || lastId === id) return;
      places.set(lastId, place); // the last one takes the place of the one that goes
      ids[place] = lastId;
      items[place] = last;
    },
    items() {
      shown = true;
      return items;
    },
  };
}

function liveOf({ kind, metadata, status = {} }: Resource): LiveObject {
  const { namespace, name, uid = '', resourceVersion = '' } = metadata;
  return { kind, namespace, name, uid, resourceVersion, status };
}
