/**
 * Configuration for Envoys that stand before the fleet: on a port of its own, to which nothing secret ever comes. Its tokens are
 * made for an audience of their own, so that an edge's token opens nothing else, and a proxy's token opens nothing here.
 */
import type { Logger } from 'pino';
import type { KubeClient } from '../../operator/kube/client.ts';
import { SYSTEM_CLOCK } from '../../operator/kube/clock.ts';
import { watchEndpoints } from '../../operator/kube/endpoint-watch.ts';
import type { Meter } from '../../operator/metrics.ts';
import { createTokenReviewer } from '../../operator/xds/authenticate.ts';
import { startDistribution } from '../../operator/xds/distribution.ts';
import type { DistributionSecurity } from '../../operator/xds/distribution.ts';
import { edgeResources, healthQuestion } from '../../operator/xds/envoy/edge.ts';
import type { HealthQuestion } from '../../operator/xds/envoy/cluster.ts';
import type { Address } from '../options.ts';

/** What the tokens of Envoys are made for. */
const EDGE_AUDIENCE = 'model-gateway-edge';
/** Of the Service's ports. */
const PORTS = { calls: 'http', health: 'admin' } as const;

/** The flags that concern it. */
interface EdgeFlags {
  readonly envoyXdsListen: Address;
  readonly edgeService: string;
  readonly edgeListen: Address;
  readonly edgeTls?: string;
}

export interface EdgeOptions {
  readonly flags: EdgeFlags;
  readonly client: KubeClient;
  readonly namespace: string;
  /** Of the proxies' port: the same certificates serve here. */
  readonly security: DistributionSecurity;
  readonly log: Logger;
  readonly meter: Meter;
}

export interface Edge {
  readonly port: number;
  /** Whether the fleet's endpoints are known, so that Envoys are answered. */
  readonly published: boolean;
  /** What cannot be read at the moment, in words. */
  problems(): readonly string[];
  stop(): Promise<void>;
}

/** An Envoy's token has an audience of its own; whose it is does not matter, since the port shows nothing but where the proxies are. */
function edgeSecurity({ serviceAccounts: _ofProxies, ...security }: Extract<DistributionSecurity, { insecure: false }>, client: KubeClient): DistributionSecurity {
  return { ...security, authenticate: createTokenReviewer({
    post: (path, body) => client.request({ method: 'POST', path, body }), audience: EDGE_AUDIENCE, nowMs: () => SYSTEM_CLOCK.nowMs(),
  }) };
}

/** Resolves once Envoys can connect; they are answered when the fleet's endpoints are known. */
export async function startEdge({ flags, client, namespace, security, log, meter }: EdgeOptions): Promise<Edge> {
  const distribution = await startDistribution({
    listen: flags.envoyXdsListen, gatewayNamespace: namespace, log,
    security: security.insecure ? security : edgeSecurity(security, client),
  });
  let health: HealthQuestion = 'Connect';
  const watch = watchEndpoints({
    client, namespace, service: flags.edgeService, ports: PORTS, clock: SYSTEM_CLOCK, meter, log,
    onChange(endpoints) {
      health = healthQuestion(endpoints, health);
      if (endpoints.length === 0) log.warn({ service: flags.edgeService, port: PORTS.calls }, 'the edge has nowhere to send calls: the Service has no ready endpoint with a port of this name');
      const listener = { ...flags.edgeListen, tlsFolder: flags.edgeTls };
      for (const { typeUrl, resources } of edgeResources({ endpoints, health, listener })) distribution.publishResources(typeUrl, resources);
      // from here on Envoys are answered; of the proxies' objects there are none on this port
      distribution.publish({ catalogs: [], routes: [], groups: [], accounts: [], keys: [] });
    },
  });
  return {
    port: distribution.port,
    get published() { return watch.synced; },
    problems: () => watch.problem !== undefined ? [`endpointslices: ${watch.problem}`] : watch.synced ? [] : ['endpointslices: not read yet'],
    async stop() {
      await watch.stop();
      await distribution.stop();
    },
  };
}
