/**
 * [P] The fleet as a cluster, and its endpoints. Who is ready is Kubernetes' word, which the endpoints already carry;
 * Envoy's own checks are only quicker. What a proxy answers is never held against it: a 502 or 503 is mostly a
 * provider's.
 */
import { Cluster, ClusterLoadAssignment, HttpProtocolOptions } from './envoy.gen.ts';
import type { HealthCheck, LbEndpoint, OutlierDetection } from './envoy.gen.ts';
import { ADS, EXTENSIONS, NAMES, milliseconds, pack, seconds, uint32 } from './types.ts';

/** A proxy of the fleet. */
export interface FleetEndpoint {
  readonly address: string;
  readonly port: number;
  /** Where its /readyz is. */
  readonly healthPort?: number;
}

const LEAST_REQUEST = 1;
const EDS = 3;
/**
 * Holding calls and thresholds is the proxies' part: a stream may last for many minutes, and Envoy's own default is
 * 1,024 of them.
 */
const NO_LIMIT = 1_000_000;
const BUFFER_BYTES = 1024 * 1024;
/**
 * Shorter than the 72 s for which a proxy keeps an idle connection: a call must not meet one that is just being closed.
 */
const IDLE_SECONDS = 60;
/**
 * With fewer than so many of 100 healthy by Envoy's own checks, all are used: Kubernetes says that they are ready, so
 * it is rather the checks that fail.
 */
const PANIC_PERCENT = 50;

/**
 * What Envoy's own checks ask a proxy: Readyz: its admin port, whether it takes calls; Connect: only whether its port
 * opens.
 */
export type HealthQuestion = 'Readyz' | 'Connect';

export function buildCluster(question: HealthQuestion): Uint8Array {
  return Cluster.encode({
    name: NAMES.cluster,
    type: EDS,
    edsClusterConfig: { edsConfig: ADS },
    connectTimeout: seconds(2),
    perConnectionBufferLimitBytes: uint32(BUFFER_BYTES),
    lbPolicy: LEAST_REQUEST,
    healthChecks: [healthCheck(question)],
    circuitBreakers: { thresholds: [{ maxConnections: uint32(NO_LIMIT), maxPendingRequests:
      uint32(NO_LIMIT), maxRequests: uint32(NO_LIMIT), maxRetries: uint32(NO_LIMIT) }] },
    outlierDetection: OUTLIERS,
    // what the checks find counts at once, and not after a second
    commonLbConfig: { healthyPanicThreshold: { value: PANIC_PERCENT }, updateMergeWindow: seconds(0) },
    ignoreHealthOnHostRemoval: true,
    typedExtensionProtocolOptions: { [EXTENSIONS.upstreamHttp]: pack(`type.googleapis.com/${EXTENSIONS.upstreamHttp}`, HttpProtocolOptions, {
      commonHttpProtocolOptions: { idleTimeout: seconds(IDLE_SECONDS) },
      explicitHttpConfig: { httpProtocolOptions: {} },
    }) },
  }).finish();
}

function healthCheck(question: HealthQuestion): HealthCheck {
  return {
    timeout: seconds(2), interval: seconds(2), noTrafficInterval: seconds(2), intervalJitterPercent: 10,
    unhealthyThreshold: uint32(2), healthyThreshold: uint32(1),
    ...question === 'Readyz' ? { httpHealthCheck: { path: '/readyz' } } : { tcpHealthCheck: {} },
  };
}

/** Only connections that fail count, not what is answered. */
const OUTLIERS: OutlierDetection = {
  splitExternalLocalOriginErrors: true,
  consecutiveLocalOriginFailure: uint32(3), enforcingConsecutiveLocalOriginFailure: uint32(100),
  enforcingConsecutive5xx: uint32(0), enforcingConsecutiveGatewayFailure: uint32(0),
  enforcingSuccessRate: uint32(0), enforcingLocalOriginSuccessRate: uint32(0),
  interval:
    milliseconds(500), baseEjectionTime: seconds(5), maxEjectionTime: seconds(30), maxEjectionPercent: uint32(50),
};

export function buildEndpoints(endpoints: readonly FleetEndpoint[]): Uint8Array {
  return ClusterLoadAssignment.encode({
    clusterName: NAMES.cluster,
    endpoints: endpoints.length === 0 ? [] : [{ lbEndpoints: endpoints.map(buildEndpoint) }],
  }).finish();
}

function buildEndpoint({ address, port, healthPort }: FleetEndpoint): LbEndpoint {
  return { endpoint: {
    address: { socketAddress: { address, portValue: port } },
    ...healthPort === undefined ? {} : { healthCheckConfig: { portValue: healthPort } },
  } };
}
