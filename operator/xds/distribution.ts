/**
 * Distributes the configuration to every connected proxy over xDS and reports their acknowledgements per object. Every
 * operator replica runs one; followers forward their proxies' acknowledgements to the leader.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Refusal } from '#snapshot/fleet.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { Progress } from './acknowledgements.ts';
import type { Authenticate } from './authenticate.ts';
import type { CertificateSource } from '../security/certificates.ts';
import { DigestStream } from './digests.ts';
import { DiscoveryState } from './discovery-state.ts';
import type { DiscoveryStats, RawResource } from './discovery-state.ts';
import { startServer } from './server.ts';

type ObjectProgress = Progress;

export interface Distribution {
  /**
   * Publishes the snapshot without validation, and never blocks. Unchanged objects are not sent again. Until the first
   * snapshot, clients wait.
   */
  publish(snapshot: Snapshot): void;
  /** Publishes all resources of another type (Envoy's own). Clients get responses after the first publish. */
  publishResources(typeUrl: string, resources: readonly RawResource[]): void;
  /** By "Kind namespace/name"; undefined if it is not published. */
  progress(id: string): ObjectProgress | undefined;
  /**
   * Calls the listener, at most every few milliseconds, with the objects whose progress has changed. Returns a function
   * that removes it.
   */
  onProgress(listener: (ids: ReadonlySet<string>) => void): () => void;
  /**
   * The names of the connected proxies that hold a whole configuration, on the leader also those of other replicas;
   * undefined if another replica does not name its own.
   */
  connectedNames(): ReadonlySet<string> | undefined;
  /** Calls the listener when these names may have changed. Returns a function that removes it. */
  onNames(listener: () => void): () => void;
  /**
   * Calls the listener for each refusal that proxies report, on the leader also for those reported to other replicas.
   * Returns a function that removes it.
   */
  onRefusal(listener: (refusal: Refusal) => void): () => void;
  /**
   * Sets the "host:port" of the leader, which gets the acknowledgements of this replica's proxies; undefined: this
   * replica leads.
   */
  leaderAt(address: string | undefined): void;
  /** For metrics. */
  figures(): DiscoveryStats;
  readonly port: number;
  /** Ends the streams gracefully; proxies continue with what they have. */
  stop(): Promise<void>;
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

/** Resolves once proxies can connect. Until the first publish they wait. */
export async function startDistribution(options: DistributionOptions): Promise<Distribution> {
  const { security, log, gatewayNamespace } = options;
  const fleet = new DiscoveryState({ log, onAcknowledged: options.onAcknowledged });
  const replica = randomUUID();
  let leader: string | undefined;
  const server = await startServer({
    listen: options.listen,
    log,
    ...(options.keepaliveMs === undefined ? {} : { keepaliveMs: options.keepaliveMs }),
    tls: security.insecure ? undefined : security.tls,
    admission: security.insecure ? undefined : { ...security, namespace: gatewayNamespace },
    handlers: {
      connect: (caller, writer) => fleet.connect(caller, writer),
      refusals: ({ refusals }) => {
        for (const refusal of refusals) fleet.refused(refusal);
      },
      replica: (end) => fleet.acceptReplica(end),
    },
  });
  return {
    publish: (snapshot) => fleet.publishSnapshot(snapshot),
    publishResources: (typeUrl, resources) => fleet.publishResources(typeUrl, resources),
    progress: (id) => fleet.acknowledgements.progress(id),
    onProgress: (listener) => listen(fleet.progressListeners, listener),
    connectedNames: () => fleet.acknowledgements.allNames,
    onNames: (listener) => listen(fleet.nameListeners, listener),
    onRefusal: (listener) => listen(fleet.refusalListeners, listener),
    leaderAt(address) {
      if (address === leader) return;
      leader = address;
      fleet.digests?.stop();
      fleet.digests =
        address === undefined
          ? undefined
          : new DigestStream({
              address,
              replica,
              acknowledgements: fleet.acknowledgements,
              log,
              secure: security.insecure ? undefined : security,
            });
    },
    figures: () => fleet.figures(),
    port: server.port,
    async stop() {
      await server.stop();
      fleet.stop();
    },
  };
}

function listen<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
