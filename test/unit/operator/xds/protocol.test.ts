/**
 * Incremental xDS as Envoy's protocol document has it, over a real connection: each test is an exchange of messages.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { snapshotOf } from '../../contract/snapshot/objects.ts';
import { rawClient } from './raw-client.ts';
import type { RawClient, Seen } from './raw-client.ts';
import { testDistribution } from './support.ts';
import type { TestDistribution } from './support.ts';

const TYPE = 'type.googleapis.com/test.Thing';

interface Scene extends AsyncDisposable {
  readonly server: TestDistribution;
  readonly client: RawClient;
  /** Publishes exactly these: name → value. */
  readonly set: (things: Record<string, string>) => void;
}

async function scene(things: Record<string, string> = {}): Promise<Scene> {
  const server = await testDistribution();
  const set = (values: Record<string, string>): void =>
    server.publishResources(
      TYPE,
      Object.entries(values).map(([name, value]) => ({ name, value: Buffer.from(value) })),
    );
  set(things);
  server.publish(snapshotOf());
  const client = rawClient(server.port);
  return {
    server,
    client,
    set,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server.stop();
    },
  };
}

function saw({ typeUrl, resources, removed }: Seen, expected: { resources?: string[]; removed?: string[] }): void {
  assert.deepEqual(
    {
      typeUrl,
      resources: resources.toSorted(),
      removed: removed.toSorted(),
    },
    { typeUrl: TYPE, resources: expected.resources ?? [], removed: expected.removed ?? [] },
  );
}

describe('the wildcard', () => {
  for (const [words, names] of [
    ['named', ['*']],
    ['by a first request without names', []],
  ] as const) {
    it(`sends everything, and changes: ${words}`, async () => {
      await using held = await scene({ a: '1', b: '1' });
      const { client, set } = held;
      client.send({ typeUrl: TYPE, resourceNamesSubscribe: [...names] });
      const first = await client.next();
      saw(first, { resources: ['a@1', 'b@1'] });
      client.ack(first);
      await client.nothing();
      set({ a: '1', b: '2', c: '1' });
      const second = await client.next();
      saw(second, { resources: ['b@2', 'c@1'] });
      assert.notEqual(second.nonce, first.nonce);
      client.ack(second);
      set({ b: '2' });
      saw(await client.next(), { removed: ['a', 'c'] });
    });
  }

  it('is answered at once even without resources, since clients wait for that', async () => {
    await using held = await scene();
    const { client } = held;
    client.send({ typeUrl: TYPE });
    saw(await client.next(), {});
  });

  it('can be subscribed to and unsubscribed from beside names', async () => {
    await using held = await scene({ a: '1', b: '1' });
    const { client, set } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['a'] });
    const first = await client.next();
    saw(first, { resources: ['a@1'] });
    client.ack(first);
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'] });
    const second = await client.next();
    assert.ok(second.resources.includes('b@1'));
    client.ack(second);
    client.send({ typeUrl: TYPE, resourceNamesUnsubscribe: ['*'] });
    await client.nothing();
    set({ a: '2', b: '2' });
    saw(await client.next(), { resources: ['a@2'] });
  });

  it('stays when a name beside it is unsubscribed from: the response says whether that exists', async () => {
    await using held = await scene({ a: '1' });
    const { client } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*', 'a', 'gone'] });
    const first = await client.next();
    saw(first, { resources: ['a@1'] });
    const unknown = await client.next();
    saw(unknown, { removed: ['gone'] });
    client.ack(first);
    client.ack(unknown);
    client.send({ typeUrl: TYPE, resourceNamesUnsubscribe: ['a'] });
    const still = await client.next();
    saw(still, { resources: ['a@1'] });
    client.ack(still);
    client.send({ typeUrl: TYPE, resourceNamesUnsubscribe: ['gone'] });
    saw(await client.next(), { removed: ['gone'] });
  });

  it('of a first request without names stays when names follow, until it is unsubscribed from', async () => {
    await using held = await scene({ a: '1', b: '1' });
    const { client, set } = held;
    client.send({ typeUrl: TYPE });
    client.ack(await client.next());
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['a'] });
    const again = await client.next();
    saw(again, { resources: ['a@1'] });
    client.ack(again);
    set({ a: '1', b: '2' });
    const b = await client.next();
    saw(b, { resources: ['b@2'] });
    client.ack(b);
    client.send({ typeUrl: TYPE, resourceNamesUnsubscribe: ['*'] });
    await client.nothing();
    set({ a: '1', b: '3' });
    await client.nothing();
  });
});

describe('names', () => {
  it('that do not exist are reported as removed at once, and are sent when they are created', async () => {
    await using held = await scene();
    const { client, set } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['later'] });
    const first = await client.next();
    saw(first, { removed: ['later'] });
    client.ack(first);
    set({ later: '1', other: '1' });
    const second = await client.next();
    saw(second, { resources: ['later@1'] });
    client.ack(second);
    set({ other: '1' });
    const third = await client.next();
    saw(third, { removed: ['later'] });
    client.ack(third);
    set({ later: '2', other: '1' });
    saw(await client.next(), { resources: ['later@2'] });
  });

  it('that are subscribed to again are sent again: the client may have lost them', async () => {
    await using held = await scene({ a: '1', b: '1' });
    const { client } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['a'] });
    client.ack(await client.next());
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['a'] });
    saw(await client.next(), { resources: ['a@1'] });
  });

  it('that are unsubscribed from are sent no more; unknown ones are ignored', async () => {
    await using held = await scene({ a: '1', b: '1' });
    const { client, set } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['a', 'b'] });
    client.ack(await client.next());
    client.send({ typeUrl: TYPE, resourceNamesUnsubscribe: ['a', 'phantom'] });
    await client.nothing();
    set({ a: '2', b: '1' });
    await client.nothing();
    set({ a: '3', b: '2' });
    saw(await client.next(), { resources: ['b@2'] });
  });
});

