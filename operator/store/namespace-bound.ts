/**
 * [P] Bounds the memory that the objects of one namespace may take, so that whoever may create objects in it cannot
 * exhaust the operator's. The oldest objects that fit together are within the bound; the first that does not fit and
 * all that are younger are beyond it. Every replica decides alike, because ages and sizes are the objects' own.
 */
import type { Kind, ObjectMeta, Resource } from '#crds/types.gen.ts';
import { objectId } from '#objects/resources.ts';

export interface BoundOptions {
  /** The most bytes of one namespace, as sizeOf counts them. */
  readonly maxBytes: number;
  /** The gateway's own namespace, which is the platform team's. */
  readonly exemptNamespace: string;
}

export interface BoundObject {
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
  readonly bytes: number;
}

/** What follows from a change of the bounds. */
export interface BoundChanges {
  /** Objects, held until now, that are beyond the bound. */
  readonly cut: readonly string[];
  /** Objects that are within the bound but not held, and have to be read. */
  readonly wanted: readonly string[];
}

export interface NamespaceBound {
  /**
   * Records an object, and returns whether to hold it as a whole. One that was beyond the bound stays so until it is
   * read because it was wanted.
   */
  put(object: BoundObject, isWanted?: boolean): boolean;
  delete(id: string, namespace: string): void;
  /** True if so much is held beyond the bound that it must be released at once. */
  isUrgent(namespace: string): boolean;
  /** Decides in the namespaces that have changed, or in this one. */
  settle(only?: string): BoundChanges;
  /** The number of objects beyond the bound. */
  readonly beyond: number;
}

interface Tracked {
  readonly id: string;
  /** creationTimestamp, which sorts as text. */
  readonly created: string;
  readonly bytes: number;
  isHeld: boolean;
}

interface Namespace {
  readonly objects: Map<string, Tracked>;
  bytes: number;
  heldBytes: number;
  /** The oldest object that did not fit when it was last decided. */
  firstBeyond: Tracked | undefined;
}

/** What an object takes besides its metadata and spec: its status, and its places in indexes. */
const OVERHEAD_BYTES = 1024;
/** Sorting for each object that exceeds the bound would take too long. */
const SLACK = 1.25;
const NOTHING: BoundChanges = { cut: [], wanted: [] };

/** The size that counts for an object. */
export function sizeOf({ metadata, spec }: Resource): number {
  return JSON.stringify([metadata, spec]).length + OVERHEAD_BYTES;
}

/** Starts without any object. */
export function createNamespaceBound({ maxBytes, exemptNamespace }: BoundOptions): NamespaceBound {
  const namespaces = new Map<string, Namespace>();
  /** Namespaces whose objects may have to be cut or read. */
  const changed = new Set<string>();
  let beyond = 0;

  function drop(namespace: Namespace, id: string): void {
    const tracked = namespace.objects.get(id);
    if (!tracked) return;
    namespace.objects.delete(id);
    namespace.bytes -= tracked.bytes;
    if (tracked.isHeld) namespace.heldBytes -= tracked.bytes;
    else beyond -= 1;
  }

  /** A namespace needs a decision if it has too much, or lacks what it could have. */
  function note(name: string, { bytes, heldBytes }: Namespace): void {
    if (bytes > maxBytes || heldBytes < bytes) changed.add(name);
  }

  function settleOne(namespace: Namespace): BoundChanges {
    const cut: string[] = [];
    const wanted: string[] = [];
    const oldestFirst = [...namespace.objects.values()].sort(compareAge);
    let bytes = 0;
    namespace.firstBeyond = undefined;
    for (const tracked of oldestFirst) {
      bytes += tracked.bytes;
      const fits = bytes <= maxBytes;
      if (!fits) namespace.firstBeyond ??= tracked;
      if (fits && !tracked.isHeld) wanted.push(tracked.id);
      if (fits || !tracked.isHeld) continue;
      tracked.isHeld = false;
      namespace.heldBytes -= tracked.bytes;
      beyond += 1;
      cut.push(tracked.id);
    }
    return { cut, wanted };
  }

  return {
    put({ kind, metadata, bytes }, isWanted = false) {
      const { namespace: name, creationTimestamp: created = '' } = metadata;
      if (name === exemptNamespace) return true;
      const id = objectId(kind, metadata);
      const namespace = namespaces.get(name) ?? emptyNamespace();
      namespaces.set(name, namespace);
      const known = namespace.objects.get(id);
      const fits = !namespace.firstBeyond || compareAge({ id, created }, namespace.firstBeyond) < 0;
      const isHeld = isWanted || (known?.isHeld ?? fits);
      drop(namespace, id);
      namespace.objects.set(id, { id, created, bytes, isHeld });
      namespace.bytes += bytes;
      if (isHeld) namespace.heldBytes += bytes;
      else beyond += 1;
      note(name, namespace);
      return isHeld;
    },
    delete(id, name) {
      const namespace = namespaces.get(name);
      if (!namespace) return;
      drop(namespace, id);
      if (namespace.objects.size === 0) namespaces.delete(name);
      note(name, namespace);
    },
    isUrgent: (name) => (namespaces.get(name)?.heldBytes ?? 0) > maxBytes * SLACK,
    settle(only) {
      if (changed.size === 0) return NOTHING;
      const names = only === undefined ? [...changed] : [only];
      const all = names.map((name) => {
        // what is wanted is told when all are decided
        if (only === undefined) changed.delete(name);
        const namespace = namespaces.get(name);
        return namespace ? settleOne(namespace) : NOTHING;
      });
      return { cut: all.flatMap(({ cut }) => cut), wanted: all.flatMap(({ wanted }) => wanted) };
    },
    get beyond() {
      return beyond;
    },
  };
}

function emptyNamespace(): Namespace {
  return { objects: new Map(), bytes: 0, heldBytes: 0, firstBeyond: undefined };
}

/** The older first; of the same second by kind and name. */
function compareAge(a: Pick<Tracked, 'id' | 'created'>, b: Pick<Tracked, 'id' | 'created'>): number {
  return compare(a.created, b.created) || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
