/** What is being deleted is left alone, and no status outlives its gateway unmarked: on a real API server. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { mgw } from '../../support/cli.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { conditionsOf, isReady, runOperator, SCENE, startCluster, teamManifest, until } from './support.ts';
import type { Cluster, Live, Running } from './support.ts';

const missing = await kubeApiserverMissing();
describe.skipIf(missing)('removal', () => {
  let cluster: Cluster;
  let run: Running;
  beforeAll(async () => {
    cluster = await startCluster(['team-a', 'team-b', 'team-c']);
    await cluster.apply(SCENE);
    await cluster.apply(teamManifest('team-b'));
    run = runOperator(cluster);
    for (const namespace of ['team-a', 'team-b'])
      await until(`${namespace} is ready`, () => apiKey(namespace), isReady);
  });
  afterAll(async () => {
    await stop();
    await cluster?.stop();
  });

  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (!isStopped) await run?.stop();
    isStopped = true;
  };

  const apiKey = (namespace: string, name = 'ci'): Promise<Live> => cluster.get('ApiKey', namespace, name);
  /** Nothing removes it altogether: this API server has no controllers. */
  const beginDeletion = (namespace: string) => cluster.admin.call('DELETE', `/api/v1/namespaces/${namespace}`);
  const writesIn = (namespace: string): string[] =>
    run.writes.filter((write) => write.includes(`/namespaces/${namespace}/`));
  const isAtRest = (): boolean => run.meter.count('modelgateway_operator_status_queue') === 0;

  it('shows that it runs by its Lease, and rewrites no status for it', async () => {
    const lease = async (): Promise<{ readonly holderIdentity: string; readonly renewTime: string }> => {
      const path = '/apis/coordination.k8s.io/v1/namespaces/model-gateway/leases/model-gateway-operator';
      const { body } = await cluster.admin.call('GET', path);
      return body.spec;
    };
    await until('nothing waits', isAtRest, Boolean);
    const { resourceVersion } = (await apiKey('team-a')).metadata;
    const before = await lease();
    assert.match(before.holderIdentity, /^replica-/);
    await until('the Lease is renewed', lease, ({ renewTime }) => renewTime > before.renewTime);
    assert.equal((await apiKey('team-a')).metadata.resourceVersion, resourceVersion);
  });

  it('leaves a namespace alone that is being deleted: no status, no key, no Event', async () => {
    await beginDeletion('team-b');
    await until('the operator knows', () => run.operator.resources().terminatingNamespaces?.has('team-b'), Boolean);
    const before = writesIn('team-b').length;
    await cluster.remove('Account', 'team-b', 'team');
    await cluster.remove('Secret', 'team-b', 'ci-key');
    await until(
      'the operator has seen both',
      () => run.operator.statuses().find(({ namespace, kind }) => kind === 'ApiKey' && namespace === 'team-b'),
      (found) => found?.status.conditions.some(({ reason }) => reason === 'AccountNotFound') ?? false,
    );
    await cluster.apply(teamManifest('team-c'));
    await until('others go on', () => apiKey('team-c'), isReady);
    await until('nothing waits', isAtRest, Boolean);
    assert.deepEqual(writesIn('team-b').slice(before), []);
    assert.ok(isReady(await apiKey('team-b')));
  });

  it('leaves objects alone that wait for a finalizer, also when the gateway is retired', async () => {
    await cluster.apply(
      'kind: ApiKey\nmetadata: {name: held, namespace: team-a, finalizers: [example.com/hold]}\n' +
        'spec: {groupRef: {name: main}, accountRef: {name: team}}\n',
    );
    await until('held is ready', () => apiKey('team-a', 'held'), isReady);
    await cluster.remove('ApiKey', 'team-a', 'held');
    await until(
      'its status says so',
      () => apiKey('team-a', 'held'),
      (object) => conditionsOf(object).includes('Ready=False Deleting'),
    );
    await until('nothing waits', isAtRest, Boolean);
    const { resourceVersion } = (await apiKey('team-a', 'held')).metadata;
    await stop();
    const retired = await mgw(['retire', '--namespace', 'model-gateway', '--kubeconfig', cluster.kubeconfig]);
    assert.equal(retired.exitCode, 0, retired.stderr);
    assert.ok(conditionsOf(await apiKey('team-a')).includes('Ready=Unknown GatewayRemoved'));
    assert.equal((await apiKey('team-a', 'held')).metadata.resourceVersion, resourceVersion);
  });

  it("marks tenants' objects when its own namespace is deleted, and writes nothing after that", async () => {
    run = runOperator(cluster);
    isStopped = false;
    await until('ci is ready again', () => apiKey('team-a'), isReady);
    await beginDeletion('model-gateway');
    await until(
      'ci is marked',
      () => apiKey('team-a'),
      (object) => conditionsOf(object).includes('Ready=Unknown GatewayRemoved'),
    );
    const next = runOperator(cluster);
    await stop();
    await until('the next replica leads', () => next.operator.leading, Boolean);
    await next.stop();
    assert.ok(conditionsOf(await apiKey('team-a')).includes('Ready=Unknown GatewayRemoved'));
    assert.deepEqual(
      next.writes.filter((write) => write.includes('/team-a/')),
      [],
    );
  });
});
