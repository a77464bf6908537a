/**
 * [P] The acknowledgements of the fleet: for each object, how many connected proxies have its current version, which
 * reject it, and how long convergence took. They are computed from the open streams, so a disconnected proxy does not
 * count. A proxy counts, and is named, once it has acknowledged a complete configuration.
 */
import type { AcknowledgementDigest, ObjectDigest } from '#snapshot/fleet.gen.ts';
import { RESOURCE_TYPES } from '#snapshot/resources.ts';
import type { ProxyProgress } from '../status/programming.ts';
import type { ResourceCache, ResourceChanges } from './resource-cache.ts';
import type { DiscoverySession, ResponseAnswer } from './session.ts';

interface Replica {
  connected: number;
  /** Fewer than are connected if the replica is of a version that does not name them. */
  names: readonly string[];
  readonly objects: Map<string, ObjectDigest>;
}

interface Publication {
  readonly atMs: number;
  lastAnswerMs: number;
  convergedMs: number | undefined;
}

interface Counted {
  waiting: number;
  readonly rejected: { proxy: string; message: string }[];
}

const KINDS = new Map(RESOURCE_TYPES.map(({ kind, typeUrl }) => [typeUrl, kind]));
const TYPES = new Map<string, string>(RESOURCE_TYPES.map(({ kind, typeUrl }) => [kind, typeUrl]));

/** "Kind namespace/name"; undefined if it is not an object of the gateway. */
export function publishedId(typeUrl: string, name: string): string | undefined {
  const kind = KINDS.get(typeUrl);
  return kind && `${kind} ${name}`;
}

export class Acknowledgements {
  readonly #cache: ResourceCache;
  /** The latest stream of each proxy that has a complete configuration. */
  readonly #proxies = new Map<string, DiscoverySession>();
  readonly #replicas = new Map<string, Replica>();
  readonly #publications = new Map<string, Publication>();
  #touched = new Set<string>();
  /** The names of this replica's proxies; undefined after a change, as is #allNames. */
  #names: readonly string[] | undefined;
  #allNames: ReadonlySet<string> | undefined;
  #namesChanged = false;

  constructor(cache: ResourceCache) {
    this.#cache = cache;
  }

  get connected(): number {
    return this.#proxies.size;
  }

