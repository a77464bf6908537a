/**
 * The current objects of all kinds, fed by any number of watches. Each object has two views: the one that
 * translate reads, which stays identical until something relevant changes, and the live status, which the writer
 * compares with the desired one.
 */
import type { ApiKey, Kind, ObjectMeta, Resource } from '#crds/types.gen.ts';
import { sizeOf } from './namespace-bound.ts';
import type { NamespaceBound } from './namespace-bound.ts';
import type { LiveObject } from '#objects/live-object.ts';
import { differsForTranslate, isTerminating, isNewer } from '#objects/relevance.ts';
import { allOf, freezeDeep, namespaceOfId, objectId } from '#objects/resources.ts';
import type { ByNamespace, MalformedObject } from '#objects/resources.ts';

export interface LiveObjects {
  /** Removes the objects of one watch that its complete list does not name. */
  retain(source: string, listed: ReadonlySet<string>): void;
  apply(source: string, object: Resource): void;
  /** Applies an object that was beyond its namespace's bound, unless it has been deleted meanwhile. */
  readAgain(source: string, object: Resource): void;
  /** Releases what is beyond a namespace's bound. Returns the objects that are within it and have to be read again. */
  settle(): readonly BeyondObject[];
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
  /** Default: Invalid. */
  readonly reason?: 'TooManyObjects' | 'Deleting';
  /** The field of an ApiKey or Account, if set. */
  readonly gatewayNamespace?: string;
}

/** An object that is known by name only. */
export interface BeyondObject {
  readonly id: string;
  readonly source: string;
  readonly reference: ObjectReference;
}

interface LiveObjectsOptions {
  /** Default: a namespace may have any number of objects. */
  readonly bound?: NamespaceBound;
  /** Called for each ApiKey that begins or ceases to count, with its version that counts. */
  readonly onApiKey?: (id: string, apiKey: ApiKey | undefined) => void;
  /** Default: objects are used as the server admitted them. */
  readonly admit?: AdmitObject;
  /** Called when something that translate reads has changed. */
  readonly onSpecs: (kind: Kind) => void;
  /** Called when the live object has changed or was deleted. */
  readonly onLive: (id: string) => void;
  /** Called when a watch or a write may have changed the result of `current`. */
  readonly onChange?: (id: string) => void;
}

const TOO_MANY_OBJECTS =
  'The objects of this namespace exceed the memory limit for one namespace. Older objects take precedence, so ' +
  'this object does not apply. Delete objects, or ask the platform team for a second namespace or a higher ' +
  'limit (--namespace-memory)';
const DELETING = 'The object is being deleted and no longer applies; it waits for its finalizers';
/** The statuses of a namespace's first objects beyond its bound say so; of the others, only the names are kept. */
const MAX_TOLD = 1000;

interface Entry {
  readonly spec: Resource;
  readonly live: LiveObject;
  /** The metadata of the live version. */
  readonly metadata: ObjectMeta;
  readonly counts: boolean;
}

