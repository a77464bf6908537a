/**
 * Distributes the configuration to every connected proxy over xDS and reports their acknowledgements per object: the
 * published resources, the open streams, the acknowledgements. Every operator replica runs one; followers forward their
 * proxies' acknowledgements to the leader.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { DeltaDiscoveryRequest } from '#snapshot/discovery.gen.ts';
import type { AcknowledgementDigest, Refusal } from '#snapshot/fleet.gen.ts';
import { CHECKPOINT_TYPE, RESOURCE_TYPES, typeUrlOf } from '#snapshot/resources.ts';
import { OBSERVERS } from '#snapshot/services.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { CertificateSource } from '../security/certificates.ts';
import type { ProxyProgress } from '../status/programming.ts';
import { Acknowledgements } from './acknowledgements.ts';
import type { Authenticate } from './authenticate.ts';
import { DigestStream } from './digests.ts';
import { ResourceCache } from './resource-cache.ts';
import type { ResourceChanges } from './resource-cache.ts';
import { startServer } from './server.ts';
import type { Peer, ClientStream, DiscoveryWriter, RunningServer, ServerHandlers } from './server.ts';
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

export interface DistributionOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Only clients of this namespace are served. */
  readonly gatewayNamespace: string;
  readonly security: DistributionSecurity;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error' | 'debug'>;
  /** Called for each acknowledgement with the time since its response was written. */
  readonly onAcknowledged?: (latencyMs: number) => void;
  /** The interval of keep-alive pings on a silent connection. Default: 30 s. */
  readonly keepaliveMs?: number;
}

export type DistributionSecurity =
  | {
      readonly insecure: false;
      readonly authenticate: Authenticate;
      /** Rotated by manageCertificates (certificates.ts). */
      readonly tls: CertificateSource;
      /** Returns the token with which this replica authenticates to the leader; called for each connection. */
      readonly token: () => Promise<string>;
      /** The name in this service's certificates. */
      readonly serverName: string;
      /**
       * ServiceAccounts that may get the configuration, or send acknowledgements of other replicas; absent: any of the
       * namespace.
       */
      readonly serviceAccounts?: { readonly proxies?: readonly string[]; readonly operators?: readonly string[] };
    }
  /** Neither TLS nor tokens: for tests, and for a single machine whose loopback is trusted. */
  | { readonly insecure: true };

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

interface DistributionParts {
  /** Begins to report to the leader at this "host:port". */
  readonly reportTo: (leader: string, acknowledgements: Acknowledgements) => LeaderReports;
  readonly onAcknowledged?: DistributionOptions['onAcknowledged'];
  readonly log: Pick<Logger, 'warn'>;
}

/** What the part of the operator that watches a cluster needs of it. */
export type ProxyDistribution = Pick<
  Distribution,
  'publish' | 'progress' | 'onProgress' | 'connectedNames' | 'onNames' | 'onRefusal' | 'leaderAt'
>;

/** Resolves once proxies can connect. Until the first publish they wait. */
export async function startDistribution(options: DistributionOptions): Promise<Distribution> {
  const { security, log, keepaliveMs } = options;
  const replica = randomUUID();
  const distribution = new Distribution({
    log,
    onAcknowledged: options.onAcknowledged,
    reportTo: (address, acknowledgements) =>
      new DigestStream({ address, replica, acknowledgements, log, secure: security.insecure ? undefined : security }),
  });
  await distribution.serve((handlers) =>
    startServer({
      listen: options.listen,
      log,
      ...(keepaliveMs !== undefined && { keepaliveMs }),
      tls: security.insecure ? undefined : security.tls,
      admission: security.insecure ? undefined : { ...security, namespace: options.gatewayNamespace },
      handlers,
    }),
  );
  return distribution;
}

export class Distribution {
  readonly #acknowledgements: Acknowledgements;
  readonly #progressListeners = new Set<(ids: ReadonlySet<string>) => void>();
  readonly #refusalListeners = new Set<(refusal: Refusal) => void>();
  readonly #nameListeners = new Set<() => void>();
  readonly #parts: DistributionParts;
  readonly #cache = new ResourceCache();
  readonly #takeSnapshot = createSnapshotChanges(this.#cache);
  readonly #connections = new Set<Connection>();
  /** The latest stream of each replica, as a function that ends it. */
  readonly #replicas = new Map<string, () => void>();
  #server: RunningServer | undefined;
  #leader: string | undefined;
  /** The reports to the leader, if that is another replica. */
  #reports: LeaderReports | undefined;
  #published = false;
  #telling: NodeJS.Timeout | undefined;
  #streams = 0;
  #pushes = 0;
  #rejections = 0;

  constructor(parts: DistributionParts) {
    this.#parts = parts;
    this.#acknowledgements = new Acknowledgements(this.#cache);
  }