  get remote(): number {
    let connected = 0;
    for (const replica of this.#replicas.values()) connected += replica.connected;
    return connected;
  }

  /** The names of this replica's connected proxies: another array after each change. */
  get names(): readonly string[] {
    return (this.#names ??= [...this.#proxies.keys()]);
  }

  /** The names of all replicas' connected proxies; undefined if a replica does not name its own. */
  get allNames(): ReadonlySet<string> | undefined {
    if (this.#allNames) return this.#allNames;
    const replicas = [...this.#replicas.values()];
    if (replicas.some(({ names, connected }) => names.length < connected)) return undefined;
    return (this.#allNames = new Set([...this.names, ...replicas.flatMap(({ names }) => names)]));
  }

  published(changes: readonly ResourceChanges[], nowMs: number): void {
    for (const { typeUrl, names } of changes) {
      for (const name of names) {
        const id = publishedId(typeUrl, name);
        if (id === undefined) continue;
        this.#touched.add(id);
        if (this.#cache.get(typeUrl, name))
          this.#publications.set(id, { atMs: nowMs, lastAnswerMs: nowMs, convergedMs: undefined });
        else this.#publications.delete(id);
      }
    }
  }

  /** Records that a proxy's stream has a complete configuration. An older stream of the same proxy no longer counts. */
  joined(proxy: string, session: DiscoverySession, nowMs: number): void {
    if (this.#proxies.get(proxy) === session) return;
    this.left(proxy, this.#proxies.get(proxy));
    this.#proxies.set(proxy, session);
    this.#rename();
    this.#touchUnsettled(session);
    if (this.connected + this.remote > 1) return;
    // this acknowledges what was published while no proxy was connected
    for (const id of this.#publications.keys()) this.#answered(id, nowMs);
  }

  left(proxy: string, session: DiscoverySession | undefined): void {
    if (session === undefined || this.#proxies.get(proxy) !== session) return;
    this.#proxies.delete(proxy);
    this.#rename();
    this.#touchUnsettled(session);
    if (this.connected + this.remote === 0) this.#touchAll();
  }

  settled(proxy: string, session: DiscoverySession, { typeUrl, sent }: ResponseAnswer, nowMs: number): void {
    if (this.#proxies.get(proxy) !== session) return;
    for (const name of sent.versions.keys()) {
      const id = publishedId(typeUrl, name);
      if (id !== undefined) this.#answered(id, nowMs);
    }
  }

  /** Records what another replica reports about its proxies. */
  heard(digest: AcknowledgementDigest, nowMs: number): void {
    const { replica: name, connected, objects, proxies } = digest;
    const replica = this.#replicas.get(name) ?? { connected: 0, names: [], objects: new Map<string, ObjectDigest>() };
    this.#replicas.set(name, replica);
    const before = this.connected + this.remote;
    const begins = replica.connected === 0 && connected > 0;
    this.#heardNames(replica, proxies, connected);
    replica.connected = connected;
    for (const object of objects) {
      if (object.version === '') replica.objects.delete(object.id);
      else replica.objects.set(object.id, object);
      this.#answered(object.id, nowMs);
    }
    if (begins) this.#touchReplica(replica);
    if ((before === 0) !== (this.connected + this.remote === 0)) this.#touchAll();
  }

  #heardNames(replica: Replica, names: readonly string[], connected: number): void {
    if (replica.connected !== connected || names.length > 0) this.#renameAll();
    if (names.length > 0 || connected === 0) replica.names = names;
  }

  /** Drops a replica that is gone or that will report everything again. */
  forget(name: string): void {
    const replica = this.#replicas.get(name);
    if (!replica) return;
    this.#replicas.delete(name);
    this.#renameAll();
    this.#touchReplica(replica);
    if (this.connected + this.remote === 0) this.#touchAll();
  }

  progress(id: string): ProxyProgress | undefined {
    const resource = this.#resource(id);
    if (!resource) return undefined;
    const { waiting, rejected } = this.#count(id);
    let acknowledged = this.connected - waiting - rejected.length;
    for (const { connected, objects } of this.#replicas.values()) {
      const object = objects.get(id);
      if (object?.version !== resource.version) continue;
      acknowledged += Math.max(0, connected - object.waiting - object.rejected.length);
      rejected.push(...object.rejected);
    }
    const connected = this.connected + this.remote;
    const publication = this.#publications.get(id);
    if (publication && publication.convergedMs === undefined && connected > 0 && acknowledged === connected)
      publication.convergedMs = publication.lastAnswerMs - publication.atMs;
    return { version: resource.version, connected, acknowledged, rejected, convergedMs: publication?.convergedMs };
  }

  /** Objects whose progress has changed since the last call. */
  takeTouched(): ReadonlySet<string> {
    const touched = this.#touched;
    if (touched.size > 0) this.#touched = new Set();
    return touched;
  }

  /** True if allNames may have changed since the last call. */
  takeNamesChanged(): boolean {
    const changed = this.#namesChanged;
    this.#namesChanged = false;
    return changed;
  }

  /** What the leader is sent about an object. */
  digest(id: string): ObjectDigest {
    const version = this.#resource(id)?.version ?? '';
    return { id, version, ...(version === '' ? { waiting: 0, rejected: [] } : this.#count(id)) };
  }

  /** All objects that are published. */
  ids(): Iterable<string> {
    return this.#publications.keys();
  }

  #rename(): void {
    this.#names = undefined;
    this.#renameAll();
  }

  #renameAll(): void {
    this.#allNames = undefined;
    this.#namesChanged = true;
  }

  #answered(id: string, nowMs: number): void {
    this.#touched.add(id);
    const publication = this.#publications.get(id);
    if (publication?.convergedMs === undefined && publication) publication.lastAnswerMs = nowMs;
  }

  #count(id: string): Counted {
    const { typeUrl, name } = parseId(id);
    const counted: Counted = { waiting: 0, rejected: [] };
    for (const [proxy, session] of this.#proxies) {
      const subscription = session.subscription(typeUrl);
      if (!subscription || subscription.waiting(name)) {
        counted.waiting += 1;
        continue;
      }
      const message = subscription.refusal(name);
      if (message !== undefined) counted.rejected.push({ proxy, message });
    }
    return counted;
  }

  #resource(id: string): { readonly version: string } | undefined {
    const { typeUrl, name } = parseId(id);
    return this.#cache.get(typeUrl, name);
  }

  #touchUnsettled(session: DiscoverySession): void {
    for (const subscription of session.subscriptions()) {
      for (const name of subscription.unacknowledged()) {
        const id = publishedId(subscription.typeUrl, name);
        if (id !== undefined) this.#touched.add(id);
      }
    }
  }

  /** Marks the objects that some of the replica's proxies do not have. */
  #touchReplica({ objects }: Replica): void {
    for (const [id, { waiting, rejected, version }] of objects)
      if (waiting > 0 || rejected.length > 0 || version !== this.#resource(id)?.version) this.#touched.add(id);
  }

  #touchAll(): void {
    for (const id of this.#publications.keys()) this.#touched.add(id);
  }
}

function parseId(id: string): { typeUrl: string; name: string } {
  const space = id.indexOf(' ');
  return { typeUrl: TYPES.get(id.slice(0, space)) ?? '', name: id.slice(space + 1) };
}
