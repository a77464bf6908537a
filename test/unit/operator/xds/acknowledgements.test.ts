/**
 * The leader's view of the fleet: proxies of all replicas that connect, reject, hang and disconnect, and changes of the
 * leader.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { configOf, numberedKey, testProxy } from '../../dataplane/xds/support.ts';
import { cable } from '../../dataplane/xds/support.ts';
import type { TestProxy } from '../../dataplane/xds/support.ts';
import { routeOf, modelOf, channelOf } from '../../contract/snapshot/objects.ts';
import { CHECKPOINT_TYPE, RESOURCE_TYPES } from '#snapshot/resources.ts';
import { Acknowledgements } from '../../../../operator/xds/acknowledgements.ts';
import { ResourceCache } from '../../../../operator/xds/resource-cache.ts';
import { lateCable } from './late-cable.ts';
import { rawClient } from './raw-client.ts';
import type { RawClient } from './raw-client.ts';
import { QUIET, testDistribution, until } from './support.ts';
import type { TestDistribution } from './support.ts';

const KEY = 'ApiKey team-a/key-1';
const ROUTE = 'ModelRoute model-gateway/main';
const CONFIG = configOf([1]);
const EDITED = { ...CONFIG, keys: [numberedKey(1, { generation: 2n })] };

function counts(
  server: TestDistribution,
  id: string,
): { connected: number; acknowledged: number; rejected: number } | undefined {
  const progress = server.progress(id);
  return (
    progress && {
      connected: progress.connected,
      acknowledged: progress.acknowledged,
      rejected: progress.rejected.length,
    }
  );
}

async function proxies(server: TestDistribution, names: readonly string[]): Promise<TestProxy[]> {
  const started = await Promise.all(names.map((nodeId) => testProxy(server.port, { nodeId })));
  await until(() => server.figures().connectedProxies === names.length);
  return started;
}

/** A proxy that holds everything, and acknowledges nothing more. */
async function silentProxy(server: TestDistribution): Promise<RawClient> {
  const client = rawClient(server.port);
  const types = [...RESOURCE_TYPES.map(({ typeUrl }) => typeUrl), CHECKPOINT_TYPE];
  for (const typeUrl of types)
    client.send({ typeUrl, resourceNamesSubscribe: ['*'], node: { id: 'silent', cluster: '', userAgentName: '' } });
  const seen = [];
  for (const _type of types) seen.push(await client.next());
  for (const each of seen) client.ack(each);
  return client;
}

describe('progress', { timeout: 180_000 }, () => {
  it('is unknown for unpublished objects, and needs no proxy while there is none', async () => {
    await using server = await testDistribution();
    assert.equal(server.progress(KEY), undefined);
    server.publish(CONFIG);
    const progress = server.progress(KEY);
    assert.deepEqual(
      {
        ...progress,
        version: '',
      },
      { version: '', connected: 0, acknowledged: 0, rejected: [], convergedMs: undefined },
    );
    assert.match(progress?.version ?? '', /^[0-9a-f]{20}$/);
    assert.equal(server.progress('Nothing team-a/key-1'), undefined);
  });

  it('counts a first proxy for objects that were published before', async () => {
    const latencies: number[] = [];
    await using server = await testDistribution({ onAcknowledged: (latencyMs) => latencies.push(latencyMs) });
    const began = performance.now();
    server.publish(CONFIG);
    const [one] = await proxies(server, ['one']);
    await until(() => server.progress(KEY)?.convergedMs !== undefined);
    const { convergedMs = -1 } = server.progress(KEY) ?? {};
    const most = performance.now() - began;
    assert.ok(convergedMs > 0 && convergedMs <= most, `${convergedMs}`);
    assert.ok(latencies.length >= 6 && latencies.every((each) => each >= 0 && each <= most), latencies.join());
    await one?.stop();
    // reconnects with everything: empty responses, which are acknowledged too
    await using _again = await testProxy(server.port, { nodeId: 'one' });
    await until(() => server.figures().connectedProxies === 1);
    assert.ok(latencies.every((each) => each <= performance.now() - began));
  });

  it('counts every proxy, and waits for a hanging one until it is disconnected', async () => {
    await using server = await testDistribution();
    server.publish(CONFIG);
    const [one, two] = await proxies(server, ['one', 'two']);
    const silent = await silentProxy(server);
    await until(() => server.figures().connectedProxies === 3);
    await until(() => counts(server, KEY)?.acknowledged === 3 && counts(server, ROUTE)?.acknowledged === 3);
    await delay(500); // the report of these acknowledgements is due before
    assert.deepEqual(counts(server, KEY), { connected: 3, acknowledged: 3, rejected: 0 });
    const told: string[][] = [];
    server.onProgress((ids) => told.push([...ids]));
    server.publish(EDITED);
    await until(() => server.progress(KEY)?.acknowledged === 2);
    assert.deepEqual([server.progress(KEY)?.convergedMs, counts(server, KEY)?.connected], [undefined, 3]);
    assert.deepEqual(counts(server, ROUTE), { connected: 3, acknowledged: 3, rejected: 0 });
    await silent[Symbol.asyncDispose]();
    await until(() => server.progress(KEY)?.connected === 2);
    assert.equal(server.progress(KEY)?.acknowledged, 2);
    await until(() => told.length > 0 && server.progress(KEY)?.convergedMs !== undefined);
    assert.ok(
      told.flat().every((id) => id === KEY),
      told.flat().join(),
    );
    await Promise.all([one?.stop(), two?.stop()]);
    await until(() => server.figures().connectedProxies === 0);
  });

  it('keeps the time of the first convergence when another proxy connects', async () => {
    await using server = await testDistribution();
    server.publish(CONFIG);
    const [one] = await proxies(server, ['one']);
    server.publish(EDITED);
    await until(() => server.progress(KEY)?.convergedMs !== undefined);
    const { convergedMs } = server.progress(KEY) ?? {};
    await using _two = await testProxy(server.port, { nodeId: 'two' });
    await until(() => server.progress(KEY)?.acknowledged === 2);
    assert.equal(server.progress(KEY)?.convergedMs, convergedMs);
    await one?.stop();
  });

  it('counts a proxy once that reconnects before its old stream has ended', async () => {
    await using server = await testDistribution();
    server.publish(CONFIG);
    await using wire = await cable(server.port);
    await using _old = await testProxy(wire.port, { nodeId: 'same', keepaliveMs: 60_000 });
    await until(() => server.figures().connectedProxies === 1);
    wire.cut();
    await using proxy = await testProxy(server.port, { nodeId: 'same' });
    await until(() => proxy.client.figures().connected);
    server.publish(EDITED);
    await until(() => server.progress(KEY)?.acknowledged === 1);
    assert.deepEqual(counts(server, KEY), { connected: 1, acknowledged: 1, rejected: 0 });
  });
});