  /** Opens the port. */
  async serve(start: (handlers: ServerHandlers) => Promise<RunningServer>): Promise<void> {
    this.#server = await start({
      connect: (caller, writer) => this.connect(caller, writer),
      refusals: ({ refusals }) => {
        for (const refusal of refusals) this.#refused(refusal);
      },
      replica: (end) => this.acceptReplica(end),
    });
  }

  /** 0 until it is open. */
  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** By "Kind namespace/name"; undefined if it is not published. */
  progress(id: string): ProxyProgress | undefined {
    return this.#acknowledgements.progress(id);
  }

  /**
   * Calls the listener, at most every few milliseconds, with the objects whose progress has changed. Returns a function
   * that removes it.
   */
  onProgress(listener: (ids: ReadonlySet<string>) => void): () => void {
    return listen(this.#progressListeners, listener);
  }

  /**
   * The names of the connected proxies that hold a whole configuration, on the leader also those of other replicas: the
   * same set until it changes; undefined if another replica does not name its own.
   */
  connectedNames(): ReadonlySet<string> | undefined {
    return this.#acknowledgements.allNames;
  }

  /** Calls the listener when these names may have changed. Returns a function that removes it. */
  onNames(listener: () => void): () => void {
    return listen(this.#nameListeners, listener);
  }

  /**
   * Calls the listener for each refusal that proxies report, on the leader also for those reported to other replicas.
   * Returns a function that removes it.
   */
  onRefusal(listener: (refusal: Refusal) => void): () => void {
    return listen(this.#refusalListeners, listener);
  }

  /**
   * Sets the "host:port" of the leader, which gets the acknowledgements of this replica's proxies; undefined: this
   * replica leads, or none does.
   */
  leaderAt(address: string | undefined): void {
    if (address === this.#leader) return;
    this.#leader = address;
    this.#reports?.stop();
    this.#reports = address === undefined ? undefined : this.#parts.reportTo(address, this.#acknowledgements);
  }

  /**
   * Publishes the snapshot without validation, and never blocks. Unchanged objects are not sent again. Until the first
   * snapshot, clients wait.
   */
  publish(snapshot: Snapshot): void {
    const changes = this.#takeSnapshot(snapshot);
    this.#published = true;
    this.#publish(changes);
    for (const connection of this.#connections) connection.begin();
  }

  /** Publishes all resources of another type (Envoy's own). Clients get responses after the first publish. */
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

  /** For metrics. */
  figures(): DiscoveryStats {
    const { connected, remote } = this.#acknowledgements;
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
    this.#acknowledgements.published(changes, performance.now());
    for (const { session } of this.#connections) session.change(changes);
    for (const connection of this.#connections) connection.flush();
    this.#tellSoon();
  }

  /** Serves the stream of one client. */
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
        if (early.push(request) > MAX_EARLY) writer.refuse('too many requests before the first response');
      },
      drained: () => flush.drained(),
      closed: () => {
        this.#connections.delete(connection);
        if (proxy !== undefined) this.#acknowledgements.left(proxy, session);
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
          this.#acknowledgements.forget(replica);
          this.#replicas.set(replica, end);
          replaced?.();
        }
        this.#acknowledgements.heard(digest, performance.now());
        for (const refusal of digest.refusals) this.#tellRefusal(refusal);
        this.#tellSoon();
      },
      ended: () => {
        if (replica === undefined || this.#replicas.get(replica) !== end) return;
        this.#replicas.delete(replica);
        this.#acknowledgements.forget(replica);
        this.#tellSoon();
      },
    };
  }

  #settled(proxy: string, session: DiscoverySession, settled: ResponseAnswer): void {
    const nowMs = performance.now();
    this.#parts.onAcknowledged?.(nowMs - settled.sent.atMs);
    this.#rejections += settled.faults.size;
    for (const [name, message] of settled.faults)
      this.#parts.log.warn(
        {
          proxy,
          typeUrl: settled.typeUrl,
          name,
          message,
        },
        'a proxy rejected a resource and keeps the previous version',
      );
    this.#acknowledgements.settled(proxy, session, settled, nowMs);
    // other clients are served too, but have none of the gateway's objects
    if (session.caughtUp && session.subscription(CHECKPOINT_TYPE)) this.#acknowledgements.joined(proxy, session, nowMs);
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
  #refused(refusal: Refusal): void {
    this.#reports?.refused(refusal);
    this.#tellRefusal(refusal);
  }

  #tellRefusal(refusal: Refusal): void {
    for (const listener of this.#refusalListeners) listener(refusal);
  }

  #tellSoon(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      const touched = this.#acknowledgements.takeTouched();
      this.#reports?.changed(touched);
      if (this.#acknowledgements.takeNamesChanged()) for (const listener of this.#nameListeners) listener();
      if (touched.size > 0) for (const listener of this.#progressListeners) listener(touched);
    }, PROGRESS_MS);
  }

  /** Ends the streams gracefully; proxies continue with what they have. */
  async stop(): Promise<void> {
    await this.#server?.stop();
    clearTimeout(this.#telling);
    this.#reports?.stop();
  }
}

function listen<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
