/** The console's view of the cluster: latest statuses with their specs, and one's own writes at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { ApiKey } from '#crds/types.gen.ts';
import { openLiveObjects } from '../../../../operator/store/live-objects.ts';
import { createClusterCache } from '../../../../operator/store/cluster-cache.ts';

interface Version {
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly enabled?: boolean;
  readonly spentUsd?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly leaving?: boolean;
}

function apiKey({
  name = 'ci',
  uid = 'u',
  resourceVersion,
  generation = 1,
  enabled = true,
  spentUsd = '0',
  labels = {},
  leaving = false,
}: Version): ApiKey {
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: {
      name,
      namespace: 'team-a',
      uid,
      resourceVersion,
      generation,
      labels,
      ...(leaving && { deletionTimestamp: '2026-11-20T12:00:00Z' }),
    },
    spec: {
      gatewayNamespace: 'model-gateway',
      enabled,
      groupRef: { name: 'main' },
      accountRef: { name: 'team' },
      quota: { limitUsd: 'Unlimited', period: 'Never', timeZone: 'UTC', whenShort: 'Lower', minOutputTokens: 16 },
      key: { type: 'Generated', rotation: 1, overlapSeconds: 0 },
    },
    status: { conditions: [], spentUsd },
  };
}

function setUp() {
  const timers: (() => void)[] = [];
  const objects = openLiveObjects({
    onSpecs: () => undefined,
    onLive: () => undefined,
    onChange: (id) => cache.changed(id),
    admit: (object) => ({ object, faults: object.metadata.labels?.['faulty'] === 'yes' ? ['no good'] : [] }),
  });
  const looks: string[] = [];
  const cache = createClusterCache({
    objects: {
      ...objects,
      current(id) {
        looks.push(id);
        return objects.current(id);
      },
    },
    namespaces: () => ['team-a', 'empty'],
    covers: (namespace) => namespace !== 'unwatched',
    after: (_ms, run) => {
      timers.push(run);
      return () => void timers.splice(timers.indexOf(run), 1);
    },
  });
  const seen = (): unknown[] =>
    cache
      .list('ApiKey')
      .map(({ metadata, spec, status }) => [
        metadata.name,
        metadata.resourceVersion,
        metadata.generation,
        spec.enabled,
        status?.spentUsd,
      ]);
  return { objects, cache, seen, timers, looks };
}

describe('the cluster cache', () => {
  it('has the latest statuses and labels, and the same list while nothing changes', () => {
    const { objects, cache, seen } = setUp();
    objects.apply('w', apiKey({ resourceVersion: '1' }));
    objects.apply('w', apiKey({ name: 'bot', resourceVersion: '2' }));
    assert.deepEqual(seen(), [
      ['ci', '1', 1, true, '0'],
      ['bot', '2', 1, true, '0'],
    ]);
    const before = cache.list('ApiKey');
    assert.equal(cache.list('ApiKey'), before);
    objects.apply('w', apiKey({ resourceVersion: '3', spentUsd: '5', labels: { team: 'a' } }));
    assert.deepEqual(seen(), [
      ['ci', '3', 1, true, '5'],
      ['bot', '2', 1, true, '0'],
    ]);
    assert.equal(cache.list('ApiKey')[0]?.metadata.labels?.['team'], 'a');
    assert.equal(cache.list('ApiKey')[1], before[1]);
    assert.deepEqual(cache.list('Group'), []);
    assert.deepEqual([...cache.namespaces()], ['team-a', 'empty']);
  });

  it('never returns a generation without its spec', () => {
    const { objects, seen } = setUp();
    objects.apply('w', apiKey({ resourceVersion: '1' }));
    // the response to a write of the status, with an edit that the watch has not reported yet
    objects.written(apiKey({ resourceVersion: '9', generation: 2, enabled: false, spentUsd: '7' }));
    assert.deepEqual(seen(), [['ci', '9', 1, true, '7']]);
    objects.apply('w', apiKey({ resourceVersion: '8', generation: 2, enabled: false }));
    assert.deepEqual(seen(), [['ci', '9', 2, false, '7']]);
    objects.apply('w', apiKey({ resourceVersion: '9', generation: 2, enabled: false, spentUsd: '7' }));
    assert.deepEqual(seen(), [['ci', '9', 2, false, '7']]);
  });

  it('leaves out deleted, terminating and invalid objects', () => {
    const { objects, seen } = setUp();
    objects.apply('w', apiKey({ resourceVersion: '1' }));
    objects.apply('w', apiKey({ name: 'bot', resourceVersion: '2' }));
    objects.apply('w', apiKey({ name: 'odd', resourceVersion: '3', labels: { faulty: 'yes' } }));
    assert.equal(seen().length, 2);
    objects.apply('w', apiKey({ resourceVersion: '4', leaving: true }));
    objects.remove('w', apiKey({ name: 'bot', resourceVersion: '2' }));
    assert.deepEqual(seen(), []);
  });

  it('keeps nothing of objects that are created and deleted between reads', () => {
    const { objects, cache, seen, looks } = setUp();
    const comeAndGo = (count: number): void => {
      for (let n = 0; n < count; n++) {
        objects.apply('w', apiKey({ name: `job-${n}`, resourceVersion: '2' }));
        objects.remove('w', apiKey({ name: `job-${n}`, resourceVersion: '2' }));
      }
    };
    objects.apply('w', apiKey({ resourceVersion: '1' }));
    comeAndGo(3);
    assert.equal(seen().length, 1);
    assert.deepEqual(looks, ['ApiKey team-a/ci'], 'what went before the first look is not known');
    comeAndGo(12_000);
    const before = looks.length;
    assert.equal(seen().length, 1);
    assert.ok(looks.length - before < 10_000, String(looks.length));
    assert.deepEqual(
      cache.list('ApiKey').map(({ metadata }) => metadata.name),
      ['ci'],
    );
  });

  it('waits until a watch reports a write, and not for objects that it does not watch', async () => {
    const { objects, cache, timers } = setUp();
    const id = 'ApiKey team-a/ci';
    let done = 0;
    const wait = (write: Parameters<typeof cache.waitFor>[1]): Promise<void> =>
      cache.waitFor(id, write).then(() => {
        done++;
      });
    const made = Promise.all([wait({ uid: 'u', resourceVersion: '5' }), wait({ uid: 'u', resourceVersion: '6' })]);
    objects.apply('w', apiKey({ resourceVersion: '5' }));
    await Promise.resolve();
    objects.apply('w', apiKey({ resourceVersion: '10' }));
    await made;
    await wait({ uid: 'u', resourceVersion: '9' });
    const removed = wait({ uid: 'u', resourceVersion: undefined });
    objects.remove('w', apiKey({ resourceVersion: '10' }));
    await removed;
    await cache.waitFor('ApiKey unwatched/ci', { uid: 'u', resourceVersion: '1' });
    assert.deepEqual([done, timers.length], [4, 0]);
    // a stopped watch does not block readers for ever
    const late = wait({ uid: 'other', resourceVersion: '20' });
    timers[0]?.();
    await late;
  });
});