describe('with several replicas', { timeout: 180_000 }, () => {
  it('counts the proxies of all at the leader, with their messages', async () => {
    await using leader = await testDistribution();
    await using follower = await testDistribution();
    for (const server of [leader, follower]) server.publish(CONFIG);
    const here = await proxies(leader, ['one']);
    const there = await proxies(follower, ['two', 'three']);
    leader.leaderAt(undefined);
    follower.leaderAt(`127.0.0.1:${leader.port}`);
    await until(() => leader.progress(KEY)?.connected === 3);
    assert.deepEqual(counts(leader, KEY), { connected: 3, acknowledged: 3, rejected: 0 });
    leader.publish(EDITED);
    await until(() => leader.progress(KEY)?.acknowledged === 1); // the follower has not seen it yet
    assert.deepEqual(counts(leader, KEY), { connected: 3, acknowledged: 1, rejected: 0 });
    follower.publish(EDITED);
    await until(() => leader.progress(KEY)?.acknowledged === 3);
    assert.ok(leader.progress(KEY)?.convergedMs !== undefined);
    const bad = { ...EDITED, routes: [routeOf('main', [modelOf('gpt')], [channelOf('one', { weight: 0 })])] };
    for (const server of [leader, follower]) server.publish(bad);
    await until(() => leader.progress(ROUTE)?.rejected.length === 3);
    assert.deepEqual(
      leader
        .progress(ROUTE)
        ?.rejected.map(({ proxy }) => proxy)
        .sort(),
      ['one', 'three', 'two'],
    );
    const heard: unknown[] = [];
    leader.onRefusal((refusal) => heard.push(refusal));
    there[0]?.client.reportRefusal({ route: 'main', channel: 'one', status: 401, connectError: '' });
    await until(() => heard.length === 1);
    // each takes the other for the leader: reports are sent once, not in a circle
    leader.leaderAt(`127.0.0.1:${follower.port}`);
    await until(() => follower.figures().remoteProxies === 1);
    there[1]?.client.reportRefusal({ route: 'main', channel: 'two', status: 404, connectError: '' });
    await until(() => heard.length === 2);
    here[0]?.client.reportRefusal({ route: 'main', channel: 'three', status: 404, connectError: '' });
    await until(() => heard.length >= 3);
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    assert.deepEqual(
      heard.map((each) => (each as { channel: string }).channel),
      ['one', 'two', 'three'],
    );
    leader.leaderAt(undefined);
    await Promise.all([...here, ...there].map((proxy) => proxy.stop()));
    await until(() => leader.progress(KEY)?.connected === 0);
  });

  it('knows the names of all connected proxies at the leader, and tells of changes', async () => {
    await using leader = await testDistribution();
    await using follower = await testDistribution();
    for (const server of [leader, follower]) server.publish(CONFIG);
    const [one] = await proxies(leader, ['one']);
    const there = await proxies(follower, ['two', 'three']);
    let told = 0;
    leader.onNames(() => void told++);
    const known = (): string => [...(leader.connectedNames() ?? ['unknown'])].sort().join();
    assert.equal(known(), 'one');
    follower.leaderAt(`127.0.0.1:${leader.port}`);
    await until(() => known() === 'one,three,two');
    await until(() => told > 0);
    const before = leader.connectedNames();
    leader.publish(EDITED);
    await until(() => leader.progress(KEY)?.acknowledged === 1);
    assert.equal(leader.connectedNames(), before, 'the same set while nobody comes or goes');
    told = 0;
    await there[0]?.stop();
    await until(() => known() === 'one,three');
    await until(() => told > 0);
    follower.leaderAt(undefined);
    await until(() => known() === 'one');
    await Promise.all([one?.stop(), there[1]?.stop()]);
  });

  it('knows no names while a replica of an earlier version reports only how many are connected', () => {
    const acknowledgements = new Acknowledgements(new ResourceCache());
    const digest = { replica: 'older', connected: 2, objects: [], refusals: [], proxies: [] };
    acknowledgements.heard(digest, 0);
    assert.equal(acknowledgements.allNames, undefined);
    acknowledgements.heard({ ...digest, replica: 'newer', proxies: ['a', 'b'] }, 0);
    assert.equal(acknowledgements.allNames, undefined);
    acknowledgements.forget('older');
    assert.deepEqual([...(acknowledgements.allNames ?? [])], ['a', 'b']);
    assert.ok(acknowledgements.takeNamesChanged());
    acknowledgements.heard({ ...digest, replica: 'newer' }, 0); // nothing of the names has changed
    assert.deepEqual([...(acknowledgements.allNames ?? [])], ['a', 'b']);
    assert.ok(!acknowledgements.takeNamesChanged());
    acknowledgements.heard({ ...digest, replica: 'newer', connected: 0 }, 0);
    assert.deepEqual([...(acknowledgements.allNames ?? ['none is known'])], []);
  });

  it('drops the proxies of a dead replica, and counts them where they reconnect', async () => {
    await using leader = await testDistribution();
    const follower = await testDistribution();
    for (const server of [leader, follower]) server.publish(CONFIG);
    await using wandering = await testProxy([follower.port, leader.port], { nodeId: 'wanderer' });
    await until(() => follower.figures().connectedProxies === 1);
    follower.leaderAt(`127.0.0.1:${leader.port}`);
    await until(() => leader.figures().remoteProxies === 1);
    await follower.stop();
    await until(() => leader.figures().remoteProxies === 0 && leader.figures().connectedProxies === 1);
    assert.deepEqual(counts(leader, KEY), { connected: 1, acknowledged: 1, rejected: 0 });
    assert.ok(wandering.client.figures().connected);
  });

  it('is complete at a new leader, and again after another change', async () => {
    await using one = await testDistribution();
    await using two = await testDistribution();
    for (const server of [one, two]) server.publish(CONFIG);
    const started = [...(await proxies(one, ['a'])), ...(await proxies(two, ['b']))];
    two.leaderAt(`127.0.0.1:${one.port}`);
    await until(() => one.progress(KEY)?.acknowledged === 2);
    two.leaderAt(undefined);
    one.leaderAt(`127.0.0.1:${two.port}`);
    await until(() => two.progress(KEY)?.acknowledged === 2);
    await until(() => one.figures().remoteProxies === 0);
    two.leaderAt(`127.0.0.1:${one.port}`);
    one.leaderAt(undefined);
    await until(() => one.progress(KEY)?.acknowledged === 2);
    await Promise.all(started.map((proxy) => proxy.stop()));
  });

  it('continues after an older stream of the replica has arrived late', async () => {
    await using leader = await testDistribution();
    const warnings: unknown[] = [];
    await using follower = await testDistribution({
      log: { ...QUIET, warn: (...line: unknown[]) => warnings.push(line) },
    });
    for (const server of [leader, follower]) server.publish(CONFIG);
    const [proxy] = await proxies(follower, ['a']);
    await using wire = await lateCable(leader.port);
    follower.leaderAt(`127.0.0.1:${wire.port}`);
    await until(() => wire.held().includes('team-a/key-1'));
    const report = wire.held();
    follower.leaderAt(undefined);
    follower.leaderAt(`127.0.0.1:${leader.port}`);
    await until(() => leader.progress(KEY)?.acknowledged === 1);
    wire.release(report);
    await until(() => warnings.length > 0); // its newer stream was ended
    for (const server of [leader, follower]) server.publish(EDITED);
    await until(() => leader.progress(KEY)?.acknowledged === 1 && leader.progress(KEY)?.convergedMs !== undefined);
    assert.deepEqual(counts(leader, KEY), { connected: 1, acknowledged: 1, rejected: 0 });
    await proxy?.stop();
  });

  it('is reported to a leader that is elected later', async () => {
    await using follower = await testDistribution();
    follower.publish(CONFIG);
    const [proxy] = await proxies(follower, ['a']);
    const early = await testDistribution();
    const { port } = early;
    await early.stop();
    follower.leaderAt(`127.0.0.1:${port}`);
    await using leader = await testDistribution({ listen: { host: '127.0.0.1', port } });
    leader.publish(CONFIG);
    await until(() => leader.progress(KEY)?.acknowledged === 1);
    await proxy?.stop();
  });
});
