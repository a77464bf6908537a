/** Support: an Envoy that is configured by our server, its admin port, and its endpoints. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RunningEnvoy } from '../../support/envoy.ts';

const WITHIN_MS = 30_000;
const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/** The smallest bootstrap configuration: without TLS or a token. */
export function edgeBootstrap(port: number): object {
  const ads = { ads: {}, resource_api_version: 'V3' };
  return {
    node: { id: 'edge', cluster: 'edge' },
    dynamic_resources: {
      ads_config: {
        api_type: 'DELTA_GRPC',
        transport_api_version: 'V3',
        grpc_services: [{ envoy_grpc: { cluster_name: 'operator' } }],
      },
      lds_config: ads,
      cds_config: ads,
    },
    static_resources: {
      clusters: [
        {
          name: 'operator',
          type: 'STATIC',
          connect_timeout: '1s',
          typed_extension_protocol_options: {
            [HTTP_OPTIONS]: {
              '@type': `type.googleapis.com/${HTTP_OPTIONS}`,
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
          load_assignment: {
            cluster_name: 'operator',
            endpoints: [
              {
                lb_endpoints: [
                  { endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } } },
                ],
              },
            ],
          },
        },
      ],
    },
  };
}

export async function adminJson<T>(running: RunningEnvoy, path: string): Promise<T> {
  return JSON.parse(await running.admin(path)) as T;
}

interface Listeners {
  readonly listener_statuses?: readonly {
    readonly name: string;
    readonly local_address: {
      readonly socket_address: { readonly port_value: number };
    };
  }[];
}

/** The port of a listener; undefined if there is none of this name. */
export async function portOf(running: RunningEnvoy, name: string): Promise<number | undefined> {
  const { listener_statuses: statuses = [] } = await adminJson<Listeners>(running, '/listeners?format=json');
  return statuses.find((each) => each.name === name)?.local_address.socket_address.port_value;
}

/** The port of the edge's listener, once there is one. */
export function edgePort(running: RunningEnvoy): Promise<number> {
  return eventually(() => portOf(running, 'model-gateway'));
}

/** A server behind the edge with a fixed response. */
export async function upstream(
  words: string,
  host = '127.0.0.1',
): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((_request, response) => {
    response.end(words);
  }).listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Polls; the function may fail meanwhile. */
export async function eventually<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = Date.now() + WITHIN_MS;
  let error: unknown = 'it never held';
  while (Date.now() < deadline) {
    const found = await look().catch((failure: unknown) => {
      error = failure;
    });
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  throw new Error(`not within ${WITHIN_MS / 1000} s: ${look.toString()}`, { cause: error });
}
