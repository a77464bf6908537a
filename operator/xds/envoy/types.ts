/** [P] The type URLs of Envoy's resources and extensions, and the values that many messages share. */
import type { Any, ConfigSource, Duration, Extension, UInt32Value } from './envoy.gen.ts';

const PREFIX = 'type.googleapis.com/envoy.';

export const TYPES = {
  cluster: `${PREFIX}config.cluster.v3.Cluster`,
  endpoints: `${PREFIX}config.endpoint.v3.ClusterLoadAssignment`,
  listener: `${PREFIX}config.listener.v3.Listener`,
  routes: `${PREFIX}config.route.v3.RouteConfiguration`,
  secret: `${PREFIX}extensions.transport_sockets.tls.v3.Secret`,
} as const;

export const EXTENSIONS = {
  httpManager: `${PREFIX}extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
  router: `${PREFIX}extensions.filters.http.router.v3.Router`,
  upstreamHttp: 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
  downstreamTls: `${PREFIX}extensions.transport_sockets.tls.v3.DownstreamTlsContext`,
  previousHosts: `${PREFIX}extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate`,
} as const;

/** The names of the resources. */
export const NAMES = {
  cluster: 'model-gateway',
  listener: 'model-gateway',
  routes: 'model-gateway',
  certificate: 'model-gateway-edge',
} as const;

/** Get this resource over the same stream as all others. */
export const ADS: ConfigSource = { ads: {}, resourceApiVersion: 2 };
/** As a timeout: none. */
export const NEVER: Duration = {};

interface Encoder<M> {
  encode(message: M): { finish(): Uint8Array };
}

/** A message within Any. */
export function pack<M>(typeUrl: string, codec: Encoder<M>, message: M): Any {
  return { typeUrl, value: codec.encode(message).finish() };
}

/** A TransportSocket or RetryHostPredicate. */
export function extension(name: string, typedConfig: Any): Extension {
  return { name, typedConfig };
}

export function seconds(count: number): Duration {
  return { seconds: BigInt(count) };
}

export function milliseconds(count: number): Duration {
  return { nanos: count * 1_000_000 };
}

export function uint32(value: number): UInt32Value {
  return { value };
}
