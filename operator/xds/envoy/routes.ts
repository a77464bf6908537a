/**
 * [P] Routes all paths to the fleet without a timeout, because the proxies decide how long a stream may last or be
 * silent. A call is retried on another proxy only if nothing of it was sent, because a proxy that has seen a call may
 * have billed it.
 */
import { RouteConfiguration } from './envoy.gen.ts';
import type { RetryPolicy } from './envoy.gen.ts';
import { EXTENSIONS, NAMES, NEVER, extension, milliseconds, seconds, uint32 } from './types.ts';

const RETRY: RetryPolicy = {
  retryOn: 'connect-failure,refused-stream,reset-before-request',
  numRetries: uint32(3),
  retryHostPredicate: [
    extension('envoy.retry_host_predicates.previous_hosts', {
      typeUrl: EXTENSIONS.previousHosts,
      value: new Uint8Array(),
    }),
  ],
  hostSelectionRetryMaxAttempts: 5n,
  retryBackOff: { baseInterval: milliseconds(25), maxInterval: seconds(1) },
};
/**
 * How much of a body may arrive before there is a connection: more than the connection's buffer and window together, so
 * that the complete body can be sent to another proxy.
 */
const RETRY_BUFFER_BYTES = 4n * 1024n * 1024n;

export function buildRoutes(): Uint8Array {
  return RouteConfiguration.encode({
    name: NAMES.routes,
    virtualHosts: [
      {
        name: 'all',
        domains: ['*'],
        routes: [
          {
            match: { prefix: '/' },
            route: {
              cluster: NAMES.cluster,
              timeout: NEVER,
              idleTimeout: NEVER,
              retryPolicy: RETRY,
              // sessions; the proxies refuse other upgrades in the words of their endpoints
              upgradeConfigs: [{ upgradeType: 'websocket' }],
            },
            requestBodyBufferLimit: { value: RETRY_BUFFER_BYTES },
          },
        ],
      },
    ],
  }).finish();
}
