/** docs/examples/tenants on a real API server: a team's objects, and limits of keys by namespace. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { needKubectl } from '../../support/kube/kubectl.ts';
import { startCluster, until } from './support.ts';
import type { Cluster, Live } from './support.ts';

const kubectl = await needKubectl(process.env);
const missing = (await kubeApiserverMissing()) ?? kubectl.skip;
const EXAMPLE = join(import.meta.dirname, '../../../docs/examples/tenants');
const run = promisify(execFile);

describe.skipIf(missing)('the example of a tenant', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
    for (const file of ['policy.yaml', 'team.yaml'])
      await run(kubectl.path, ['--kubeconfig', cluster.kubeconfig, 'apply', '--filename', join(EXAMPLE, file)]);
  });
  afterAll(() => cluster?.stop());

  async function create(namespace: string, name: string, quota: object): Promise<{ status: number; body: Live }> {
    return cluster.admin.call('POST', `/apis/modelgateway.dev/v1alpha1/namespaces/${namespace}/apikeys`, {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: { name },
      spec: { groupRef: { name: 'standard' }, accountRef: { name: 'team-blue' }, quota },
    });
  }

  it('is accepted as a whole', async () => {
    const { spec } = await cluster.get('ApiKey', 'team-blue', 'ci');
    assert.deepEqual([spec.quota.limitUsd, spec.quota.period], ['20', 'Monthly']);
  });

  it("gives keys the namespace's default limit, and refuses more than its highest", async () => {
    const made = await until(
      'the policies are in force',
      async () => {
        await cluster.remove('ApiKey', 'team-blue', 'probe').catch(() => undefined);
        return create('team-blue', 'probe', {});
      },
      ({ body }) => body.spec?.quota.limitUsd === '5',
    );
    assert.equal(made.status, 201);
    const refused = await until(
      'the highest limit is in force',
      async () => {
        await cluster.remove('ApiKey', 'team-blue', 'rich').catch(() => undefined);
        return create('team-blue', 'rich', { limitUsd: '50.01' });
      },
      ({ status }) => status === 422,
    );
    assert.match(refused.body.message, /spec.quota.limitUsd is 50.01, but at most 50 in this namespace/);
    assert.equal((await create('team-blue', 'fits', { limitUsd: '50' })).status, 201);
    const path = '/apis/modelgateway.dev/v1alpha1/namespaces/team-blue/apikeys/fits';
    const patch = { spec: { quota: { limitUsd: 'Unlimited' } } };
    assert.equal((await cluster.admin.call('PATCH', path, patch, 'application/merge-patch+json')).status, 422);
  });

  it('changes nothing in other namespaces', async () => {
    const { status, body } = await create('team-a', 'free', {});
    assert.deepEqual([status, body.spec.quota.limitUsd], [201, 'Unlimited']);
  });
});
