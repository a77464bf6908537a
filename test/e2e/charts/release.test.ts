/** The life of a release on a real API server, without nodes: install, upgrade, uninstall, install again. */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { readCrdTexts } from '#crds/load.ts';
import { kubeconfigFor } from '../cluster/support.ts';
import { needHelm, runHelmAt } from '../../support/helm.ts';
import { kubeClient } from '../../support/kube/client.ts';
import type { KubeClient } from '../../support/kube/client.ts';
import { installCrds } from '../../support/kube/install-crds.ts';
import type { Definition } from '../../support/kube/install-crds.ts';
import { kubeApiserverMissing, startKubeApiserver } from '../../support/kube-apiserver.ts';
import type { KubeApiserver } from '../../support/kube-apiserver.ts';
import { CHART, CRDS_CHART, NAMESPACE } from './situations.ts';

const helm = await needHelm();
const missing = (await kubeApiserverMissing()) ?? (helm.skip || undefined);
const ACCOUNT = {
  apiVersion: 'modelgateway.dev/v1alpha1',
  kind: 'Account',
  metadata: { name: 'team-a', namespace: 'default' },
  spec: { grants: [{ name: 'first', usd: '5' }] },
};

describe.skipIf(missing)('a release', () => {
  let server: KubeApiserver;
  let client: KubeClient;
  let folder: string;
  beforeAll(async () => {
    server = await startKubeApiserver();
    client = kubeClient(server);
    folder = await mkdtemp(join(tmpdir(), 'mgw-release-'));
    await writeFile(join(folder, 'kubeconfig'), kubeconfigFor(server, server.token), { mode: 0o600 });
  });
  afterAll(async () => {
    await client?.close();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const helmDoes = (...args: string[]): Promise<string> =>
    runHelmAt(helm, join(folder, 'kubeconfig'), [...args, '--namespace', NAMESPACE]);
  const password = async (): Promise<string> =>
    (await client.call('GET', `/api/v1/namespaces/${NAMESPACE}/secrets/model-gateway-valkey-password`)).body.data
      ?.password;
  const statusOf = async (path: string): Promise<number> => (await client.call('GET', path)).status;
  const deployment = async () =>
    (await client.call('GET', `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/model-gateway`)).body;
  let made: string;

  it('adopts definitions that kubectl applied', async () => {
    await installCrds(
      client,
      (await readCrdTexts()).map((text) => parse(text) as Definition),
    );
    await helmDoes('install', 'model-gateway-crds', CRDS_CHART, '--create-namespace', '--take-ownership');
    const { body } = await client.call(
      'GET',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/accounts.modelgateway.dev',
    );
    assert.equal(body.metadata.annotations['meta.helm.sh/release-name'], 'model-gateway-crds');
    assert.equal(
      (await client.call('POST', '/apis/modelgateway.dev/v1alpha1/namespaces/default/accounts', ACCOUNT)).status,
      201,
    );
  });

  it('is installed, and prints the next steps', async () => {
    const notes = await helmDoes('install', 'model-gateway', CHART);
    assert.match(notes, /kubectl rollout status deployment\/model-gateway --namespace model-gateway/);
    assert.doesNotMatch(notes, /not installed/);
    made = await password();
    assert.equal(Buffer.from(made, 'base64').toString().length, 40);
    assert.equal((await deployment()).spec.replicas, 3, "the autoscaler's minimum");
  });

  it("keeps the ledger's password and the autoscaler's number of replicas in an upgrade", async () => {
    const scaled = await client.call(
      'PATCH',
      `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/model-gateway/scale`,
      { spec: { replicas: 9 } },
      'application/merge-patch+json',
    );
    assert.equal(scaled.status, 200, scaled.body.message);
    await helmDoes('upgrade', 'model-gateway', CHART, '--set', 'dataplane.logLevel=debug');
    const { spec } = await deployment();
    assert.ok(spec.template.spec.containers[0].args.includes('debug'));
    assert.equal(spec.replicas, 9);
    assert.equal(await password(), made);
  });

  it('encrypts a new ledger, keeps its certificate, and changes a running one only on request', async () => {
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/model-gateway-valkey-tls`;
    const { data } = (await client.call('GET', path)).body;
    assert.deepEqual(Object.keys(data).sort(), ['ca.crt', 'tls.crt', 'tls.key']);
    const addressAfter = async (enabled: string): Promise<string> => {
      await helmDoes(
        'upgrade',
        'model-gateway',
        CHART,
        '--reset-then-reuse-values',
        '--set',
        `valkey.tls.enabled=${enabled}`,
      );
      const { env } = (await deployment()).spec.template.spec.containers[0];
      return env.find(({ name }: { name: string }) => name === 'MGW_LEDGER').value;
    };
    for (const enabled of ['Auto', 'true']) {
      assert.match(await addressAfter(enabled), /^valkeys:.*ca-file=/);
      assert.deepEqual((await client.call('GET', path)).body.data, data);
    }
    for (const enabled of ['false', 'Auto']) {
      assert.match(await addressAfter(enabled), /^valkey:/);
      assert.equal(await statusOf(path), 404);
    }
    assert.match(await addressAfter('true'), /^valkeys:/);
  });

  it('does not restart pods if nothing changes', async () => {
    const before = await deployment();
    await helmDoes('upgrade', 'model-gateway', CHART, '--reset-then-reuse-values');
    assert.equal((await deployment()).metadata.generation, before.metadata.generation);
  });

  it("restarts no pod when only the chart's version changes", async () => {
    const newer = join(folder, 'newer');
    await cp(CHART, newer, { recursive: true });
    const about = await readFile(join(newer, 'Chart.yaml'), 'utf8');
    await writeFile(join(newer, 'Chart.yaml'), about.replace(/^version: .*$/m, 'version: 99.0.0'));
    const templates = async () =>
      Promise.all(
        ['deployments/model-gateway', 'statefulsets/model-gateway-valkey'].map(
          async (path) =>
            (await client.call('GET', `/apis/apps/v1/namespaces/${NAMESPACE}/${path}`)).body.spec.template,
        ),
      );
    const before = await templates();
    await helmDoes('upgrade', 'model-gateway', newer, '--reset-then-reuse-values');
    assert.match((await deployment()).metadata.labels['helm.sh/chart'], /99\.0\.0/);
    assert.deepEqual(await templates(), before);
  });

  it('keeps definitions and objects when it is uninstalled', async () => {
    // there is no node on which the Job could run
    await helmDoes('uninstall', 'model-gateway', '--no-hooks');
    await helmDoes('uninstall', 'model-gateway-crds');
    assert.equal(await statusOf(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments/model-gateway`), 404);
    assert.equal(await statusOf('/apis/modelgateway.dev/v1alpha1/namespaces/default/accounts/team-a'), 200);
    const { body } = await client.call('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles');
    assert.deepEqual(
      body.items
        .map(({ metadata }: { metadata: { name: string } }) => metadata.name)
        .filter((name: string) => name.startsWith('model-gateway')),
      [],
    );
  });

  it('can be installed again', async () => {
    await helmDoes('install', 'model-gateway-crds', CRDS_CHART);
    await helmDoes('install', 'model-gateway', CHART);
    assert.equal((await deployment()).metadata.name, 'model-gateway');
  });
});
