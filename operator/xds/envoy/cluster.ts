/**
 * [P] The fleet as an Envoy cluster with its endpoints. Kubernetes decides which endpoints are ready; Envoy's own
 * health checks only notice failures sooner. A response never ejects a proxy: a 502 or 503 mostly comes from a
 * provider.
 */
import { Cluster, ClusterLoadAssignment, HttpProtocolOptions } from './envoy.gen.ts';
import type { HealthCheck, LbEndpoint, OutlierDetection } from './envoy.gen.ts';
import { ADS, EXTENSIONS, NAMES, milliseconds, pack, seconds, uint32 } from './types.ts';

/** A proxy of the fleet. */
export interface FleetEndpoint {
  readonly address: string;
  readonly port: number;
  /** The port of its /readyz. */
  readonly healthPort?: number;
}

const LEAST_REQUEST = 1;
const EDS = 3;
/**
 * No limit, because the proxies enforce concurrency limits. A stream may last for many minutes, and Envoy's default of
 * 1,024 requests would refuse calls.
 */
const NO_LIMIT = 1_000_000;
const BUFFER_BYTES = 1024 * 1024;
/**
 * Shorter than the 72 s for which a proxy keeps an idle connection, so that no call is sent on a connection that is
 * being closed.
 */
const IDLE_SECONDS = 60;
/**
 * If fewer than this percentage are healthy by Envoy's own checks, all are used: Kubernetes says that they are ready,
 * so the checks are probably at fault.
 */
const PANIC_PERCENT = 50;

/**
 * What Envoy's own checks request. Readyz: /readyz on the proxy's admin port. Connect: only a connection to its port.
 */
export type HealthCheckKind = 'Readyz' | 'Connect';

export function buildCluster(question: HealthCheckKind): Uint8Array {
  return Cluster.encode({
    name: NAMES.cluster,
    type: EDS,
    edsClusterConfig: { edsConfig: ADS },
    connectTimeout: seconds(2),
    perConnectionBufferLimitBytes: uint32(BUFFER_BYTES),
    lbPolicy: LEAST_REQUEST,
    healthChecks: [healthCheck(question)],
    circuitBreakers: {
      thresholds: [
        {
          maxConnections: uint32(NO_LIMIT),
          maxPendingRequests: uint32(NO_LIMIT),
          maxRequests: uint32(NO_LIMIT),
          maxRetries: uint32(NO_LIMIT),
        },
      ],
    },
    outlierDetection: OUTLIERS,
    // applies the results of checks at once, not after a second
    commonLbConfig: { healthyPanicThreshold: { value: PANIC_PERCENT }, updateMergeWindow: seconds(0) },
    ignoreHealthOnHostRemoval: true,
    typedExtensionProtocolOptions: { [EXTENSIONS.upstreamHttp]: HTTP_OPTIONS },
  }).finish();
}

function healthCheck(question: HealthCheckKind): HealthCheck {
  return {
    timeout: seconds(2),
    interval: seconds(2),
    noTrafficInterval: seconds(2),
    intervalJitterPercent: 10,
    unhealthyThreshold: uint32(2),
    healthyThreshold: uint32(1),
    // the admin port takes no unknown host name by loopback, where an Envoy on the proxies' own machine comes from
    ...(question === 'Readyz' ? { httpHealthCheck: { path: '/readyz', host: 'localhost' } } : { tcpHealthCheck: {} }),
  };
}

const HTTP_OPTIONS = pack(`type.googleapis.com/${EXTENSIONS.upstreamHttp}`, HttpProtocolOptions, {
  commonHttpProtocolOptions: { idleTimeout: seconds(IDLE_SECONDS) },
  explicitHttpConfig: { httpProtocolOptions: {} },
});

/** Only failed connections eject a proxy, never the status of a response. */
const OUTLIERS: OutlierDetection = {
  splitExternalLocalOriginErrors: true,
  consecutiveLocalOriginFailure: uint32(3),
  enforcingConsecutiveLocalOriginFailure: uint32(100),
  enforcingConsecutive5xx: uint32(0),
  enforcingConsecutiveGatewayFailure: uint32(0),
  enforcingSuccessRate: uint32(0),
  enforcingLocalOriginSuccessRate: uint32(0),
  interval: milliseconds(500),
  baseEjectionTime: seconds(5),
  maxEjectionTime: seconds(30),
  maxEjectionPercent: uint32(50),
};

export function buildEndpoints(endpoints: readonly FleetEndpoint[]): Uint8Array {
  return ClusterLoadAssignment.encode({
    clusterName: NAMES.cluster,
    endpoints: endpoints.length === 0 ? [] : [{ lbEndpoints: endpoints.map(buildEndpoint) }],
  }).finish();
}

function buildEndpoint({ address, port, healthPort }: FleetEndpoint): LbEndpoint {
  return {
    endpoint: {
      address: { socketAddress: { address, portValue: port } },
      ...(healthPort === undefined ? {} : { healthCheckConfig: { portValue: healthPort } }),
    },
  };
}
