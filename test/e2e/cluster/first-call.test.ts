/** The whole way on a real API server: what people apply reaches the proxies, and what is said of it is true. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { SCENE, conditionsOf, isReady, runOperator, startCluster, until, fingerprintOf } from './support.ts';
import type { Cluster, Running } from './support.ts';

const missing = await kubeApiserverMissing();

describe.skipIf(missing)('an operator on a Kubernetes API server', () => {
  let cluster: Cluster;
  let run: Running;
  beforeAll(async () => {
    cluster = await startCluster();
    run = runOperator(cluster);
    await run.operator.ready;
  });
  afterAll(async () => {
    await run?.stop();
    await cluster?.stop();
  });

  it('makes every valid object ready', async () => {
    await cluster.apply(SCENE);
    for (const [kind, namespace, name] of [
      ['ModelRoute', 'model-gateway', 'openai'],
      ['PriceCatalog', 'model-gateway', 'prices'],
      ['Group', 'model-gateway', 'main'],
      ['Account', 'team-a', 'team'],
      ['ApiKey', 'team-a', 'ci'],
    ] as const) {
      const object = await until(`${kind} ${name} is ready`, () => cluster.get(kind, namespace, name), isReady);
      assert.equal(object.status.observedGeneration, object.metadata.generation);
      const programmed = object.status.conditions.find(({ type }: { type: string }) => type === 'Programmed');
      assert.match(programmed.message, /^Acknowledged by 3 of 3 proxies in \d+ ms\.$/);
    }
  });

  it('creates a key that its ApiKey owns, and publishes only a hash', async () => {
    const apiKey = await cluster.get('ApiKey', 'team-a', 'ci');
    const secret = await cluster.get('Secret', 'team-a', 'ci-key');
    const key = Buffer.from(secret.data.apiKey, 'base64').toString();
    assert.match(key, /^sk-[0-9A-Za-z]{48}$/);
    assert.equal(secret.metadata.labels['modelgateway.dev/api-key'], 'ci');
    assert.deepEqual(
      secret.metadata.ownerReferences.map(({ kind, name, uid, controller }: Record<string, unknown>) => [
        kind,
        name,
        uid,
        controller,
      ]),
      [['ApiKey', 'ci', apiKey.metadata.uid, true]],
    );
    assert.equal(apiKey.status.keyHash, fingerprintOf(key));
    assert.equal(run.fleet.latest?.keys[0]?.hashes[0]?.sha256, hash('sha256', key));
    assert.ok(!JSON.stringify([run.logs, run.operator.statuses(), await cluster.list('ApiKey')]).includes(key));
  });

  it('becomes idle: equal statuses are not written', async () => {
    await until(
      'nothing waits',
      () => run.meter.count('modelgateway_operator_status_queue'),
      (waiting) => waiting === 0,
    );
    const writes = run.writes.length;
    await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
      { metadata: { annotations: { note: 'x' } } },
      'application/merge-patch+json',
    );
    await new Promise((resolve) => {
      setTimeout(resolve, 500);
    });
    assert.deepEqual(run.writes.slice(writes), []);
    assert.ok(run.writes.filter((write) => write.includes('/apikeys/ci/status')).length <= 3, run.writes.join('\n'));
  });

  it("shows the state in kubectl's columns", async () => {
    const { columnDefinitions, rows } = await cluster.admin.table(
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys',
    );
    const column = columnDefinitions.findIndex(({ name }) => name === 'Ready');
    assert.equal(rows[0]?.cells[column], 'True');
    const events = await until(
      'an Event',
      async () => (await cluster.admin.call('GET', '/apis/events.k8s.io/v1/namespaces/team-a/events')).body.items,
      (items) =>
        items.some(
          ({ regarding, reason }: { regarding: { name: string }; reason: string }) =>
            regarding.name === 'ci' && reason === 'Ready',
        ),
    );
    assert.ok(events.every(({ note }: { note: string }) => !note.includes('sk-')));
  });

  it('reports why a key does not work, and that it works after a fix', async () => {
    await cluster.apply(
      'kind: ApiKey\nmetadata: {name: lost, namespace: team-b}\nspec: {groupRef: {name: nowhere}, ' +
        'accountRef: {name: none}}\n',
    );
    const lost = await until(
      'lost is refused',
      () => cluster.get('ApiKey', 'team-b', 'lost'),
      (object) =>
        conditionsOf(object).includes('Accepted=False GroupNotFound') &&
        conditionsOf(object).includes('Stalled=True GroupNotFound'),
    );
    assert.match(JSON.stringify(lost.status.conditions), /The Group \\"nowhere\\" does not exist/);
    await cluster.apply(
      'kind: Account\nmetadata: {name: none, namespace: team-b}\nspec: {}\n---\nkind: ' +
        'ApiKey\nmetadata: {name: lost, namespace: team-b}\nspec: {groupRef: {name: main}, accountRef: {name: none}}\n',
    );
    const mended = await until('lost is ready', () => cluster.get('ApiKey', 'team-b', 'lost'), isReady);
    assert.ok(!conditionsOf(mended).some((text) => text.startsWith('Stalled')));
  });
});
