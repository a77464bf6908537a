/**
 * A real Envoy gets listeners, routes, clusters and endpoints by incremental aggregated discovery from the server that
 * also configures our proxies: it serves traffic, refuses invalid resources, and reconnects after a restart of the
 * server.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { snapshotOf } from '../../unit/contract/snapshot/objects.ts';
import { needEnvoy, startEnvoy } from '../../support/envoy.ts';
import {
  cluster,
  CLUSTER,
  endpoints,
  ENDPOINTS,
  listener,
  LISTENER,
  routes,
  ROUTES,
} from '../../unit/operator/xds/envoy-messages.ts';
import { edgeBootstrap, eventually, portOf, upstream } from './envoy-support.ts';
import { testDistribution, until } from '../../unit/operator/xds/support.ts';
import type { TestDistribution } from '../../unit/operator/xds/support.ts';

const envoy = await needEnvoy();

function answerOf(port: number): Promise<string> {
  return fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
}

function publishEdge(server: TestDistribution, port: number): void {
  server.publishResources(CLUSTER, [cluster('fleet')]);
  server.publishResources(ENDPOINTS, [endpoints('fleet', port)]);
  server.publishResources(LISTENER, [listener('edge', 'edge-routes')]);
  server.publishResources(ROUTES, [routes('edge-routes', 'fleet')]);
}

describe.skipIf(envoy.skip)('a real Envoy', { timeout: 180_000 }, () => {
  it('serves traffic by its configuration, and follows changes', async () => {
    await using one = await upstream('one');
    await using two = await upstream('two');
    await using server = await testDistribution();
    publishEdge(server, one.port);
    server.publish(snapshotOf());
    await using running = await startEnvoy(envoy.path, edgeBootstrap(server.port));
    const port = await eventually(() => portOf(running, 'edge'));
    assert.equal(await eventually(() => answerOf(port)), 'one');
    server.publishResources(ENDPOINTS, [endpoints('fleet', two.port)]);
    await eventually(async () => (await answerOf(port)) === 'two');
    server.publishResources(CLUSTER, [cluster('fleet'), cluster('other')]);
    server.publishResources(ENDPOINTS, [endpoints('fleet', two.port), endpoints('other', one.port)]);
    server.publishResources(ROUTES, [routes('edge-routes', 'other')]);
    await eventually(async () => (await answerOf(port)) === 'one');
    assert.equal(server.figures().rejectionsTotal, 0, running.log());
  });

  it('refuses an invalid resource, keeps the last good one, and accepts the next valid one', async () => {
    await using one = await upstream('one');
    await using server = await testDistribution();
    publishEdge(server, one.port);
    server.publish(snapshotOf());
    await using running = await startEnvoy(envoy.path, edgeBootstrap(server.port));
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

  it('reconnects after a restart of the server, and learns of removals', async () => {
    await using one = await upstream('one');
    const first = await testDistribution();
    publishEdge(first, one.port);
    first.publishResources(LISTENER, [listener('edge', 'edge-routes'), listener('doomed', 'edge-routes')]);
    first.publish(snapshotOf());
    await using running = await startEnvoy(envoy.path, edgeBootstrap(first.port));
    const port = await eventually(() => portOf(running, 'edge'));
    await eventually(() => portOf(running, 'doomed'));
    assert.equal(await eventually(() => answerOf(port)), 'one');
    await first.stop();
    assert.equal(await answerOf(port), 'one');
    await using second = await testDistribution({ listen: { host: '127.0.0.1', port: first.port } });
    publishEdge(second, one.port);
    second.publish(snapshotOf());
    await eventually(async () => (await portOf(running, 'doomed')) === undefined);
    assert.equal(await answerOf(port), 'one');
  });
});
