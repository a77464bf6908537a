/**
 * Leader election with a controlled clock: never two leaders, no comparison of clocks, and a released lease is free at
 * once.
 */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { KubeError, KubeUnreachable } from '#kube/errors.ts';
import type { KubeRequest } from '#kube/client.ts';
import { startLeaderElection } from '#kube/lease.ts';
import { NO_LOG, fakeClock } from '../operator/fake-clock.ts';
import type { FakeClock } from '../operator/fake-clock.ts';

/** One Lease, with the API server's optimistic locking. */
function fakeServer() {
  let version = 0;
  const state: { lease?: Record<string, unknown> & { metadata: { resourceVersion?: string } } } = {};
  return {
    state,
    async request({ method, body }: KubeRequest): Promise<unknown> {
      if (method === 'GET') {
        if (!state.lease) throw new KubeError('not found', { status: 404 });
        return structuredClone(state.lease);
      }
      const given = body as { metadata: { resourceVersion?: string } };
      const current = state.lease?.metadata.resourceVersion;
      if (given.metadata.resourceVersion !== current) throw new KubeError('conflict', { status: 409 });
      state.lease = { ...structuredClone(given), metadata: { ...given.metadata, resourceVersion: String(++version) } };
      return state.lease;
    },
  };
}

function candidate(clock: FakeClock, server: ReturnType<typeof fakeServer>, identity: string) {
  const told: string[] = [];
  let cut = false;
  const lease = startLeaderElection({
    clock,
    log: NO_LOG,
    namespace: 'n',
    name: 'l',
    identity,
    address: `${identity}:1`,
    client: { request: (request) => (cut ? Promise.reject(new KubeUnreachable('cut off')) : server.request(request)) },
    onChange: (leading, address) => told.push(leading ? 'leads' : `follows ${address ?? 'nobody'}`),
  });
  return {
    lease,
    told,
    cut: (value: boolean) => {
      cut = value;
    },
  };
}

test('the first one leads, and the other knows the leader', async () => {
  const [clock, server] = [fakeClock(), fakeServer()];
  const [a, b] = [candidate(clock, server, 'a'), candidate(clock, server, 'b')];
  await clock.pass(60_000);
  assert.deepEqual([a.lease.leading, b.lease.leading], [true, false]);
  assert.deepEqual([a.told, b.told.at(-1)], [['leads'], 'follows a:1']);
  await Promise.all([a.lease.stop(), b.lease.stop()]);
});

test('a leader that cannot renew stops before another starts', async () => {
  const [clock, server] = [fakeClock(), fakeServer()];
  const a = candidate(clock, server, 'a');
  await clock.pass(1000);
  const b = candidate(clock, server, 'b');
  await clock.pass(5000);
  a.cut(true);
  let changedHands = false;
  for (let i = 0; i < 250; i++) {
    await clock.pass(100);
    assert.ok(!(a.lease.leading && b.lease.leading), 'two leaders');
    if (!a.lease.leading && !b.lease.leading) changedHands = true;
  }
  assert.ok(changedHands && b.lease.leading);
  a.cut(false);
  await clock.pass(20_000);
  assert.deepEqual([a.lease.leading, a.told.at(-1)], [false, 'follows b:1']);
  await Promise.all([a.lease.stop(), b.lease.stop()]);
});

test('a released lease is acquired as soon as it is seen', async () => {
  const [clock, server] = [fakeClock(), fakeServer()];
  const a = candidate(clock, server, 'a');
  await clock.pass(1000);
  const b = candidate(clock, server, 'b');
  await clock.pass(3000);
  await a.lease.stop();
  assert.equal(a.told.at(-1), 'follows nobody');
  assert.equal(b.lease.leading, false);
  b.lease.changed();
  await clock.pass(0);
  assert.equal(b.lease.leading, true);
  const { spec } = server.state.lease as unknown as { spec: { holderIdentity: string; leaseTransitions: number } };
  assert.deepEqual([spec.holderIdentity, spec.leaseTransitions], ['b', 1]);
  await b.lease.stop();
});

test('only one of two concurrent candidates gets it', async () => {
  const [clock, server] = [fakeClock(), fakeServer()];
  const all = ['a', 'b', 'c', 'd'].map((identity) => candidate(clock, server, identity));
  await clock.pass(5000);
  assert.equal(all.filter(({ lease }) => lease.leading).length, 1);
  await Promise.all(all.map(({ lease }) => lease.stop()));
});

test('a process that was suspended does not assume that it still leads', async () => {
  const [clock, server] = [fakeClock(), fakeServer()];
  const a = candidate(clock, server, 'a');
  await clock.pass(1000);
  const thawedMs = clock.nowMs() + 11_000;
  clock.nowMs = () => thawedMs; // its timers have not run yet
  assert.equal(a.lease.leading, false);
  await a.lease.stop();
});
