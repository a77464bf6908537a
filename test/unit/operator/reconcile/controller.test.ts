/** The reconcile loop with a controlled clock: batching, statuses and retries. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { SnapshotFault } from '#snapshot/faults.ts';
import { Controller } from '../../../../operator/reconcile/controller.ts';
import type { PublishResult } from '../../../../operator/reconcile/controller.ts';
import type { MintResult } from '../../../../operator/reconcile/mint-keys.ts';
import { createStatusTracker } from '../../../../operator/reconcile/status-tracker.ts';
import type { ObjectStatus } from '../../../../operator/reconcile/status-tracker.ts';
import type { Resources } from '#objects/resources.ts';
import { GATEWAY_NAMESPACE, NOW_MS, newLoader, resourcesOf } from '../support.ts';

const DEBOUNCE_MS = 20;

/** Timers that fire only when the clock is advanced. */
function fakeTimers() {
  let nowMs = NOW_MS;
  const pending = new Set<{ atMs: number; run: () => void }>();
  return {
    nowMs: () => nowMs,
    after(ms: number, run: () => void) {
      const timer = { atMs: nowMs + ms, run };
      pending.add(timer);
      return () => {
        pending.delete(timer);
      };
    },
    next: () => [...pending].map(({ atMs }) => atMs - nowMs).sort((a, b) => a - b),
    async pass(ms: number) {
      nowMs += ms;
      for (const timer of [...pending].sort((a, b) => a.atMs - b.atMs)) {
        if (timer.atMs > nowMs) continue;
        pending.delete(timer);
        timer.run();
      }
      await settled();
    },
  };
}

