/**
 * What the API server has of the five kinds at this moment, from any number of watches. Two views of each object are
 * kept apart: the one that translate reads, which stays the same as long as nothing changes that matters to it, and the
 * live status, which is compared with what it should be.
 */
import type { Kind, ObjectMeta, Resource } from '#crds/types.gen.ts';
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
  /**
   * An object that counts, as people see it: with its latest status, labels and annotations. Its generation is that of
   * the spec beside it, also where a later one is known already: whoever changes it must have seen what they change.
   */
  current(id: string): Resource | undefined;
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

interface LiveObjectsOptions {
  /** Default: what the server has admitted is taken as it is. */
  readonly admit?: AdmitObject;
  /** Something that translate reads has changed. */
  readonly onSpecs: (kind: Kind) => void;
  /** Something of the live object has changed, or it is gone. */
  readonly onLive: (id: string) => void;
  /** What `current` says of it may be another: told of each change, also of those that only a write told. */
  readonly onChange?: (id: string) => void;
}

interface Entry {
  readonly spec: Resource;
  readonly live: LiveObject;
  /** As of the live version. */
  readonly metadata: ObjectMeta;
  readonly counts: boolean;
}

export function openLiveObjects({
  onSpecs, onLive, onChange = () => undefined, admit = (object) => ({ object, faults: [] }),
}: LiveObjectsOptions): LiveObjects {
  const sources = new Map<string, Map<string, Entry>>();
  const counted = openCounted();

  function entriesOf(source: string): Map<string, Entry> {
    const known = sources.get(source) ?? new Map<string, Entry>();
    sources.set(source, known);
    return known;
  }

  function apply(source: string, object: Resource): void {
    const entries = entriesOf(source);
    const id = objectId(object);
    const before = entries.get(id);
    const matters = !before || differsForTranslate(before.spec, object);
    const overtaken = before && !isNewer(object.metadata.resourceVersion, before.live.resourceVersion);
    const view = matters ? viewOf(admit(object)) : { ...before, malformed: undefined };
    entries.set(id, { spec: view.spec, counts: view.counts, ...overtaken
      ? { live: before.live, metadata: before.metadata }
      : { live: liveOf(object), metadata: object.metadata } });
    onChange(id);
    if (matters) {
      counted.put(id, view);
      onSpecs(object.kind);
    }
    if (!overtaken) onLive(id);
  }

  function remove(source: string, object: Pick<Resource, 'kind' | 'metadata'>): void {
    const id = objectId(object);
    if (!entriesOf(source).delete(id)) return;
    counted.delete(id, object.kind);
    onChange(id);
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
      if (!entries || !entry || entry.live.uid !== object.metadata.uid ||
        !isNewer(object.metadata.resourceVersion, entry.live.resourceVersion)) return;
      entries.set(id, { ...entry, live: liveOf(object), metadata: object.metadata });
      onChange(id);
    },
    live(id) {
      const entry = find(id)?.[1];
      return entry && !isLeaving(entry.spec) ? entry.live : undefined;
    },
    current(id) {
      const entry = find(id)?.[1];
      return entry?.counts ? currentOf(entry) : undefined;
    },
    ofKind: (kind) => counted.ofKind(kind),
    malformed: () => counted.malformed(),
    count: (kind) => counted.ofKind(kind).length,
  };
}

/** What an admitted object is to translate and to people. */
interface View extends Pick<Entry, 'spec' | 'counts'> {
  readonly malformed: MalformedObject | undefined;
}

function viewOf({ object, faults, gatewayNamespace }: Admitted): View {
  const spec = freezeDeep(object);
  const stays = !isLeaving(spec);
  const isFaulty = faults.length > 0;
  return {
    spec, counts: stays && !isFaulty,
    malformed: stays && isFaulty
      ? { kind: spec.kind, metadata: spec.metadata, faults, ...gatewayNamespace !== undefined && { gatewayNamespace } }
      : undefined,
  };
}

/** The lists that are given out. */
interface Counted extends Pick<LiveObjects, 'ofKind' | 'malformed'> {
  put(id: string, view: View): void;
  delete(id: string, kind: Kind): void;
}

function openCounted(): Counted {
  const lists: { readonly [K in Kind]: ObjectList<Resource> } = {
    Account: openList<Resource>(), ApiKey: openList<Resource>(), Group: openList<Resource>(),
    ModelRoute: openList<Resource>(), PriceCatalog: openList<Resource>(),
  };
  const malformed = openList<MalformedObject>();
  return {
    put(id, view) {
      if (view.counts) lists[view.spec.kind].set(id, view.spec);
      else lists[view.spec.kind].delete(id);
      if (view.malformed) malformed.set(id, view.malformed);
      else malformed.delete(id);
    },
    delete(id, kind) {
      lists[kind].delete(id);
      malformed.delete(id);
    },
    ofKind<K extends Kind>(kind: K) {
      const list = lists[kind].items();
      return isOfKind(list, kind) ? list : [];
    },
    malformed: () => malformed.items(),
  };
}

/** Of a list that nothing but one kind's objects are put into. */
export function isOfKind<K extends Kind>(
  list: readonly Resource[], kind: K,
): list is readonly Extract<Resource, { kind: K }>[] {
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

function currentOf({ spec, live, metadata }: Entry): Resource {
  const { generation } = spec.metadata;
  const current: unknown = {
    ...spec, metadata: { ...metadata, ...generation !== undefined && { generation } }, status: live.status,
  };
  return isSameKind(current, spec) ? current : spec;
}

/** The same object with a status that the server has of it. */
function isSameKind(_current: unknown, _spec: Resource): _current is Resource {
  return true;
}

function liveOf({ kind, metadata, status = {} }: Resource): LiveObject {
  const { namespace, name, uid = '', resourceVersion = '' } = metadata;
  return { kind, namespace, name, uid, resourceVersion, status };
}
