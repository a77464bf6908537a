/**
 * Our proxy's client against our server: what is in force, what is answered, and what happens when either goes away.
 */
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { describe, it } from 'vitest';
import { EMPTY_SNAPSHOT } from '#snapshot/kinds.gen.ts';
import { compile } from '../../../../dataplane/state/compile.ts';
import {
  accountOf,
  channelOf,
  directGroup,
  hashOf,
  modelOf,
  routeEntry,
  routeOf,
} from '../../contract/snapshot/objects.ts';
import { testDistribution, until } from '../../operator/xds/support.ts';
import { cable, configOf, numberedKey, testProxy } from './support.ts';
import type { TestProxy } from './support.ts';

const KEY = 'ApiKey team-a/key-1';

/** Every value, and functions by name: each compilation makes its own. */
function described(value: unknown): string {
  return inspect(value, { depth: Infinity, maxArrayLength: null, sorted: true });
}

function opens(proxy: TestProxy, n: number): boolean {
  return proxy.state()?.credentials.get(hashOf(n))?.key.enabled === true;
}

describe('a proxy', { timeout: 60_000 }, () => {
  it('applies the first configuration as a whole, even an empty one, and each edit after it', async () => {
    await using server = await testDistribution();
    await using proxy = await testProxy(server.port);
    server.publish(EMPTY_SNAPSHOT);
    await until(() => proxy.installs() === 1);
    assert.equal(proxy.client.figures().connected, true);
    const first = configOf([1, 2, 3]);
    server.publish(first);
    await until(() => opens(proxy, 3));
    assert.equal(proxy.installs(), 2);
    assert.equal(described(proxy.state()?.groups), described(compile(first).groups));
    server.publish({ ...first, keys: [numberedKey(1), numberedKey(2, { enabled: false }), numberedKey(4)] });
    await until(() => opens(proxy, 4));
    assert.deepEqual(
      [1, 2, 3, 4].map((n) => opens(proxy, n)),
      [true, false, false, true],
    );
    await until(() => server.progress('ApiKey team-a/key-4')?.acknowledged === 1);
    assert.equal(server.progress('ApiKey team-a/key-3'), undefined);
    assert.equal(proxy.state()?.credentials.size, 3);
  });

  it('compiles edits to the same as the whole', async () => {
    await using server = await testDistribution();
    await using proxy = await testProxy(server.port);
    const config = configOf([1, 2]);
    server.publish(config);
    await until(() => opens(proxy, 2));
    const moved = {
      ...config,
      keys: [
        numberedKey(1, { hashes: [{ sha256: hashOf(2) }] }),
        numberedKey(2, { hashes: [{ sha256: hashOf(1) }], models: { names: ['gpt'] } }),
      ],
      accounts: [accountOf('team-a', 5n), accountOf('team-b')],
      groups: [directGroup('auto-a', [routeEntry('main')], { priceRatioE9: 2_000_000_000n })],
    };
    server.publish(moved);
    await until(() => proxy.state()?.accounts.size === 2);
    const state = proxy.state() ?? compile(config);
    const expected = compile(moved);
    assert.deepEqual(new Map(state.credentials), new Map(expected.credentials));
    assert.deepEqual(new Map(state.accounts), new Map(expected.accounts));
    assert.deepEqual(state.pricing, expected.pricing);
    const tiersOf = ({ groups }: typeof state): string => described(groups.get('auto-a')?.offers.get('gpt')?.tiers);
    assert.equal(tiersOf(state), tiersOf(expected));
  });

  it('refuses an invalid object with all its errors, keeps its last good version, and accepts the others', async () => {
    await using server = await testDistribution();
    await using proxy = await testProxy(server.port);
    const config = configOf([1]);
    server.publish(config);
    await until(() => server.progress(KEY)?.acknowledged === 1);
    const bad = routeOf(
      'main',
      [modelOf('gpt', { contextTokens: 0 })],
      [channelOf('one', { weight: 0, baseUrl: 'nowhere' })],
      { generation: 2n },
    );
    server.publish({ ...config, keys: [numberedKey(1), numberedKey(2)], routes: [bad] });
    await until(() => opens(proxy, 2));
    await until(() => (server.progress('ModelRoute model-gateway/main')?.rejected.length ?? 0) > 0);
    const progress = server.progress('ModelRoute model-gateway/main');
    assert.equal(progress?.acknowledged, 0);
    const [{ proxy: name, message } = { proxy: '', message: '' }] = progress?.rejected ?? [];
    assert.equal(name, 'proxy');
    for (const word of ['context_tokens', 'weight', 'base_url']) assert.ok(message.includes(word), message);
    assert.ok(!message.includes('secret-of-one'));
    assert.equal(proxy.state()?.targets.get('main/one')?.baseUrl, 'https://one.example/v1');
    assert.equal(proxy.client.figures().refused, 1);
    await until(() => server.progress('ApiKey team-a/key-2')?.acknowledged === 1);
    server.publish({
      ...config,
      keys: [numberedKey(1), numberedKey(2)],
      routes: [routeOf('main', [modelOf('gpt')], [channelOf('two')], { generation: 3n })],
    });
    await until(() => server.progress('ModelRoute model-gateway/main')?.acknowledged === 1);
    assert.ok(proxy.state()?.targets.has('main/two'));
    assert.equal(proxy.client.figures().refused, 0);
  });

  it('refuses the newer of two that conflict, and accepts it when the other is gone', async () => {
    await using server = await testDistribution();
    await using proxy = await testProxy(server.port);
    const config = configOf([1]);
    server.publish(config);
    await until(() => opens(proxy, 1));
    const thief = numberedKey(2, { hashes: [{ sha256: hashOf(1) }] });
    server.publish({ ...config, keys: [numberedKey(1), thief] });
    await until(() => server.progress('ApiKey team-a/key-2')?.rejected.length === 1);
    assert.equal(proxy.state()?.credentials.get(hashOf(1))?.key.name, 'key-1');
    server.publish({ ...config, keys: [thief] });
    await until(() => server.progress('ApiKey team-a/key-2')?.acknowledged === 1);
    assert.equal(proxy.state()?.credentials.get(hashOf(1))?.key.name, 'key-2');
    assert.equal(server.progress('ApiKey team-a/key-2')?.rejected.length, 0);
  });

  it('drops a key that was revoked while it was disconnected, and gets only differences', async () => {
    const first = await testDistribution();
    const keys = Array.from({ length: 500 }, (_, n) => n + 1);
    first.publish(configOf(keys));
    await using proxy = await testProxy(first.port);
    await until(() => opens(proxy, 500));
    await first.stop();
    await until(() => !proxy.client.figures().connected);
    assert.ok(opens(proxy, 1), 'the last good configuration stays in force');
    await using second = await testDistribution({ listen: { host: '127.0.0.1', port: first.port } });
    second.publish(configOf(keys.slice(1)));
    await until(() => !opens(proxy, 1));
    await until(() => second.progress('ApiKey team-a/key-2')?.acknowledged === 1);
    assert.equal(proxy.state()?.credentials.size, 499);
    assert.ok(second.figures().pushesTotal <= 8, `${second.figures().pushesTotal} pushes`);
  });

  it('connects to another address when its operator is gone', async () => {
    const first = await testDistribution();
    await using second = await testDistribution();
    first.publish(configOf([1]));
    second.publish(configOf([1, 2]));
    await using proxy = await testProxy([first.port, second.port]);
    await until(() => proxy.client.figures().connected);
    await first.stop();
    await until(() => opens(proxy, 2));
    assert.equal(proxy.client.figures().connections, 2);
  });

  it('detects a dead connection, and so does the server', async () => {
    await using server = await testDistribution({ keepaliveMs: 100 });
    server.publish(configOf([1]));
    await using wire = await cable(server.port);
    await using proxy = await testProxy(wire.port, { keepaliveMs: 100 });
    await until(() => server.figures().connectedProxies === 1);
    wire.cut();
    server.publish(configOf([1, 2]));
    await until(() => server.figures().connectedProxies === 0 && !proxy.client.figures().connected);
    assert.deepEqual([server.progress('ApiKey team-a/key-2')?.connected, opens(proxy, 1)], [0, true]);
    wire.mend();
    await until(() => opens(proxy, 2) && server.figures().connectedProxies === 1);
  });

  it('goes on to the next operator if one accepts the connection and says nothing', async () => {
    await using server = await testDistribution();
    server.publish(configOf([1]));
    await using silent = await cable(server.port);
    silent.cut();
    await using proxy = await testProxy([silent.port, server.port], { keepaliveMs: 100 });
    await until(() => proxy.client.figures().connected);
    assert.ok(opens(proxy, 1));
    assert.match(proxy.logs.join(), /Failed to connect before the deadline/);
  });

  it('receives 10,000 keys in several messages, and one edit of them alone', async () => {
    await using server = await testDistribution();
    const keys = Array.from({ length: 10_000 }, (_, n) => numberedKey(n));
    server.publish(configOf([], { keys }));
    await using proxy = await testProxy(server.port);
    await until(() => proxy.state()?.credentials.size === 10_000);
    assert.equal(proxy.installs(), 1);
    const before = server.figures().pushesTotal;
    assert.ok(before >= 7, 'more than one message for the keys');
    await until(() => server.figures().connectedProxies === 1);
    server.publish(configOf([], { keys: keys.with(5_000, numberedKey(5_000, { enabled: false })) }));
    await until(() => !opens(proxy, 5_000));
    await until(() => server.progress('ApiKey team-a/key-5000')?.acknowledged === 1);
    assert.equal(server.figures().pushesTotal - before, 2, 'the key, and that it is all');
    assert.equal(proxy.state()?.credentials.size, 10_000);
    const { convergedMs } = server.progress('ApiKey team-a/key-5000') ?? {};
    assert.ok(convergedMs !== undefined && convergedMs >= 0);
  });

  it('keeps up with continuous edits, and counts them', async () => {
    await using server = await testDistribution();
    server.publish(configOf([1, 2, 3]));
    let generation = 1n;
    const churn = setInterval(() => {
      generation += 1n;
      server.publish(
        configOf([], {
          keys: [1, 2, 3].map((n) => numberedKey(n, { generation, enabled: n !== Number(generation % 4n) })),
        }),
      );
    });
    try {
      await using proxy = await testProxy(server.port);
      await until(() => server.figures().connectedProxies === 1 && generation > 300n);
      clearInterval(churn);
      await until(() => proxy.state()?.credentials.get(hashOf(3))?.key.quota.generation === generation);
      await until(() => [1, 2, 3].every((n) => server.progress(`ApiKey team-a/key-${n}`)?.acknowledged === 1));
      assert.deepEqual(
        [1, 2, 3].map((n) => opens(proxy, n)),
        [1, 2, 3].map((n) => n !== Number(generation % 4n)),
      );
      assert.deepEqual(proxy.logs, []);
    } finally {
      clearInterval(churn);
    }
  });

  it("reports providers' refusals, each at most once per interval", async () => {
    await using server = await testDistribution();
    const heard: unknown[] = [];
    server.onRefusal((refusal) => heard.push(refusal));
    server.publish(configOf([1]));
    await using proxy = await testProxy(server.port);
    await until(() => proxy.client.figures().connected);
    for (let n = 0; n < 100; n += 1)
      proxy.client.reportRefusal({ route: 'main', channel: 'one', status: 401, connectError: '' });
    proxy.client.reportRefusal({ route: 'main', channel: 'two', status: 404, connectError: '' });
    await until(() => heard.length >= 2);
    const known = { route: 'main', connectError: '', recovered: undefined };
    assert.deepEqual(heard, [
      { ...known, channel: 'one', status: 401 },
      { ...known, channel: 'two', status: 404 },
    ]);
    // the credential was mended, and is refused again within the interval
    const one = { route: 'main', channel: 'one', connectError: '' };
    proxy.client.reportRefusal({ ...one, status: 0, recovered: true });
    proxy.client.reportRefusal({ ...one, status: 401 });
    await until(() => heard.length >= 4);
    assert.deepEqual(heard.slice(2), [
      { ...one, status: 0, recovered: true },
      { ...one, status: 401, recovered: undefined },
    ]);
  });
});
