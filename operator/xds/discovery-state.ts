/**
 * The state of one replica's xDS server: the published resources, the open streams, and the acknowledgements.
 */
import type { Logger } from 'pino';
import type { DeltaDiscoveryRequest } from '#snapshot/discovery.gen.ts';
import type { AcknowledgementDigest, Refusal } from '#snapshot/fleet.gen.ts';
import { CHECKPOINT_TYPE, RESOURCE_TYPES, typeUrlOf } from '#snapshot/resources.ts';
import { OBSERVERS } from '#snapshot/services.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { ResourceCache } from './resource-cache.ts';
import type { ResourceChanges } from './resource-cache.ts';
import type { Peer, ClientStream, DiscoveryWriter } from './server.ts';
import { DiscoverySession } from './session.ts';
import type { ResponseAnswer, TypeOrder } from './session.ts';
import { createSnapshotChanges } from './snapshot-changes.ts';

export interface RawResource {
  readonly name: string;
  /** The encoded message. */
  readonly value: Uint8Array;
}

/** Figures for the metrics. */
export interface DiscoveryStats {
  readonly connectedProxies: number;
  /** Proxies of other replicas that report to this one. */
  readonly remoteProxies: number;
  readonly resources: number;
  readonly snapshotBytes: number;
  readonly pushesTotal: number;
  readonly rejectionsTotal: number;
}

/** Envoy's order of types, then the gateway's own types. */
const ENVOY = 'type.googleapis.com/envoy.';
const ORDER: TypeOrder = {
  parentsFirst: [
    `${ENVOY}extensions.transport_sockets.tls.v3.Secret`,
    `${ENVOY}config.cluster.v3.Cluster`,
    `${ENVOY}config.endpoint.v3.ClusterLoadAssignment`,
    `${ENVOY}config.listener.v3.Listener`,
    `${ENVOY}config.route.v3.RouteConfiguration`,
    ...RESOURCE_TYPES.map(({ typeUrl }) => typeUrl),
  ],
  revoking: [typeUrlOf('keys')],
  last: CHECKPOINT_TYPE,
};
/** The shortest interval between two reports of progress. */
const PROGRESS_MS = 10;
const MAX_EARLY = 100;

interface Connection {
  readonly session: DiscoverySession;
  flush(): void;
  /** Handles the requests that came before the first publish. */
  begin(): void;
}

export interface DiscoveryOptions {
  readonly onAcknowledged: ((latencyMs: number) => void) | undefined;
  readonly log: Pick<Logger, 'warn'>;
}

/** Tells the leader about this replica's proxies. */
export interface LeaderReports {
  changed(ids: Iterable<string>): void;
  refused(refusal: Refusal): void;
  stop(): void;
}

interface ReplicaStream {
  heard(digest: AcknowledgementDigest): void;
  ended(): void;
}

export class DiscoveryState {
  readonly acknowledgements: Acknowledgements;
  readonly progressListeners = new Set<(ids: ReadonlySet<string>) => void>();
  readonly refusalListeners = new Set<(refusal: Refusal) => void>();
  readonly nameListeners = new Set<() => void>();
  /** The reports to the leader, if that is another replica. */
  digests: LeaderReports | undefined;
  readonly #cache = new ResourceCache();
  readonly #takeSnapshot = createSnapshotChanges(this.#cache);
  readonly #connections = new Set<Connection>();
  /** The latest stream of each replica, as a function that ends it. */
  readonly #replicas = new Map<string, () => void>();
  readonly #onAcknowledged: DiscoveryOptions['onAcknowledged'];
  readonly #log: DiscoveryOptions['log'];
  #published = false;
  #telling: NodeJS.Timeout | undefined;
  #streams = 0;
  #pushes = 0;
  #rejections = 0;

