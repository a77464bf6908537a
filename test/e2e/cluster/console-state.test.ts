/** The shared state of a console's replicas, on a real API server. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { AccessError } from '../../../console/access/access.ts';
import { openClusterState } from '../../../console/access/cluster-state.ts';
import type { ClusterState } from '../../../console/access/cluster-state.ts';
import { claimReveal, isRevealed } from '../../../console/keys/reveal.ts';
import { openAccess } from '../../../kube/access.ts';
import { createKubeClient } from '../../../kube/client.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { SYSTEM_CLOCK } from '../../../runtime/clock.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { GATEWAY_NAMESPACE, countingMeter, startCluster, until } from './support.ts';
import type { Cluster } from './support.ts';

const missing = await kubeApiserverMissing();
const SECRET = `/api/v1/namespaces/${GATEWAY_NAMESPACE}/secrets/model-gateway-console-memory`;
const log = { info: () => undefined, warn: () => undefined };

describe.skipIf(missing)('replicas of a console', () => {
  let cluster: Cluster;
  const clients: KubeClient[] = [];
  const states: ClusterState[] = [];

  async function open(namespace = GATEWAY_NAMESPACE): Promise<ClusterState> {
    const client = createKubeClient({
      access: openAccess({
        kubeconfig: cluster.kubeconfig,
        nowMs: () => Date.now(),
      }),
      userAgent: 'test',
      meter: countingMeter(),
    });
    const state = openClusterState({ client, namespace, clock: SYSTEM_CLOCK, meter: countingMeter(), log });
    clients.push(client);
    states.push(state);
    await state.ready;
    return state;
  }

  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(async () => {
    for (const state of states) await state.stop();
    for (const client of clients) await client.close();
    await cluster?.stop();
  });

  it("lose no concurrent change, and see each other's changes", async () => {
    const [one, two] = [await open(), await open()];
    assert.equal(one.read('signedOut'), '');
    await one.change('signedOut', (text) => text);
    assert.equal(
      (await cluster.admin.call('GET', SECRET)).status,
      404,
      'made by the first who has something to remember',
    );
    await Promise.all(
      [one, two].flatMap((state, at) =>
        [1, 2, 3, 4, 5].map((number) => state.change('signedOut', (text) => `${text}${at}${number} `)),
      ),
    );
    const all = ['01', '02', '03', '04', '05', '11', '12', '13', '14', '15'];
    for (const state of [one, two])
      await until(
        'it knows all',
        () => state.read('signedOut').split(' ').filter(Boolean).sort(),
        (words) => words.join() === all.join(),
      );
    const { body } = await cluster.admin.call('GET', SECRET);
    assert.equal(body.metadata.labels['app.kubernetes.io/managed-by'], 'model-gateway');
    assert.equal((await open()).read('signedOut'), one.read('signedOut'), 'one that starts later');
  });

  it('show a key once, whichever replica is faster', async () => {
    const [one, two, three] = [await open(), await open(), await open()];
    for (const key of ['a', 'b', 'c']) {
      const hash = key.repeat(64);
      const claims = await Promise.all(
        [one, two, three, one, two, three].map((state) => claimReveal(state, hash, Date.now())),
      );
      assert.equal(claims.filter(Boolean).length, 1);
      for (const state of [one, two, three]) await until('it was shown', () => isRevealed(state, hash), Boolean);
    }
  });

  it('create it again if somebody has deleted it, and keep what is in memory', async () => {
    const state = await open();
    await state.change('signedOut', () => 'before');
    await cluster.admin.call('DELETE', SECRET);
    assert.equal(state.read('signedOut'), 'before');
    await state.change('signedOut', (text) => `${text}after`);
    assert.equal(state.read('signedOut'), 'after');
    assert.equal((await cluster.admin.call('GET', SECRET)).status, 200);
  });

  it('report that it cannot be written', async () => {
    const state = await open('nowhere');
    await assert.rejects(
      state.change('signedOut', () => 'x'),
      (error) => error instanceof AccessError && error.reason === 'Unavailable',
    );
    assert.equal(state.read('signedOut'), '');
  });
});
