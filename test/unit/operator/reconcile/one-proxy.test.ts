/** The control loop of a single machine with a controlled clock: batching, statuses and retries. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { ApplyResult, SnapshotFault } from '#snapshot/faults.ts';
import { Controller } from '../../../../operator/reconcile/controller.ts';
import type { ControllerOptions } from '../../../../operator/reconcile/controller.ts';
import type { KeySecrets } from '../../../../operator/reconcile/mint-keys.ts';
import { createOneProxy } from '../../../../operator/reconcile/one-proxy.ts';
import type { ObjectStatus } from '../../../../operator/reconcile/status-tracker.ts';
import { findSecret, withSecrets } from '#objects/resources.ts';
import type { Resources, SecretObject } from '#objects/resources.ts';
import { fakeClock, settled } from '../fake-clock.ts';
import { GATEWAY_NAMESPACE, NOW_MS, newLoader, platformManifest, resourcesOf } from '../support.ts';

const DEBOUNCE_MS = 20;
/** The longest pause after a run. */
const REST_MS = 50;

interface Setup {
  readonly apply?: (snapshot: Snapshot, count: number) => ApplyResult | Promise<ApplyResult>;
  readonly keys?: Partial<KeySecrets>;
  readonly releaseKeys?: ControllerOptions['releaseKeys'];
}

function setUp(given: Resources, { apply = () => ({ accepted: true }), keys = {}, releaseKeys }: Setup = {}) {
  const clock = fakeClock();
  let resources = given;
  const published: Snapshot[] = [];
  const told: (readonly SnapshotFault[])[] = [];
  const logs: unknown[] = [];
  const note = (...words: unknown[]): void => {
    logs.push(words);
  };
  const controller: Controller = new Controller({
    gatewayNamespace: GATEWAY_NAMESPACE,
    source: { resources: () => resources },
    proxies: createOneProxy({
      apply(snapshot) {
        published.push(snapshot);
        return apply(snapshot, published.length);
      },
      onProgress: (ids) => controller.progressed(ids),
    }),
    keys: {
      joined: (all) => all,
      find: () => undefined,
      obstacle: () => undefined,
      write: () => Promise.resolve(true),
      ...keys,
    },
    keysFirst: true,
    ...(releaseKeys && { releaseKeys }),
    onMinted: () => undefined,
    statuses: { start: () => undefined, stop: () => Promise.resolve(), changed: () => undefined },
    onFaults: (faults) => void told.push(faults),
    clock,
    log: { info: () => undefined, warn: note, error: note },
    debounceMs: DEBOUNCE_MS,
    settleMs: 0,
  });
  const status = (name: string): ObjectStatus['status'] | undefined =>
    controller.statuses().find((one) => one.name === name)?.status;
  const said = (name: string) =>
    status(name)?.conditions.map(({ type, status: value, reason }) => `${type}=${value} ${reason}`);
  return {
    controller,
    clock,
    published,
    told,
    logs,
    status,
    said,
    start: async (): Promise<void> => {
      await controller.lead(true);
      await controller.start();
    },
    edit: (next: Resources): void => {
      resources = next;
      controller.resourcesChanged();
    },
  };
}

const account = (name: string, usd = '1') =>
  `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: ` +
  `${name}}\nspec: {grants: [{name: g, usd: "${usd}"}]}\n---\n`;

test('publishes at once in the first run, and published objects are Programmed', async () => {
  const { start, published, said, status } = setUp(resourcesOf(account('a')));
  await start();
  assert.deepEqual(
    published.map(({ accounts }) => accounts.length),
    [1],
  );
  assert.deepEqual(said('a'), ['Accepted=True Accepted', 'Programmed=True Programmed', 'Ready=True Ready']);
  assert.deepEqual([status('a')?.observedGeneration, status('a')?.creditUsd], [1, '1.00']);
});