  constructor({ onAcknowledged, log }: DiscoveryOptions) {
    this.acknowledgements = new Acknowledgements(this.#cache);
    this.#onAcknowledged = onAcknowledged;
    this.#log = log;
  }

  publishSnapshot(snapshot: Snapshot): void {
    const changes = this.#takeSnapshot(snapshot);
    this.#published = true;
    this.#publish(changes);
    for (const connection of this.#connections) connection.begin();
  }

  publishResources(typeUrl: string, resources: readonly RawResource[]): void {
    const wanted = new Map(resources.map(({ name, value }) => [name, value]));
    const names = new Set([...this.#cache.all(typeUrl).keys(), ...wanted.keys()]);
    this.#publish([
      {
        typeUrl,
        names: [...names].filter((name) => this.#cache.set(typeUrl, name, wanted.get(name))),
        urgent: new Set(),
      },
    ]);
  }

  figures(): DiscoveryStats {
    const { connected, remote } = this.acknowledgements;
    return {
      connectedProxies: connected,
      remoteProxies: remote,
      resources: this.#cache.size,
      snapshotBytes: this.#cache.bytes,
      pushesTotal: this.#pushes,
      rejectionsTotal: this.#rejections,
    };
  }

  #publish(changes: readonly ResourceChanges[]): void {
    if (changes.every(({ names }) => names.length === 0)) return;
    this.acknowledgements.published(changes, performance.now());
    for (const { session } of this.#connections) session.change(changes);
    for (const connection of this.#connections) connection.flush();
    this.#tellSoon();
  }

  connect({ identity, peer }: Peer, writer: DiscoveryWriter): ClientStream {
    const session = new DiscoverySession(this.#cache, ORDER);
    const flush = this.#flusher(session, writer);
    const label = `${peer}#${(this.#streams += 1)}`;
    // before the first publish there is nothing to compare with, and everything that a proxy has would seem removed
    const early: DeltaDiscoveryRequest[] = [];
    let proxy: string | undefined;
    let isObserver = false;
    const take = (request: DeltaDiscoveryRequest): void => {
      proxy ??= identity?.podName ?? (request.node?.id || label);
      isObserver ||= request.node?.cluster === OBSERVERS;
      const settled = session.receive(request);
      if (settled && !isObserver) this.#settled(proxy, session, settled);
      flush.now();
    };
    const connection: Connection = { session, flush: () => flush.now(), begin: () => early.splice(0).forEach(take) };
    this.#connections.add(connection);
    return {
      receive: (request) => {
        if (request.typeUrl === '') return writer.refuse('type_url is required');
        if (this.#published) return take(request);
        if (early.push(request) > MAX_EARLY) writer.refuse('too many requests before the first answer');
      },
      drained: () => flush.drained(),
      closed: () => {
        this.#connections.delete(connection);
        if (proxy !== undefined) this.acknowledgements.left(proxy, session);
        this.#tellSoon();
      },
    };
  }

  /**
   * Accepts one stream of another replica. It replaces another one of that replica, which `end` then ends: it may be
   * the newer one, if this one's first report was late, and a replica whose stream ends reports everything again.
   */
  acceptReplica(end: () => void): ReplicaStream {
    let replica: string | undefined;
    return {
      heard: (digest) => {
        if (replica === undefined) {
          replica = digest.replica;
          const replaced = this.#replicas.get(replica);
          this.acknowledgements.forget(replica);
          this.#replicas.set(replica, end);
          replaced?.();
        }
        this.acknowledgements.heard(digest, performance.now());
        for (const refusal of digest.refusals) this.#tellRefusal(refusal);
        this.#tellSoon();
      },
      ended: () => {
        if (replica === undefined || this.#replicas.get(replica) !== end) return;
        this.#replicas.delete(replica);
        this.acknowledgements.forget(replica);
        this.#tellSoon();
      },
    };
  }

  #settled(proxy: string, session: DiscoverySession, settled: ResponseAnswer): void {
    const nowMs = performance.now();
    this.#onAcknowledged?.(nowMs - settled.sent.atMs);
    this.#rejections += settled.faults.size;
    for (const [name, message] of settled.faults)
      this.#log.warn(
        {
          proxy,
          typeUrl: settled.typeUrl,
          name,
          message,
        },
        'a proxy refuses a resource and keeps the previous version',
      );
    this.acknowledgements.settled(proxy, session, settled, nowMs);
    // other clients are served too, but have none of the gateway's objects
    if (session.caughtUp && session.subscription(CHECKPOINT_TYPE)) this.acknowledgements.joined(proxy, session, nowMs);
    this.#tellSoon();
  }

  #flusher(session: DiscoverySession, writer: DiscoveryWriter): { now(): void; drained(): void } {
    let blocked = false;
    const now = (): void => {
      while (!blocked) {
        const response = session.next(performance.now());
        if (!response) return session.endTurn();
        this.#pushes += 1;
        blocked = !writer.write(response);
      }
    };
    return {
      now,
      drained() {
        blocked = false;
        now();
      },
    };
  }

  /**
   * Records a report of a proxy of this replica. Reports of other replicas are not forwarded, because during a change
   * of leader two replicas may consider each other the leader.
   */
  refused(refusal: Refusal): void {
    this.digests?.refused(refusal);
    this.#tellRefusal(refusal);
  }

  #tellRefusal(refusal: Refusal): void {
    for (const listener of this.refusalListeners) listener(refusal);
  }

  #tellSoon(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      const touched = this.acknowledgements.takeTouched();
      this.digests?.changed(touched);
      if (this.acknowledgements.takeNamesChanged()) for (const listener of this.nameListeners) listener();
      if (touched.size > 0) for (const listener of this.progressListeners) listener(touched);
    }, PROGRESS_MS);
  }

  stop(): void {
    clearTimeout(this.#telling);
    this.digests?.stop();
  }
}