/** Resolves when no promise can make progress. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++)
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}

interface Setup {
  readonly publish?: (snapshot: Snapshot, count: number) => PublishResult | Promise<PublishResult>;
  readonly mint?: (resources: Resources, count: number) => Partial<MintResult>;
}

function setUp(resources: Resources, { publish = () => ({ accepted: true }), mint = () => ({}) }: Setup = {}) {
  const timers = fakeTimers();
  const tracker = createStatusTracker();
  const published: Snapshot[] = [];
  const told: (readonly SnapshotFault[])[] = [];
  const logs: unknown[] = [];
  let mints = 0;
  const log = {
    info: () => undefined,
    warn: (...words: unknown[]) => logs.push(words),
    error: (...words: unknown[]) => logs.push(words),
  };
  const controller = new Controller(resources, {
    gatewayNamespace: GATEWAY_NAMESPACE,
    tracker,
    clock: timers,
    log: log as never,
    debounceMs: DEBOUNCE_MS,
    publish: async (snapshot) => {
      published.push(snapshot);
      return publish(snapshot, published.length);
    },
    mint: (given) =>
      Promise.resolve({
        resources: given,
        failures: new Map(),
        failedWrites: 0,
        retry: false,
        ...mint(given, ++mints),
      }),
    onRejected: (faults) => {
      told.push(faults);
    },
  });
  const status = (name: string): ObjectStatus['status'] | undefined =>
    tracker.list().find((one) => one.name === name)?.status;
  const said = (name: string) =>
    status(name)?.conditions.map(({ type, status: value, reason }) => `${type}=${value} ${reason}`);
  return { controller, timers, tracker, published, told, logs, status, said };
}

const account = (name: string, usd = '1') =>
  `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: ` +
  `${name}}\nspec: {grants: [{name: g, usd: "${usd}"}]}\n---\n`;

test('publishes at once in the first run, and published objects are Programmed', async () => {
  const { controller, published, said, status } = setUp(resourcesOf(account('a')));
  await controller.start();
  assert.deepEqual(
    published.map(({ accounts }) => accounts.length),
    [1],
  );
  assert.deepEqual(said('a'), ['Accepted=True Accepted', 'Programmed=True Programmed', 'Ready=True Ready']);
  assert.deepEqual([status('a')?.observedGeneration, status('a')?.creditUsd], [1, '1.00']);
});

test('combines simultaneous changes in one run', async () => {
  const { controller, timers, published } = setUp(resourcesOf(account('a')));
  await controller.start();
  controller.update(resourcesOf(account('b')));
  await timers.pass(DEBOUNCE_MS - 1);
  controller.update(resourcesOf(account('c')));
  assert.equal(published.length, 1);
  await timers.pass(1);
  assert.deepEqual(
    published.map(({ accounts }) => accounts.map(({ name }) => name)),
    [['a'], ['c']],
  );
  await timers.pass(10_000);
  assert.equal(published.length, 2);
});

test('runs once more after changes during a run, never twice at once', async () => {
  let release: (result: PublishResult) => void = () => undefined;
  const { controller, timers, published } = setUp(resourcesOf(account('a')), {
    publish: (_, count) =>
      count === 2
        ? new Promise((resolve) => {
            release = resolve;
          })
        : { accepted: true },
  });
  await controller.start();
  for (const name of ['b', 'c', 'd']) {
    controller.update(resourcesOf(account(name)));
    await timers.pass(DEBOUNCE_MS);
  }
  assert.equal(published.length, 2);
  release({ accepted: true });
  await settled();
  assert.deepEqual(
    published.map(({ accounts }) => accounts[0]?.name),
    ['a', 'b', 'd'],
  );
});

test("reports the proxy's message on a refused object, keeps the others, and delays new ones", async () => {
  const load = newLoader();
  const resources = (text: string) => load([{ path: 'x', text }]).resources;
  const rejected = [
    {
      kind: 'Account',
      namespace: GATEWAY_NAMESPACE,
      name: 'a',
      message: 'one',
    },
    { kind: 'Account', namespace: GATEWAY_NAMESPACE, name: 'a', message: 'two' },
  ] as const;
  const { controller, timers, said, status, told } = setUp(resources(account('a') + account('b')), {
    publish: (_, count) => (count === 2 ? { accepted: false, rejected } : { accepted: true }),
  });
  await controller.start();
  controller.update(resources(account('a', '2') + account('b') + account('c')));
  await timers.pass(DEBOUNCE_MS);
  assert.deepEqual(said('a'), [
    'Accepted=True Accepted',
    'Programmed=False Rejected',
    'Ready=False Rejected',
    'Stalled=True Rejected',
  ]);
  assert.equal(status('a')?.conditions[1]?.message, 'one; two');
  assert.deepEqual(said('b'), ['Accepted=True Accepted', 'Programmed=True Programmed', 'Ready=True Ready']);
  assert.deepEqual(said('c'), [
    'Accepted=True Accepted',
    'Programmed=False Reconciling',
    'Ready=False Reconciling',
    'Reconciling=True Reconciling',
  ]);
  assert.deepEqual(told, [rejected]);

  controller.update(resources(account('a', '3') + account('b') + account('c')));
  await timers.pass(DEBOUNCE_MS);
  for (const name of ['a', 'b', 'c'])
    assert.deepEqual(said(name), ['Accepted=True Accepted', 'Programmed=True Programmed', 'Ready=True Ready']);
  assert.deepEqual(told, [rejected, []]);
});

test('keeps Programmed and times stable while an unrelated change is in progress', async () => {
  const load = newLoader();
  const resources = (text: string) => load([{ path: 'x', text }]).resources;
  const seen: unknown[] = [];
  const { controller, timers, said, status } = setUp(resources(account('a')), {
    publish: () => {
      seen.push([said('a')?.[1], said('b')?.[1]]);
      return { accepted: true };
    },
  });
  await controller.start();
  controller.update(resources(account('a') + account('b')));
  await timers.pass(60_000);
  assert.deepEqual(seen, [
    ['Programmed=Unknown Reconciling', undefined],
    ['Programmed=True Programmed', 'Programmed=Unknown Reconciling'],
  ]);
  assert.deepEqual(
    status('a')?.conditions.map(({ lastTransitionTime }) => lastTransitionTime),
    Array(3).fill('2026-11-21T12:00:00Z'),
  );
  assert.equal(status('b')?.conditions[0]?.lastTransitionTime, '2026-11-21T12:01:00Z');
});

test('retries a failed publication with backoff', async () => {
  const { controller, timers, published, logs, said } = setUp(resourcesOf(account('a')), {
    publish: (_, count) => {
      if (count <= 3) throw new Error('no connection');
      return { accepted: true };
    },
  });
  await controller.start();
  assert.deepEqual(said('a')?.[1], 'Programmed=Unknown Reconciling');
  for (const ms of [1000, 2000, 4000]) {
    assert.deepEqual(timers.next(), [ms]);
    await timers.pass(ms);
  }
  assert.deepEqual([published.length, logs.length, timers.next()], [4, 3, []]);
  assert.equal(said('a')?.[1], 'Programmed=True Programmed');
});

test('retries a failed key generation, and reports the reason in the status', async () => {
  const resources = resourcesOf(
    'apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: ci, ' +
      'namespace: team-a}\nspec: {groupRef: {name: g}, accountRef: {name: a}}\n',
  );
  const { controller, timers, published, status } = setUp(resources, {
    mint: (_, count) => (count === 1 ? { failures: new Map([['team-a/ci', 'disk full']]), retry: true } : {}),
  });
  await controller.start();
  assert.equal(status('ci')?.conditions.find(({ type }) => type === 'Accepted')?.reason, 'GroupNotFound');
  assert.deepEqual(timers.next(), [1000]);
  await timers.pass(1000);
  assert.deepEqual([published.length, timers.next()], [2, []]);
});

test('treats time as a change: an expiration and the end of an overlap', async () => {
  const hash = 'a'.repeat(64);
  const { controller, timers, published, said } = setUp(
    resourcesOf(`
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: g}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci, namespace: team-a}
spec: {groupRef: {name: g}, accountRef: {name: a}, expirationTime: "2026-11-23T12:00:00Z"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: a, namespace: team-a}
spec: {}
---
apiVersion: v1
kind: Secret
metadata:
  name: ci-key
  namespace: team-a
  labels: {modelgateway.dev/api-key: ci}
  annotations: {modelgateway.dev/previous-keys: '[{"sha256":"${hash}","notAfter":"2026-11-21T12:00:05Z"}]'}
stringData: {apiKey: sk-0000000000000000000000000000000000000000}
`),
  );
  await controller.start();
  assert.deepEqual(
    published.map(({ keys }) => keys[0]?.hashes.length),
    [2],
  );
  assert.deepEqual(timers.next(), [5000]);
  await timers.pass(5000);
  assert.deepEqual(
    published.map(({ keys }) => keys[0]?.hashes.length),
    [2, 1],
  );
  // two days less five seconds, in parts: a timer does not count the time of a suspended machine
  for (let slept = 0; published.length < 3; slept++) {
    assert.ok(slept <= 2 * 24 * 60, 'it sleeps as long as it can');
    const [ms = NaN] = timers.next();
    assert.ok(ms > 0 && ms <= 60_000, `${ms} ms`);
    await timers.pass(ms);
  }
  assert.equal(timers.nowMs(), Date.parse('2026-11-23T12:00:00Z'));
  assert.ok(said('ci')?.includes('Ready=False Expired'));
  assert.deepEqual(timers.next(), []);
});

test('does nothing after stop, which waits for the current run', async () => {
  let release: (result: PublishResult) => void = () => undefined;
  const { controller, timers, published } = setUp(resourcesOf(account('a')), {
    publish: (_, count) =>
      count === 2
        ? new Promise((resolve) => {
            release = resolve;
          })
        : { accepted: true },
  });
  await controller.start();
  controller.update(resourcesOf(account('b')));
  await timers.pass(DEBOUNCE_MS);
  let stopped = false;
  const stop = controller.stop().then(() => {
    stopped = true;
    return undefined;
  });
  await settled();
  assert.equal(stopped, false);
  release({ accepted: true });
  await stop;
  controller.update(resourcesOf(account('c')));
  await timers.pass(60_000);
  assert.equal(published.length, 2);
});
