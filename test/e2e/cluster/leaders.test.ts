/** Several replicas, some killed: one writes, another continues, and no step is lost or done twice. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { FakeFleet } from './fake-fleet.ts';
import { SCENE, isReady, runOperator, startCluster, until, fingerprintOf } from './support.ts';
import type { Cluster, Live, RunOptions, Running } from './support.ts';

const missing = await kubeApiserverMissing();
/** More writes than one key needs from its creation to its rotation. */
const MOST_WRITES = 25;

describe.skipIf(missing)('replicas on a Kubernetes API server', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(SCENE);
  });
  afterAll(() => cluster?.stop());

  const apiKey = (namespace: string, name: string): Promise<Live> => cluster.get('ApiKey', namespace, name);
  const apply = (namespace: string, name: string, rotation = 1) =>
    cluster.apply(
      `kind: ApiKey\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: {groupRef: {name: main}, accountRef: ` +
        `{name: team}, key: {rotation: ${rotation}, overlapSeconds: 3600}}\n`,
    );

  it('write from the leader only; all serve, and know the leader', async () => {
    const first = runOperator(cluster, { lease: { address: 'first:1' } });
    await until(
      'the first leads',
      () => first.operator.leading,
      (leading) => leading,
    );
    const second = runOperator(cluster, { lease: { address: 'second:1' } });
    await second.operator.ready;
    await apply('team-a', 'shared');
    await until('shared is ready', () => apiKey('team-a', 'shared'), isReady);
    await until(
      'the second serves it',
      () => second.fleet.latest?.keys.map(({ name }) => name),
      (names) => names?.includes('shared') ?? false,
    );
    assert.deepEqual(second.writes, []);
    assert.equal(first.fleet.leader, undefined);
    await until(
      'the second knows the first',
      () => second.fleet.leader,
      (address) => address === 'first:1',
    );
    await handOver(first, second);
  });

  /** The leader exits normally, then its successor is killed. */
  async function handOver(first: Running, second: Running): Promise<void> {
    const stoppedMs = performance.now();
    await first.stop();
    await until(
      'the second leads',
      () => second.operator.leading,
      (leading) => leading,
    );
    const tookMs = performance.now() - stoppedMs;
    assert.ok(tookMs < 2500, `handed over, not run out: ${tookMs} ms`);
    await until(
      'it is at rest',
      () => second.meter.count('modelgateway_operator_status_queue'),
      (waiting) => waiting === 0,
    );
    assert.deepEqual(
      second.writes.filter((write) => write.includes('/status')),
      [],
      'what is equal is not written by a new leader',
    );
    await second.kill();
    const third = runOperator(cluster);
    await third.operator.ready;
    assert.equal(third.operator.leading, false, "the killed one's Lease has to run out");
    await apply('team-a', 'late');
    await until('late is ready', () => apiKey('team-a', 'late'), isReady);
    assert.equal(third.operator.leading, true);
    await third.stop();
  }

  it('reach the correct state wherever the leader is killed', async () => {
    let points = 0;
    let finished = false;
    for (let point = 1; point <= MOST_WRITES && !finished; point++) {
      for (const answered of [false, true]) {
        finished = await killedAt(point, answered);
        points += finished ? 0 : 1;
      }
    }
    assert.ok(finished, 'the points reach to the last write');
    assert.ok(points >= 8, `${points} points`);
  });

  /**
   * Kills an operator at its nth write, before the request or between request and response, and lets another continue.
   */
  async function killedAt(point: number, answered: boolean): Promise<boolean> {
    const namespace = `kill-${point}-${answered ? 'after' : 'before'}`;
    await cluster.admin.call('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    await cluster.apply(
      `kind: Account\nmetadata: {name: team, namespace: ${namespace}}\nspec: {grants: [{name: ` +
        `first, usd: "10"}]}\n`,
    );
    let writes = 0;
    let killed: Promise<void> | undefined;
    const onWrite: RunOptions['onWrite'] = async (request, send) => {
      if (!request.path.includes(`/${namespace}/`) || request.path.includes('events.k8s.io')) return send();
      if (++writes !== point) return send();
      if (answered) await send();
      killed = one.kill();
      throw new Error('killed');
    };
    const lease = { name: namespace, durationMs: 1000, renewWithinMs: 800, retryMs: 100 };
    const options = { lease, watchNamespaces: [namespace] };
    const one = runOperator(cluster, { ...options, onWrite, proxies: new FakeFleet() });
    await apply(namespace, 'key');
    await until(
      'the first key or the kill',
      async () => killed ?? isReady(await apiKey(namespace, 'key')),
      (done) => done !== false,
    );
    await apply(namespace, 'key', 2);
    await until(
      'the rotation or the kill',
      async () => killed ?? isRotated(await apiKey(namespace, 'key')),
      (done) => done !== false,
    );
    await new Promise((resolve) => {
      setTimeout(resolve, killed ? 0 : 100);
    });
    const finished = killed === undefined;
    await (killed ?? one.stop());

    const two = runOperator(cluster, options);
    const object = await until(`${namespace}: the key is right`, () => apiKey(namespace, 'key'), isRotated);
    const secrets = (await cluster.admin.call('GET', `/api/v1/namespaces/${namespace}/secrets`)).body.items;
    assert.deepEqual(
      secrets.map(({ metadata }: Live) => metadata.name),
      ['key-key'],
      namespace,
    );
    const key = Buffer.from(secrets[0].data.apiKey, 'base64').toString();
    assert.equal(object.status.keyHash, fingerprintOf(key), namespace);
    const previous = JSON.parse(secrets[0].metadata.annotations['modelgateway.dev/previous-keys'] ?? '[]').map(
      ({ sha256 }: { sha256: string }) => sha256,
    );
    const expected = [hash('sha256', key), ...previous];
    await until(
      'the proxies have it',
      () => two.fleet.latest?.keys[0]?.hashes.map(({ sha256 }) => sha256).join(),
      (hashes) => hashes === expected.join(),
    );
    assert.ok(previous.length <= 1, `${namespace}: rotated once at most`);
    await two.stop();
    return finished;
  }
});

function isRotated(object: Live): boolean {
  return (
    isReady(object) &&
    object.status.keyRotation === 2 &&
    object.status.observedGeneration === object.metadata.generation
  );
}
