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
import type { TlsMaterial } from './certificates.ts';
import { DigestStream } from './digests.ts';
import { DiscoveryState } from './discovery-state.ts';
import type { DiscoveryStats, RawResource } from './discovery-state.ts';
import { startServer } from './server.ts';

type ObjectProgress = Progress;

export interface Distribution {
  /**
   * Gives the snapshot out; validates nothing, never blocks. What has the content of before is not sent again. Until
   * the first one, callers wait.
   */
  publish(snapshot: Snapshot): void;
  /**
   * Gives out resources of another type (Envoy's own): all that there are of it. Callers are answered after the first
   * publish.
   */
  publishResources(typeUrl: string, resources: readonly RawResource[]): void;
  /** By "Kind namespace/name"; undefined: it is not published. */
  progress(id: string): ObjectProgress | undefined;
  /** Told, at most every few milliseconds, whose progress has changed. Returns how to stop that. */
  onProgress(listener: (ids: ReadonlySet<string>) => void): () => void;
  /**
   * Told of refusals that proxies report, on the leader also of those that other replicas heard. Returns how to stop
   * that.
   */
  onRefusal(listener: (refusal: Refusal) => void): () => void;
  /**
   * Where the leader's port is ("host:port"), so that it hears what this replica's proxies hold; undefined: this
   * replica leads.
   */
  leaderAt(address: string | undefined): void;
  /** For metrics. */
  figures(): DiscoveryStats;
  readonly port: number;
  /** Ends the streams in order; proxies go on with what they have. */
  stop(): Promise<void>;
}

export interface DistributionOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Only callers of this namespace are served. */
  readonly gatewayNamespace: string;
  readonly security: DistributionSecurity;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error' | 'debug'>;
  /** Told of each acknowledgement: from the moment of writing to it. */
  readonly onAcknowledged?: (latencyMs: number) => void;
  /** How often a silent connection is asked whether it lives. Default: 30 s. */
  readonly keepaliveMs?: number;
}

export type DistributionSecurity =
  | {
    readonly insecure: false;
    readonly authenticate: Authenticate;
    /** Rotated by manageCertificates (certificates.ts). */
    readonly tls: TlsMaterial;
    /** The token with which this replica shows itself to the leader; read anew for each connection. */
    readonly token: () => Promise<string>;
    /** The name that this service's certificates are made for. */
    readonly serverName: string;
    /**
     * ServiceAccounts that may take configuration, or send acknowledgements of other replicas; absent: any of the
     * namespace.
     */
    readonly serviceAccounts?: { readonly proxies?: readonly string[]; readonly operators?: readonly string[] };
  }
  /** Neither TLS nor tokens: for tests, and for one machine whose loopback is trusted. */
  | { readonly insecure: true };

/** Resolves once proxies can connect. Until the first publish they get nothing, and wait. */
export async function startDistribution(options: DistributionOptions): Promise<Distribution> {
  const { security, log, gatewayNamespace } = options;
  const fleet = new DiscoveryState({ log, onAcknowledged: options.onAcknowledged });
  const replica = randomUUID();
  let leader: string | undefined;
  const server = await startServer({
    listen: options.listen, log,
    ...options.keepaliveMs === undefined ? {} : { keepaliveMs: options.keepaliveMs },
    tls: security.insecure ? undefined : security.tls,
    admission: security.insecure ? undefined : { ...security, namespace: gatewayNamespace },
    handlers: {
      connect: (caller, writer) => fleet.connect(caller, writer),
      refusals: ({ refusals }) => { for (const refusal of refusals) fleet.refused(refusal); },
      replica: () => fleet.acceptReplica(),
    },
  });
  return {
    publish: (snapshot) => fleet.publishSnapshot(snapshot),
    publishResources: (typeUrl, resources) => fleet.publishResources(typeUrl, resources),
    progress: (id) => fleet.acknowledgements.progress(id),
    onProgress: (listener) => listen(fleet.progressListeners, listener),
    onRefusal: (listener) => listen(fleet.refusalListeners, listener),
    leaderAt(address) {
      if (address === leader) return;
      leader = address;
      fleet.digests?.stop();
      fleet.digests = address === undefined ? undefined : new DigestStream({
        address, replica, acknowledgements:
          fleet.acknowledgements, log, secure: security.insecure ? undefined : security,
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
