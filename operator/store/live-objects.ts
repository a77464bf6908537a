/**
 * The current objects of the five kinds, fed by any number of watches. Each object has two views: the one that
 * translate reads, which stays identical until something relevant changes, and the live status, which the writer
 * compares with the desired one.
 */
import type { Kind, ObjectMeta, Resource } from '#crds/types.gen.ts';
import { differsForTranslate, isTerminating, isNewer } from './relevance.ts';
import { allOf, freezeDeep, objectId } from './resources.ts';
import type { ByNamespace, MalformedObject } from './resources.ts';

/** An object's live status, and the version it belongs to. */
export interface LiveObject {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly status: NonNullable<Resource['status']>;
}

export interface LiveObjects {
  /** Applies a complete list of one watch. */
  replace(source: string, objects: readonly Resource[]): void;
  apply(source: string, object: Resource): void;
  remove(source: string, object: Pick<Resource, 'kind' | 'metadata'>): void;
  /** Applies the response to a status write before the watch reports it. */
  written(object: Resource): void;
  /** By "Kind namespace/name". */
  live(id: string): LiveObject | undefined;
  /**
   * An object as people see it, with its latest status, labels and annotations. Its generation belongs to the spec
   * shown, even if a later one is known, because a change must be based on the spec that was seen.
   */
  current(id: string): Resource | undefined;
  /** The valid objects of a kind; the same list until one of them changes. */
  ofKind<K extends Kind>(kind: K): readonly Extract<Resource, { kind: K }>[];
  /** The valid objects of a kind by namespace; a namespace has the same list until one of its objects changes. */
  byNamespace<K extends Kind>(kind: K): ByNamespace<Extract<Resource, { kind: K }>>;
  /** Objects with faults. */
  malformed(): ByNamespace<MalformedObject>;
  count(kind: Kind): number;
}

/** Validates an object and fills in its defaults. */
export type AdmitObject = (object: Resource) => Admitted;

export interface Admitted {
  readonly object: Resource;
  readonly faults: readonly string[];
  /** The field of an ApiKey or Account, if set. */
  readonly gatewayNamespace?: string;
}

interface LiveObjectsOptions {
  /** Default: objects are used as the server admitted them. */
  readonly admit?: AdmitObject;
  /** Called when something that translate reads has changed. */
  readonly onSpecs: (kind: Kind) => void;
  /** Called when the live object has changed or was deleted. */
  readonly onLive: (id: string) => void;
  /** Called when a watch or a write may have changed the result of `current`. */
  readonly onChange?: (id: string) => void;
}

interface Entry {
  readonly spec: Resource;
  readonly live: LiveObject;
  /** The metadata of the live version. */
  readonly metadata: ObjectMeta;
  readonly counts: boolean;
}

export function openLiveObjects({
  onSpecs,
  onLive,
  onChange = () => undefined,
  admit = (object) => ({ object, faults: [] }),
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
    entries.set(id, {
      spec: view.spec,
      counts: view.counts,
      ...(overtaken
        ? { live: before.live, metadata: before.metadata }
        : { live: liveOf(object), metadata: object.metadata }),
    });
    onChange(id);
    if (matters) {
      counted.put(view);
      onSpecs(object.kind);
    }
    if (!overtaken) onLive(id);
  }

  function remove(source: string, object: Pick<Resource, 'kind' | 'metadata'>): void {
    const id = objectId(object);
    if (!entriesOf(source).delete(id)) return;
    counted.delete(object);
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
      if (
        !entries ||
        !entry ||
        entry.live.uid !== object.metadata.uid ||
        !isNewer(object.metadata.resourceVersion, entry.live.resourceVersion)
      )
        return;
      entries.set(id, { ...entry, live: liveOf(object), metadata: object.metadata });
      onChange(id);
    },
    live(id) {
      const entry = find(id)?.[1];
      return entry && !isTerminating(entry.spec) ? entry.live : undefined;
    },
    current(id) {
      const entry = find(id)?.[1];
      return entry?.counts ? currentOf(entry) : undefined;
    },
    ofKind: (kind) => counted.ofKind(kind),
    byNamespace: (kind) => counted.byNamespace(kind),
    malformed: () => counted.malformed(),
    count: (kind) =>
      counted
        .byNamespace(kind)
        .values()
        .reduce((sum, { length }) => sum + length, 0),
  };
}

/** An admitted object as translate and people see it. */
interface View extends Pick<Entry, 'spec' | 'counts'> {
  readonly malformed: MalformedObject | undefined;
}

