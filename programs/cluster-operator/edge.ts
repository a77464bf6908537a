/**
 * Configures Envoys in front of the fleet, on a separate port that never serves secrets. Its tokens have an audience of
 * their own: an edge's token is valid only here, and a proxy's token is not valid here.
 */
import { EMPTY_SNAPSHOT } from '#snapshot/kinds.gen.ts';
import type { Logger } from 'pino';
import type { KubeClient } from '#kube/client.ts';
import { SYSTEM_CLOCK } from '#runtime/clock.ts';
import { watchEndpoints } from '../../operator/sources/cluster/endpoint-watch.ts';
import { endpointsOf } from '../../operator/sources/cluster/parse-endpoints.ts';
import type { MetricsRecorder } from '../../operator/metrics.ts';
import { createTokenReviewer } from '../../operator/xds/authenticate.ts';
import { startDistribution } from '../../operator/xds/distribution.ts';
import type { DistributionSecurity } from '../../operator/xds/distribution.ts';
import { edgeResources, healthCheckKind } from '../../operator/xds/envoy/edge.ts';
import type { HealthCheckKind } from '../../operator/xds/envoy/cluster.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';
import type { EdgeSettings } from './settings.ts';

/** The audience of Envoys' tokens. */
const EDGE_AUDIENCE = 'model-gateway-edge';
/** The names of the Service's ports. */
const PORTS = { calls: 'http', health: 'admin' } as const;

export interface EdgeServerOptions {
  readonly settings: EdgeSettings & { readonly envoyXdsListen: ListenAddress };
  readonly client: KubeClient;
  readonly namespace: string;
  /** The security of the proxies' port, whose certificates are used here too. */
  readonly security: DistributionSecurity;
  readonly log: Logger;
  readonly meter: MetricsRecorder;
}

export interface Edge {
  readonly port: number;
  /** True if the fleet's endpoints are known, so that Envoys get responses. */
  readonly published: boolean;
  /** Sentences about what cannot be read at the moment. */
  problems(): readonly string[];
  stop(): Promise<void>;
}

type TlsSecurity = Extract<DistributionSecurity, { insecure: false }>;

/** Accepts tokens of any ServiceAccount, because the port shows nothing but the proxies' addresses. */
function edgeSecurity(
  { serviceAccounts: _ofProxies, ...security }: TlsSecurity,
  client: KubeClient,
): DistributionSecurity {
  return {
    ...security,
    authenticate: createTokenReviewer({
      post: (path, body) => client.request({ method: 'POST', path, body }),
      audience: EDGE_AUDIENCE,
      nowMs: () => SYSTEM_CLOCK.nowMs(),
    }),
  };
}

/** Resolves once Envoys can connect. They get responses when the fleet's endpoints are known. */
export async function openEdge({
  settings,
  client,
  namespace,
  security,
  log,
  meter,
}: EdgeServerOptions): Promise<Edge> {
  const distribution = await startDistribution({
    listen: settings.envoyXdsListen,
    gatewayNamespace: namespace,
    log,
    security: security.insecure ? security : edgeSecurity(security, client),
  });
  let health: HealthCheckKind = 'Connect';
  const watch = watchEndpoints({
    client,
    namespace,
    service: settings.edgeService,
    clock: SYSTEM_CLOCK,
    meter,
    log,
    onChange(slices) {
      const endpoints = endpointsOf(slices, PORTS);
      health = healthCheckKind(endpoints, health);
      if (endpoints.length === 0) {
        const told = { service: settings.edgeService, port: PORTS.calls };
        log.warn(told, 'the edge cannot route calls: the Service has no ready endpoint with a port of this name');
      }
      const listener = { ...settings.edgeListen, tlsFolder: settings.edgeTls };
      const published = edgeResources({ endpoints, health, listener });
      for (const { typeUrl, resources } of published) distribution.publishResources(typeUrl, resources);
      // from here on Envoys get responses; this port serves no objects of proxies
      distribution.publish(EMPTY_SNAPSHOT);
    },
  });
  return {
    port: distribution.port,
    get published() {
      return watch.synced;
    },
    problems() {
      if (watch.problem !== undefined) return [`endpointslices: ${watch.problem}`];
      return watch.synced ? [] : ['endpointslices: not read yet'];
    },
    async stop() {
      await watch.stop();
      await distribution.stop();
    },
  };
}