describe('acknowledgements', () => {
  it('are awaited: changes in between are sent as one step', async () => {
    await using held = await scene({ a: '1' });
    const { client, set } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'] });
    const first = await client.next();
    set({ a: '2' });
    set({ a: '3', b: '1' });
    set({ a: '4' });
    await client.nothing();
    client.ack(first);
    saw(await client.next(), { resources: ['a@4'], removed: [] });
  });

  it('that reject a version prevent it from being sent again, but not the next one', async () => {
    await using held = await scene({ a: '1', b: '1' });
    const { client, set } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'] });
    client.nack(await client.next(), 'not so');
    await client.nothing();
    set({ a: '2', b: '1' });
    saw(await client.next(), { resources: ['a@2'] });
  });

  it('with a stale nonce are ignored, but their subscriptions apply', async () => {
    await using held = await scene({ a: '1', b: '1' });
    const { client, set } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['a'] });
    const first = await client.next();
    client.ack(first);
    set({ a: '2', b: '1' });
    const second = await client.next();
    client.send({ typeUrl: TYPE, responseNonce: first.nonce, resourceNamesSubscribe: ['b'] });
    saw(await client.next(), { resources: ['b@1'] });
    set({ a: '3', b: '1' });
    client.send({ typeUrl: TYPE, responseNonce: 'never sent' });
    await client.nothing();
    client.ack(second);
    await client.nothing();
  });

  it('can contain a change of subscription', async () => {
    await using held = await scene({ a: '1', b: '1' });
    const { client } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['a'] });
    const { nonce } = await client.next();
    client.send({ typeUrl: TYPE, responseNonce: nonce, resourceNamesSubscribe: ['b'] });
    saw(await client.next(), { resources: ['b@1'] });
  });
});

describe('a client that reconnects', () => {
  it('gets only differences, and removals', async () => {
    await using held = await scene({ a: '1', b: '1', c: '1' });
    const { server, client, set } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'] });
    const { versions } = await client.next();
    set({ a: '1', b: '2', d: '1' });
    await using again = rawClient(server.port);
    again.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'], initialResourceVersions: versions });
    const first = await again.next();
    saw(first, { resources: ['b@2', 'd@1'] });
    saw(await again.next(), { removed: ['c'] });
  });

  it('that is up to date gets only that information', async () => {
    await using held = await scene({ a: '1', b: '1' });
    const { server, client } = held;
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'] });
    const { versions } = await client.next();
    await using again = rawClient(server.port);
    again.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'], initialResourceVersions: versions });
    saw(await again.next(), {});
    await using named = rawClient(server.port);
    named.send({ typeUrl: TYPE, resourceNamesSubscribe: ['a'], initialResourceVersions: versions });
    await named.nothing();
  });

  it('finds the same versions at another replica', async () => {
    await using one = await scene({ a: '1' });
    await using two = await scene({ a: '0' });
    two.set({ a: '1' });
    one.client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'] });
    two.client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'] });
    assert.deepEqual((await one.client.next()).versions, (await two.client.next()).versions);
  });
});

describe('the stream', () => {
  it('separates types', async () => {
    await using held = await scene({ a: '1' });
    const { client, server } = held;
    const other = 'type.googleapis.com/test.Other';
    server.publishResources(other, [{ name: 'a', value: Buffer.from('9') }]);
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'] });
    saw(await client.next(), { resources: ['a@1'] });
    client.send({ typeUrl: other, resourceNamesSubscribe: ['a'] });
    assert.deepEqual((await client.next()).resources, ['a@9']);
    server.publishResources(other, []);
    await client.nothing(); // neither has been answered
  });

  it('ends with an error if a request has no type', async () => {
    await using held = await scene();
    const { client } = held;
    client.send({ typeUrl: '' });
    assert.equal((await client.ended)?.details, 'type_url is required');
  });

  it('sends nothing before the first publish, so that no client assumes removals', async () => {
    await using server = await testDistribution();
    await using client = rawClient(server.port);
    server.publishResources(TYPE, [{ name: 'a', value: Buffer.from('1') }]);
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'], initialResourceVersions: { a: 'x', gone: 'y' } });
    let answered = false;
    const first = client.next().then((seen) => {
      answered = true;
      return seen;
    });
    await using later = rawClient(server.port); // a whole connection later there is still no answer
    later.send({ typeUrl: '' });
    await later.ended;
    assert.equal(answered, false);
    server.publish(snapshotOf());
    saw(await first, { resources: ['a@1'] });
  });

  it('splits large responses, sends them completely, and applies back-pressure', async () => {
    const things = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`thing-${n}`, 'x'.repeat(20_000)]));
    await using held = await scene(things);
    const { server, client, set } = held;
    client.pause();
    client.send({ typeUrl: TYPE, resourceNamesSubscribe: ['*'] });
    const before = server.figures().pushesTotal;
    await using other = rawClient(server.port);
    await other.nothing();
    set({ ...things, 'thing-399': 'last' });
    client.resume();
    const got = new Map<string, string>();
    for (let parts = 0; got.size < 400; parts += 1) {
      const seen = await client.next();
      const bytes = seen.resources.join('').length;
      assert.ok(bytes < 2 * 1024 * 1024, `${bytes} bytes`);
      for (const each of seen.resources) got.set(each.slice(0, each.indexOf('@')), each.slice(each.indexOf('@') + 1));
      assert.ok(parts < 20);
    }
    assert.equal(got.get('thing-0')?.length, 20_000);
    assert.ok(server.figures().pushesTotal - before >= 8);
  });
});