function viewOf({ object, faults, gatewayNamespace }: Admitted): View {
  const spec = freezeDeep(object);
  const stays = !isTerminating(spec);
  const isFaulty = faults.length > 0;
  return {
    spec,
    counts: stays && !isFaulty,
    malformed:
      stays && isFaulty
        ? {
            kind: spec.kind,
            metadata: spec.metadata,
            faults,
            ...(gatewayNamespace !== undefined && { gatewayNamespace }),
          }
        : undefined,
  };
}

/** Indexes of valid and of malformed objects. */
interface Counted extends Pick<LiveObjects, 'ofKind' | 'byNamespace' | 'malformed'> {
  put(view: View): void;
  delete(object: ObjectReference): void;
}

type ObjectReference = Pick<Resource, 'kind' | 'metadata'>;

function openCounted(): Counted {
  const kinds: { readonly [K in Kind]: NamespaceIndex<Resource> } = {
    Account: openIndex<Resource>(),
    ApiKey: openIndex<Resource>(),
    Group: openIndex<Resource>(),
    ModelRoute: openIndex<Resource>(),
    PriceCatalog: openIndex<Resource>(),
  };
  const malformed = openIndex<MalformedObject>();
  return {
    put({ spec, counts, malformed: faulty }) {
      if (counts) kinds[spec.kind].set(spec, spec);
      else kinds[spec.kind].delete(spec);
      if (faulty) malformed.set(spec, faulty);
      else malformed.delete(spec);
    },
    delete(object) {
      kinds[object.kind].delete(object);
      malformed.delete(object);
    },
    ofKind<K extends Kind>(kind: K) {
      const list = kinds[kind].all();
      return isOfKind(list, kind) ? list : [];
    },
    byNamespace<K extends Kind>(kind: K) {
      const lists = kinds[kind].lists();
      return areOfKind(lists, kind) ? lists : new Map();
    },
    malformed: () => malformed.lists(),
  };
}

/** True if a list, all of whose objects have one kind, has this kind. */
export function isOfKind<K extends Kind>(
  list: readonly Resource[],
  kind: K,
): list is readonly Extract<Resource, { kind: K }>[] {
  return list[0] === undefined || list[0].kind === kind;
}

/** True if lists, all of whose objects have one kind, have this kind. */
function areOfKind<K extends Kind>(
  lists: ByNamespace<Resource>,
  kind: K,
): lists is ByNamespace<Extract<Resource, { kind: K }>> {
  const [first = []] = lists.values();
  return isOfKind(first, kind);
}

/** An index of objects by namespace, like that of client-go's informers. Lists that it has returned never change. */
interface NamespaceIndex<T> {
  set(object: ObjectReference, entry: T): void;
  delete(object: ObjectReference): void;
  lists(): ByNamespace<T>;
  /** The objects of all namespaces; the same list until one of them changes. */
  all(): readonly T[];
}

function openIndex<T>(): NamespaceIndex<T> {
  const namespaces = new Map<string, Map<string, T>>();
  let lists: ByNamespace<T> = new Map();
  let all: readonly T[] | undefined;
  /** Namespaces whose lists are built again. */
  const stale = new Set<string>();

  function current(): ByNamespace<T> {
    if (stale.size === 0) return lists;
    const next = new Map(lists);
    for (const namespace of stale) {
      const entries = namespaces.get(namespace);
      if (entries?.size) {
        next.set(namespace, Object.freeze([...entries.values()]));
      } else {
        next.delete(namespace);
        namespaces.delete(namespace);
      }
    }
    stale.clear();
    all = undefined;
    return (lists = next);
  }

  return {
    set(object, entry) {
      const { namespace } = object.metadata;
      const entries = namespaces.get(namespace) ?? new Map<string, T>();
      namespaces.set(namespace, entries.set(objectId(object), entry));
      stale.add(namespace);
    },
    delete(object) {
      const { namespace } = object.metadata;
      if (namespaces.get(namespace)?.delete(objectId(object))) stale.add(namespace);
    },
    lists: current,
    all() {
      const objects = current();
      return (all ??= Object.freeze(allOf(objects)));
    },
  };
}

function currentOf({ spec, live, metadata }: Entry): Resource {
  const { generation } = spec.metadata;
  const current: unknown = {
    ...spec,
    metadata: { ...metadata, ...(generation !== undefined && { generation }) },
    status: live.status,
  };
  return isSameKind(current, spec) ? current : spec;
}

/** The spread keeps the kind, which TypeScript cannot see. */
function isSameKind(_current: unknown, _spec: Resource): _current is Resource {
  return true;
}

function liveOf({ kind, metadata, status = {} }: Resource): LiveObject {
  const { namespace, name, uid = '', resourceVersion = '' } = metadata;
  return { kind, namespace, name, uid, resourceVersion, status };
}
