/** A thousand objects created, changed and deleted: all statuses are correct in the end, with no unneeded writes. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { inParallel } from '../../support/in-parallel.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { SCENE, conditionsOf, isReady, runOperator, startCluster, until } from './support.ts';
import type { Cluster, Live, Running } from './support.ts';

const missing = await kubeApiserverMissing();
const KEYS = 1000;
const AT_ONCE = 24;
/** A busy machine renews leases late. */
const LEASE = { durationMs: 15_000, renewWithinMs: 10_000, retryMs: 500 };
const PATH = '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys';
const MERGE = 'application/merge-patch+json';

describe.skipIf(missing)('a thousand objects on a Kubernetes API server', () => {
  let cluster: Cluster;
  let run: Running;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(SCENE);
    run = runOperator(cluster, { lease: LEASE });
    await until('ci is ready', () => cluster.get('ApiKey', 'team-a', 'ci'), isReady);
  });
  afterAll(async () => {
    await run?.stop();
    await cluster?.stop();
  });

  const keys = async (): Promise<Live[]> =>
    (await cluster.list('ApiKey', 'team-a')).filter(({ metadata }) => metadata.name !== 'ci');
  const atRest = () =>
    until(
      'nothing waits',
      () => run.meter.count('modelgateway_operator_status_queue'),
      (waiting) => waiting === 0,
    );

  it('are all correct in the end, with few writes', async () => {
    const spec = { groupRef: { name: 'main' }, accountRef: { name: 'team' } };
    await inParallel(KEYS, AT_ONCE, async (index) => {
      const { status } = await cluster.admin.call('POST', PATH, {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'ApiKey',
        metadata: { name: `key-${index}`, namespace: 'team-a' },
        spec,
      });
      assert.equal(status, 201);
      if (index % 2 === 0)
        await cluster.admin.call('PATCH', `${PATH}/key-${index}`, { spec: { enabled: false } }, MERGE);
      if (index % 5 === 0)
        await cluster.admin.call('PATCH', `${PATH}/key-${index}`, { spec: { groupRef: { name: 'nowhere' } } }, MERGE);
      if (index % 10 === 9) await cluster.admin.call('DELETE', `${PATH}/key-${index}`);
    });
    const isRight = (object: Live): boolean => {
      const index = Number(object.metadata.name.slice('key-'.length));
      const said = conditionsOf(object);
      if (index % 5 === 0) return said.includes('Ready=False GroupNotFound');
      return said.includes(index % 2 === 0 ? 'Ready=False Disabled' : 'Ready=True Ready');
    };
    const live = await until('all are right', keys, (all) => all.length === KEYS * 0.9 && all.every(isRight));
    await atRest();
    const hashes = new Set(live.map(({ status }) => status.keyHash));
    assert.equal(hashes.size, live.length, 'each has its own key');
    assert.equal(run.fleet.latest?.keys.length, live.length + 1);
    const writes = run.meter.count('modelgateway_operator_status_writes_total', 'ApiKey');
    assert.ok(writes <= KEYS * 3.5, `${writes} writes of statuses`);
    assert.equal(run.meter.count('modelgateway_operator_keys_made_total', 'failed'), 0);
  });

  it('cause no writes while nothing changes, nor with a new operator', async () => {
    const writes = run.writes.length;
    await run.stop();
    run = runOperator(cluster, { lease: LEASE });
    await run.operator.ready;
    await until(
      'it leads',
      () => run.operator.leading,
      (leading) => leading,
    );
    await new Promise((resolve) => {
      setTimeout(resolve, 1500);
    });
    await atRest();
    assert.deepEqual(run.writes, [], `after ${writes} writes of the one before`);
  });
});
