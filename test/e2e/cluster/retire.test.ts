/** The statuses after a gateway was uninstalled, and after it is back: `mgw retire` on a real API server. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { mgw } from '../../support/cli.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { conditionsOf, isReady, runOperator, SCENE, startCluster, until } from './support.ts';
import type { Cluster, Live } from './support.ts';

const missing = await kubeApiserverMissing();
/** An object of another gateway, which writes its own statuses. */
const FOREIGN = `kind: ApiKey
metadata: {name: foreign, namespace: team-b}
spec: {groupRef: {name: main}, accountRef: {name: team}, gatewayNamespace: other}
`;
const READY_ELSEWHERE = {
  status: {
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Ready',
        message: 'x',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
};

describe.skipIf(missing)('a gateway that was uninstalled', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(SCENE);
    await cluster.apply(FOREIGN);
  });
  afterAll(() => cluster?.stop());

  const apiKey = (): Promise<Live> => cluster.get('ApiKey', 'team-a', 'ci');
  const retire = (...args: string[]): ReturnType<typeof mgw> =>
    mgw(['retire', '--namespace', 'model-gateway', '--kubeconfig', cluster.kubeconfig, ...args]);

  it('reports it in the statuses of its objects, keeps the rest, and is Ready with the next operator', async () => {
    const first = runOperator(cluster);
    const before = await until('ci is ready', apiKey, isReady);
    await first.stop();
    await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-b/apikeys/foreign/status',
      READY_ELSEWHERE,
      'application/merge-patch+json',
    );
    const { exitCode, stdout, stderr } = await retire();
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^marked \d+ objects of the gateway in model-gateway as removed\n$/);
    const after = await apiKey();
    assert.deepEqual(conditionsOf(after), [
      'Accepted=True Accepted',
      'Programmed=Unknown GatewayRemoved',
      'Ready=Unknown GatewayRemoved',
    ]);
    assert.deepEqual({ ...after.status, conditions: [] }, { ...before.status, conditions: [] });
    for (const kind of ['Account', 'Group', 'ModelRoute', 'PriceCatalog'] as const)
      for (const object of await cluster.list(kind))
        assert.ok(conditionsOf(object).includes('Ready=Unknown GatewayRemoved'), `${kind} ${object.metadata.name}`);
    const foreign = conditionsOf(await cluster.get('ApiKey', 'team-b', 'foreign'));
    assert.ok(
      foreign.some((text) => text.startsWith('Ready=True')),
      String(foreign),
    );
    assert.match((await retire()).stdout, /^marked 0 objects/);

    const next = runOperator(cluster);
    try {
      await until('ci is ready again', apiKey, isReady);
    } finally {
      await next.stop();
    }
  });

  it('is unchanged outside the given namespaces', async () => {
    const operator = runOperator(cluster);
    await until('ci is ready', apiKey, isReady);
    await operator.stop();
    assert.equal((await retire('--watch-namespaces', 'team-b')).exitCode, 0);
    assert.ok(isReady(await apiKey()));
  });

  it('gets a clear error if the API server cannot be found', async () => {
    const { exitCode, stderr } = await mgw(['retire', '--namespace', 'model-gateway', '--kubeconfig', '/nowhere']);
    assert.deepEqual([exitCode, /kubeconfig \/nowhere cannot be used/.test(stderr)], [1, true], stderr);
  });
});