test('combines simultaneous changes in one run', async () => {
  const { start, edit, clock, published } = setUp(resourcesOf(account('a')));
  await start();
  edit(resourcesOf(account('b')));
  await clock.pass(DEBOUNCE_MS - 1);
  edit(resourcesOf(account('c')));
  assert.equal(published.length, 1);
  await clock.pass(1);
  assert.deepEqual(
    published.map(({ accounts }) => accounts.map(({ name }) => name)),
    [['a'], ['c']],
  );
  await clock.pass(10_000);
  assert.equal(published.length, 2);
});

test('runs once more after changes during a run, never twice at once', async () => {
  let release: (result: ApplyResult) => void = () => undefined;
  const { start, edit, clock, published } = setUp(resourcesOf(account('a')), {
    apply: (_, count) =>
      count === 2
        ? new Promise((resolve) => {
            release = resolve;
          })
        : { accepted: true },
  });
  await start();
  for (const name of ['b', 'c', 'd']) {
    edit(resourcesOf(account(name)));
    await clock.pass(DEBOUNCE_MS);
  }
  assert.equal(published.length, 2);
  release({ accepted: true });
  await clock.pass(REST_MS);
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
  const { start, edit, clock, said, status, told } = setUp(resources(account('a') + account('b')), {
    apply: (_, count) => (count === 2 ? { accepted: false, rejected } : { accepted: true }),
  });
  await start();
  edit(resources(account('a', '2') + account('b') + account('c')));
  await clock.pass(DEBOUNCE_MS);
  assert.deepEqual(said('a'), [
    'Accepted=True Accepted',
    'Programmed=False Rejected',
    'Ready=False Rejected',
    'Stalled=True Rejected',
  ]);
  assert.match(status('a')?.conditions[1]?.message ?? '', /: one; two$/);
  assert.deepEqual(said('b'), ['Accepted=True Accepted', 'Programmed=True Programmed', 'Ready=True Ready']);
  assert.deepEqual(said('c'), [
    'Accepted=True Accepted',
    'Programmed=Unknown Reconciling',
    'Ready=Unknown Reconciling',
    'Reconciling=True Reconciling',
  ]);
  assert.match(status('c')?.conditions[1]?.message ?? '', /^Other objects were rejected\. /);
  await clock.pass(10_000);
  assert.deepEqual(said('b')?.[1], 'Programmed=True Programmed', 'it is in force as it was');
  assert.deepEqual(told, [rejected]);

  edit(resources(account('a', '3') + account('b') + account('c')));
  await clock.pass(DEBOUNCE_MS);
  for (const name of ['a', 'b', 'c'])
    assert.deepEqual(said(name), ['Accepted=True Accepted', 'Programmed=True Programmed', 'Ready=True Ready']);
  assert.deepEqual(told, [rejected, []]);
});

test('keeps Programmed and times stable while an unrelated change is in progress', async () => {
  const load = newLoader();
  const resources = (text: string) => load([{ path: 'x', text }]).resources;
  const seen: unknown[] = [];
  const { start, edit, clock, said, status } = setUp(resources(account('a')), {
    apply: () => {
      seen.push(said('a')?.[1]);
      return { accepted: true };
    },
  });
  await start();
  const message = status('a')?.conditions[1]?.message ?? '';
  assert.match(message, /^Acknowledged by 1 of 1 proxy in \d+ ms\.$/);
  await clock.pass(60_000 - DEBOUNCE_MS);
  edit(resources(account('a') + account('b')));
  await clock.pass(DEBOUNCE_MS);
  assert.deepEqual(seen, [undefined, 'Programmed=True Programmed']);
  assert.equal(status('a')?.conditions[1]?.message, message);
  assert.deepEqual(
    status('a')?.conditions.map(({ lastTransitionTime }) => lastTransitionTime),
    Array(3).fill('2026-11-21T12:00:00Z'),
  );
  assert.equal(status('b')?.conditions[0]?.lastTransitionTime, '2026-11-21T12:01:00Z');
});