export function openLiveObjects(options: LiveObjectsOptions): LiveObjects {
  const { onSpecs, onLive, onChange = () => undefined, onApiKey, bound } = options;
  const { admit = (object) => ({ object, faults: [] }) } = options;
  const sources = new Map<string, Map<string, Entry>>();
  const counted = openCounted(onApiKey);
  const beyond = openBeyond();

  function entriesOf(source: string): Map<string, Entry> {
    const known = sources.get(source) ?? new Map<string, Entry>();
    sources.set(source, known);
    return known;
  }

  function apply(source: string, object: Resource, isWanted = false): void {
    if (bound && !bound.put({ ...object, bytes: sizeOf(object) }, isWanted)) return leaveOut(source, object);
    const entries = entriesOf(source);
    const id = objectId(object.kind, object.metadata);
    const { namespace } = object.metadata;
    const before = entries.get(id);
    const matters = beyond.delete(id, namespace) || !before || differsForTranslate(before.spec, object);
    const overtaken = before && !isNewer(object.metadata.resourceVersion, before.live.resourceVersion);
    const view = matters ? viewOf(admit(object)) : { ...before, malformed: undefined };
    const { live, metadata } = overtaken ? before : { live: liveOf(object), metadata: object.metadata };
    entries.set(id, { spec: view.spec, counts: view.counts, live, metadata });
    if (matters) counted.put(view);
    notify(object, { matters, isLive: !overtaken });
    releaseUrgent(namespace);
  }

  function notify(
    object: Resource,
    { matters, isLive }: { readonly matters: boolean; readonly isLive: boolean },
  ): void {
    const id = objectId(object.kind, object.metadata);
    onChange(id);
    if (matters) onSpecs(object.kind);
    if (isLive) onLive(id);
  }

  function releaseUrgent(namespace: string): void {
    if (bound?.isUrgent(namespace)) bound.settle(namespace).cut.forEach(release);
  }

  /** Keeps of an object beyond the bound its name, and of the first ones what is needed to tell them so. */
  function leaveOut(source: string, object: Resource, live = liveOf(object)): void {
    const entries = entriesOf(source);
    const id = objectId(object.kind, object.metadata);
    const before = entries.get(id);
    const isKnown = beyond.has(id, object.metadata.namespace);
    const isTold =
      beyond.add({ id, source, reference: referenceOf(object) }, object.metadata.namespace) <= MAX_TOLD ||
      (isKnown && before);
    const matters = !isKnown || (before !== undefined && differsForTranslate(before.spec, object));
    if (isTold) {
      const view = viewBeyond(object);
      entries.set(id, { spec: view.spec, counts: false, live, metadata: view.spec.metadata });
      if (matters) counted.put(view);
    } else if (entries.delete(id)) {
      counted.delete(object);
    }
    notify(object, { matters, isLive: true });
  }

  function release(id: string): void {
    const found = find(id);
    if (found) leaveOut(found.source, found.entry.spec, found.entry.live);
  }

  function remove(source: string, object: ObjectReference): void {
    const id = objectId(object.kind, object.metadata);
    const { namespace } = object.metadata;
    bound?.delete(id, namespace);
    beyond.delete(id, namespace);
    if (!entriesOf(source).delete(id)) return;
    counted.delete(object);
    onChange(id);
    onSpecs(object.kind);
    onLive(id);
  }

  function find(id: string): Found | undefined {
    for (const [source, entries] of sources) {
      const entry = entries.get(id);
      if (entry) return { source, entries, entry };
    }
    return undefined;
  }

  return {
    apply: (source, object) => apply(source, object),
    remove,
    retain(source, listed) {
      for (const [id, { spec }] of entriesOf(source)) if (!listed.has(id)) remove(source, spec);
      for (const object of beyond.of(source)) if (!listed.has(object.id)) remove(source, object.reference);
    },
    readAgain(source, object) {
      if (beyond.has(objectId(object.kind, object.metadata), object.metadata.namespace)) apply(source, object, true);
    },
    settle() {
      const { cut, wanted } = bound?.settle() ?? { cut: [], wanted: [] };
      cut.forEach(release);
      return wanted.flatMap((id) => beyond.find(id) ?? []);
    },
    written(object) {
      const id = objectId(object.kind, object.metadata);
      const { entries, entry } = find(id) ?? {};
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
      const entry = find(id)?.entry;
      return entry?.live;
    },
    current(id) {
      const entry = find(id)?.entry;
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

interface Found {
  readonly source: string;
  readonly entries: Map<string, Entry>;
  readonly entry: Entry;
}

/** The objects beyond their namespaces' bounds. */
interface Beyond {
  /** Returns how many the namespace has now. */
  add(object: BeyondObject, namespace: string): number;
  delete(id: string, namespace: string): boolean;
  has(id: string, namespace: string): boolean;
  find(id: string): BeyondObject | undefined;
  of(source: string): BeyondObject[];
}

function openBeyond(): Beyond {
  const namespaces = new Map<string, Map<string, BeyondObject>>();
  return {
    add(object, namespace) {
      const objects = namespaces.get(namespace) ?? new Map<string, BeyondObject>();
      namespaces.set(namespace, objects.set(object.id, object));
      return objects.size;
    },
    delete(id, namespace) {
      const objects = namespaces.get(namespace);
      if (!objects?.delete(id)) return false;
      if (objects.size === 0) namespaces.delete(namespace);
      return true;
    },
    has: (id, namespace) => namespaces.get(namespace)?.has(id) ?? false,
    find: (id) => namespaces.get(namespaceOfId(id))?.get(id),
    of: (source) =>
      [...namespaces.values()].flatMap((objects) => [...objects.values()].filter((each) => each.source === source)),
  };
}

/** The rest of an object beyond the bound: its identity, and its gateway. */
function viewBeyond(object: Resource): View {
  const { apiVersion, kind, metadata, spec } = object;
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const identity = { name, namespace, uid, resourceVersion, generation, creationTimestamp };
  // its fault keeps it from all who read specs
  const stub: unknown = { apiVersion, kind, metadata: identity, spec: {} };
  const gatewayNamespace = 'gatewayNamespace' in spec ? spec.gatewayNamespace : undefined;
  return viewOf({
    object: isSameKind(stub, object) ? stub : object,
    faults: [TOO_MANY_OBJECTS],
    reason: 'TooManyObjects',
    ...(gatewayNamespace !== undefined && { gatewayNamespace }),
  });
}

/** An object that waits for its finalizers: it is out of force, and its status says so. */
function viewDeleting({ object, gatewayNamespace }: Admitted): Admitted {
  const { spec } = object;
  const gateway = 'gatewayNamespace' in spec ? spec.gatewayNamespace : gatewayNamespace;
  return {
    object,
    faults: [DELETING],
    reason: 'Deleting',
    ...(gateway !== undefined && { gatewayNamespace: gateway }),
  };
}

/** An admitted object as translate and people see it. */
interface View extends Pick<Entry, 'spec' | 'counts'> {
  readonly malformed: MalformedObject | undefined;
}

function viewOf(admitted: Admitted): View {
  const { object, faults, reason, gatewayNamespace } = isTerminating(admitted.object)
    ? viewDeleting(admitted)
    : admitted;
  const spec = freezeDeep(object);
  const isFaulty = faults.length > 0;
  return {
    spec,
    counts: !isFaulty,
    malformed: isFaulty
      ? {
          kind: spec.kind,
          metadata: spec.metadata,
          faults,
          ...(reason && { reason }),
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

export type ObjectReference = Pick<Resource, 'kind' | 'metadata'>;

function referenceOf({ kind, metadata: { namespace, name } }: Resource): ObjectReference {
  return { kind, metadata: { namespace, name } };
}

function openCounted(onApiKey: LiveObjectsOptions['onApiKey']): Counted {
  const kinds = new Map<Kind, NamespaceIndex<Resource>>();
  const ofKind = (kind: Kind): NamespaceIndex<Resource> => {
    const index = kinds.get(kind) ?? openIndex<Resource>();
    kinds.set(kind, index);
    return index;
  };
  const malformed = openIndex<MalformedObject>();
  return {
    put({ spec, counts, malformed: faulty }) {
      if (counts) ofKind(spec.kind).set(spec, spec);
      else ofKind(spec.kind).delete(spec);
      if (faulty) malformed.set(spec, faulty);
      else malformed.delete(spec);
      if (spec.kind === 'ApiKey') onApiKey?.(objectId(spec.kind, spec.metadata), counts ? spec : undefined);
    },
    delete(object) {
      if (object.kind === 'ApiKey') onApiKey?.(objectId(object.kind, object.metadata), undefined);
      ofKind(object.kind).delete(object);
      malformed.delete(object);
    },
    ofKind<K extends Kind>(kind: K) {
      const list = ofKind(kind).all();
      return isOfKind(list, kind) ? list : [];
    },
    byNamespace<K extends Kind>(kind: K) {
      const lists = ofKind(kind).lists();
      return areOfKind(lists, kind) ? lists : new Map();
    },
    malformed: () => malformed.lists(),
  };
}

/** True if the objects of a list, which all have one kind, have this kind. */
export function isOfKind<K extends Kind>(
  list: readonly Resource[],
  kind: K,
): list is readonly Extract<Resource, { kind: K }>[] {
  return list[0] === undefined || list[0].kind === kind;
}

/** True if the objects of lists, which all have one kind, have this kind. */
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
      namespaces.set(namespace, entries.set(objectId(object.kind, object.metadata), entry));
      stale.add(namespace);
    },
    delete(object) {
      const { namespace } = object.metadata;
      if (namespaces.get(namespace)?.delete(objectId(object.kind, object.metadata))) stale.add(namespace);
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
