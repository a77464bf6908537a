/**
 * A real Envoy takes listeners, routes, clusters and endpoints over incremental aggregated discovery from the server that also
 * configures our own proxies: it serves traffic, refuses what is wrong, and comes back after a restart of the server.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { snapshotOf } from '../../dataplane/snapshot/objects.ts';
import { needEnvoy, startEnvoy } from '../../support/envoy.ts';
import type { RunningEnvoy } from '../../support/envoy.ts';
import { cluster, CLUSTER, endpoints, ENDPOINTS, listener, LISTENER, routes, ROUTES } from './envoy-messages.ts';
import { testDistribution, until } from './support.ts';
import type { TestDistribution } from './support.ts';

const envoy = await needEnvoy();

function bootstrap(port: number): object {
  const ads = { ads: {}, resource_api_version: 'V3' };
  return {
    node: { id: 'edge', cluster: 'edge' },
    dynamic_resources: {
      ads_config: { api_type: 'DELTA_GRPC', transport_api_version: 'V3', grpc_services: [{ envoy_grpc: { cluster_name: 'operator' } }] },
      lds_config: ads, cds_config: ads,
    },
    static_resources: {
      clusters: [{
        name: 'operator', type: 'STATIC', connect_timeout: '1s',
        typed_extension_protocol_options: { 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': { '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions', explicit_http_config: { http2_protocol_options: {} } } },
        load_assignment: { cluster_name: 'operator', endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } } }] }] },
      }],
    },
  };
}

async function upstream(words: string): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((_request, response) => { response.end(words); });
  server.listen(0, '127.0.0.1');
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

interface Dumped { readonly listener_statuses?: readonly { readonly name: string; readonly local_address: { readonly socket_address: { readonly port_value: number } } }[] }

/** The port of Envoy's listener; undefined: it has none of this name. */
async function portOf(running: RunningEnvoy, name: string): Promise<number | undefined> {
  const { listener_statuses: statuses = [] } = JSON.parse(await running.admin('/listeners?format=json')) as Dumped;
  return statuses.find((each) => each.name === name)?.local_address.socket_address.port_value;
}

async function eventually<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look().catch(() => undefined);
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
}

function answerOf(port: number): Promise<string> {
  return fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
}

function publishEdge(server: TestDistribution, port: number): void {
  server.publishResources(CLUSTER, [cluster('fleet')]);
  server.publishResources(ENDPOINTS, [endpoints('fleet', port)]);
  server.publishResources(LISTENER, [listener('edge', 'edge-routes')]);
  server.publishResources(ROUTES, [routes('edge-routes', 'fleet')]);
}

describe('a real Envoy', { skip: envoy.skip, timeout: 60_000 }, () => {
  it('serves traffic by what it is given, and follows what changes', async () => {
    await using one = await upstream('one');
    await using two = await upstream('two');
    await using server = await testDistribution();
    publishEdge(server, one.port);
    server.publish(snapshotOf());
    await using running = await startEnvoy(envoy.path, bootstrap(server.port));
    const port = await eventually(() => portOf(running, 'edge'));
    assert.equal(await eventually(() => answerOf(port)), 'one');
    server.publishResources(ENDPOINTS, [endpoints('fleet', two.port)]);
    await eventually(async () => await answerOf(port) === 'two');
    server.publishResources(CLUSTER, [cluster('fleet'), cluster('other')]);
    server.publishResources(ENDPOINTS, [endpoints('fleet', two.port), endpoints('other', one.port)]);
    server.publishResources(ROUTES, [routes('edge-routes', 'other')]);
    await eventually(async () => await answerOf(port) === 'one');
    assert.equal(server.figures().rejectionsTotal, 0, running.log());
  });

  it('refuses what is wrong, goes on with what it had, and takes what is right again', async () => {
    await using one = await upstream('one');
    await using server = await testDistribution();
    publishEdge(server, one.port);
    server.publish(snapshotOf());
    await using running = await startEnvoy(envoy.path, bootstrap(server.port));
    const port = await eventually(() => portOf(running, 'edge'));
    assert.equal(await eventually(() => answerOf(port)), 'one');
    server.publishResources(LISTENER, [listener('edge', 'edge-routes', true)]);
    await until(() => server.figures().rejectionsTotal === 1);
    assert.equal(await answerOf(port), 'one');
    const pushes = server.figures().pushesTotal;
    server.publishResources(LISTENER, [listener('edge', 'edge-routes'), listener('second', 'edge-routes')]);
    const second = await eventually(() => portOf(running, 'second'));
    assert.equal(await eventually(() => answerOf(second)), 'one');
    assert.ok(server.figures().pushesTotal > pushes);
    assert.equal(server.figures().rejectionsTotal, 1);
  });

  it('comes back after a restart of the server, and learns what has gone meanwhile', async () => {
    await using one = await upstream('one');
    const first = await testDistribution();
    publishEdge(first, one.port);
    first.publishResources(LISTENER, [listener('edge', 'edge-routes'), listener('doomed', 'edge-routes')]);
    first.publish(snapshotOf());
    await using running = await startEnvoy(envoy.path, bootstrap(first.port));
    const port = await eventually(() => portOf(running, 'edge'));
    await eventually(() => portOf(running, 'doomed'));
    assert.equal(await eventually(() => answerOf(port)), 'one');
    await first.stop();
    assert.equal(await answerOf(port), 'one');
    await using second = await testDistribution({ listen: { host: '127.0.0.1', port: first.port } });
    publishEdge(second, one.port);
    second.publish(snapshotOf());
    await eventually(async () => await portOf(running, 'doomed') === undefined);
    assert.equal(await answerOf(port), 'one');
  });
});