test('retries a failed publication with backoff', async () => {
  const { start, clock, published, logs, said } = setUp(resourcesOf(account('a')), {
    apply: (_, count) => {
      if (count <= 3) throw new Error('no connection');
      return { accepted: true };
    },
  });
  await start();
  for (const [failures, ms] of [1000, 2000, 4000].entries()) {
    await clock.pass(ms - 1);
    assert.equal(published.length, failures + 1);
    await clock.pass(1);
    assert.equal(published.length, failures + 2);
  }
  await clock.pass(60_000);
  assert.deepEqual([published.length, logs.length], [4, 3]);
  assert.equal(said('a')?.[1], 'Programmed=True Programmed');
});

test('retries a failed key generation, and reports the reason in the status', async () => {
  const manifest = `${platformManifest()}---\n${account('a')}apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci}
spec: {groupRef: {name: main}, accountRef: {name: a}}
`;
  const written: SecretObject[] = [];
  let writes = 0;
  const { start, clock, published, status, said } = setUp(resourcesOf(manifest), {
    keys: {
      joined: (resources) => withSecrets(resources, written),
      find: (ref, resources) => findSecret(withSecrets(resources, written).secrets, ref),
      async write(secret) {
        writes += 1;
        if (writes === 1) throw new Error('disk full');
        written.push(secret);
        return true;
      },
    },
  });
  await start();
  assert.match(JSON.stringify(status('ci')), /disk full/);
  await clock.pass(999);
  assert.equal(published.length, 1);
  await clock.pass(1);
  assert.ok(said('ci')?.includes('Ready=True Ready'));
  await clock.pass(60_000);
  assert.deepEqual([published.length, writes], [2, 2]);
});

test('deletes the keys of deleted ApiKeys when they are due', async () => {
  const released: number[] = [];
  const { start, clock, published } = setUp(resourcesOf(account('a')), {
    releaseKeys: async (_, nowMs) => {
      released.push(nowMs - NOW_MS);
      return released.length === 1 ? nowMs + 600_000 : undefined;
    },
  });
  await start();
  await clock.pass(599_999);
  assert.deepEqual([published.length, released], [1, [0]]);
  await clock.pass(1);
  assert.deepEqual([published.length, released], [2, [0, 600_000]]);
});

test('treats time as a change: an expiration and the end of an overlap', async () => {
  const hash = 'a'.repeat(64);
  const { start, clock, published, said } = setUp(
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
  await start();
  assert.deepEqual(
    published.map(({ keys }) => keys[0]?.hashes.length),
    [2],
  );
  await clock.pass(4_999);
  assert.equal(published.length, 1);
  await clock.pass(1);
  assert.deepEqual(
    published.map(({ keys }) => keys[0]?.hashes.length),
    [2, 1],
  );
  await clock.pass(2 * 86_400_000 - 5_001);
  assert.equal(published.length, 2);
  await clock.pass(1);
  assert.equal(published.length, 3);
  assert.ok(said('ci')?.includes('Ready=False Expired'));
  await clock.pass(86_400_000);
  assert.equal(published.length, 3);
});

test('does nothing after stop, which waits for the current run', async () => {
  let release: (result: ApplyResult) => void = () => undefined;
  const { controller, start, edit, clock, published } = setUp(resourcesOf(account('a')), {
    apply: (_, count) =>
      count === 2
        ? new Promise((resolve) => {
            release = resolve;
          })
        : { accepted: true },
  });
  await start();
  edit(resourcesOf(account('b')));
  await clock.pass(DEBOUNCE_MS);
  let stopped = false;
  const stop = controller.stop().then(() => {
    stopped = true;
    return undefined;
  });
  await settled();
  assert.equal(stopped, false);
  release({ accepted: true });
  await stop;
  edit(resourcesOf(account('c')));
  await clock.pass(60_000);
  assert.equal(published.length, 2);
});
