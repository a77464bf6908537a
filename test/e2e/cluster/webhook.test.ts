/**
 * The webhook of `mgw operator` on a real API server: pods that ask for a sidecar get one that satisfies the restricted
 * Pod Security Standard, others are unchanged, and the trusted certificates are maintained. There are no nodes: the
 * tests inspect the pods' specs.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { startMgw, tempFolder } from '../../support/cli.ts';
import type { RunningCli, TempFolder } from '../../support/cli.ts';
import { needHelm, renderedObjects, runHelm } from '../../support/helm.ts';
import type { Rendered } from '../../support/helm.ts';
import { freePort } from '../../support/free-port.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { SCENE, kubeconfigFor, startCluster, teamManifest, restoredAfterDeletion, until } from './support.ts';
import type { Cluster, Live } from './support.ts';

const missing = await kubeApiserverMissing();
const helm = await needHelm();
const CHART = join(import.meta.dirname, '../../../charts/model-gateway');
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const NAME = 'model-gateway-sidecar.model-gateway';
const FOLDERS: Readonly<Record<string, string>> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
};

describe.skipIf(missing ?? helm.skip)("the sidecar's webhook", () => {
  let cluster: Cluster;
  let operator: RunningCli | undefined;
  let folder: TempFolder;
  let ports: { xds: number; admin: number; webhook: number };

  beforeAll(async () => {
    folder = await tempFolder();
    cluster = await startCluster();
    const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    for (const name of ['strict', 'elsewhere'])
      await cluster.admin.call('POST', '/api/v1/namespaces', {
        metadata: { name, labels: name === 'strict' ? restricted : {} },
      });
    const objects = renderedObjects(
      await runHelm(helm, 'template', 'gw', CHART, '--namespace', 'model-gateway', '--set', 'sidecar.enabled=true'),
    );
    for (const object of objects.filter(({ kind }) => FOLDERS[kind] !== undefined))
      await create(
        `/apis/rbac.authorization.k8s.io/v1/${
          object.metadata.namespace ? `namespaces/${object.metadata.namespace}/` : ''
        }${FOLDERS[object.kind]}`,
        object,
      );
    ports = { xds: await freePort(), admin: await freePort(), webhook: await freePort() };
    const [configuration] = objects.filter(({ kind }) => kind === 'MutatingWebhookConfiguration');
    await create(CONFIGURATIONS, atThisMachine(configuration));
    await create('/api/v1/namespaces/model-gateway/serviceaccounts', { metadata: { name: 'model-gateway-operator' } });
    const { body } = await cluster.admin.call(
      'POST',
      '/api/v1/namespaces/model-gateway/serviceaccounts/model-gateway-operator/token',
      { spec: {} },
    );
    const kubeconfig = await folder.write('kubeconfig', kubeconfigFor(cluster.server, body.status.token));
    await cluster.apply(
      [SCENE, teamManifest('strict'), teamManifest('elsewhere', 'gatewayNamespace: another')].join('---'),
    );
    operator = startMgw([
      'operator',
      '--kubeconfig',
      kubeconfig,
      '--namespace',
      'model-gateway',
      '--insecure-xds',
      '--xds-listen',
      `127.0.0.1:${ports.xds}`,
      '--admin',
      `127.0.0.1:${ports.admin}`,
      '--webhook-listen',
      `127.0.0.1:${ports.webhook}`,
      '--webhook-name',
      'localhost',
      '--sidecar-settings',
      '{"image": "model-gateway:test"}',
    ]);
    await until(
      'the operator is ready',
      () =>
        fetch(`http://127.0.0.1:${ports.admin}/readyz`).then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
    );
    await until('the API server trusts the webhook', bundle, (pem) => pem.includes('BEGIN CERTIFICATE'));
  });
  afterAll(async () => {
    await operator?.[Symbol.asyncDispose]();
    await cluster?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  async function create(path: string, object: object): Promise<void> {
    const { status, body } = await cluster.admin.call('POST', path, object);
    assert.equal(status, 201, body.message);
  }

  /** The chart's objects, except the Service, which nothing serves here. */
  function atThisMachine(configuration: Rendered): Rendered {
    assert.ok(configuration);
    return {
      ...configuration,
      webhooks: configuration.webhooks.map((each: Rendered) => ({
        ...each,
        clientConfig: { url: `https://localhost:${ports.webhook}${each.clientConfig.service.path}` },
      })),
    };
  }

  async function bundle(): Promise<string> {
    const { body } = await cluster.admin.call('GET', `${CONFIGURATIONS}/${NAME}`);
    return Buffer.from(body.webhooks?.[0].clientConfig.caBundle ?? '', 'base64').toString();
  }

  async function createPod(
    namespace: string,
    metadata: string,
    spec = '{containers: [{name: app, image: app}]}',
  ): Promise<{ readonly status: number; readonly body: Live }> {
    const pod = parse(`{apiVersion: v1, kind: Pod, metadata: ${metadata}, spec: ${spec}}`) as object;
    return cluster.admin.call('POST', `/api/v1/namespaces/${namespace}/pods`, pod);
  }

  const ASKING =
    '{generateName: app-, labels: {modelgateway.dev/inject: "true"}, annotations: {modelgateway.dev/api-key: ci}}';
  const RESTRICTED =
    '{securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: ' +
    '[{name: app, image: app, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}';

  it("adds the sidecar to a pod, with the key's Secret and the fleet's CA", async () => {
    const { status, body } = await createPod('team-a', ASKING);
    assert.equal(status, 201, body.message);
    const [sidecar] = body.spec.initContainers;
    assert.deepEqual(
      [sidecar.name, sidecar.restartPolicy, sidecar.image],
      ['model-gateway-sidecar', 'Always', 'model-gateway:test'],
    );
    assert.equal(body.spec.volumes.find((each: Live) => each.name === 'model-gateway-key').secret.secretName, 'ci-key');
    const env = Object.fromEntries(sidecar.env.map((each: Live) => [each.name, each.value]));
    const secret = await cluster.get('Secret', 'model-gateway', 'model-gateway-fleet-tls');
    assert.equal(env['MGW_FLEET_CA'], Buffer.from(secret.data.caCertificate, 'base64').toString());
    assert.equal(env['MGW_FLEET'], 'https://model-gateway-tls.model-gateway.svc');
    const app = Object.fromEntries(body.spec.containers[0].env.map((each: Live) => [each.name, each.value]));
    assert.deepEqual(
      [app['OPENAI_BASE_URL'], app['ANTHROPIC_BASE_URL']],
      ['http://127.0.0.1:4000/v1', 'http://127.0.0.1:4000'],
    );
    await until(
      'the key that it waits for is there',
      () => cluster.get('Secret', 'team-a', 'ci-key'),
      (key) => key?.data?.apiKey !== undefined,
    );
  });

  it('works in a namespace that enforces the restricted Pod Security Standard', async () => {
    const refused = await createPod('strict', '{name: loose}');
    assert.equal(refused.status, 403);
    const { status, body } = await createPod('strict', ASKING, RESTRICTED);
    assert.equal(status, 201, body.message);
    assert.equal(body.spec.initContainers[0].name, 'model-gateway-sidecar');
  });

  it('adds it to the pods of a Job, and does not change an injected pod that is created again', async () => {
    const first = (await createPod('team-a', ASKING, '{restartPolicy: Never, containers: [{name: batch, image: app}]}'))
      .body;
    const { resourceVersion: _, uid: __, name: ___, ...metadata } = first.metadata;
    const again = await cluster.admin.call('POST', '/api/v1/namespaces/team-a/pods', { ...first, metadata });
    assert.equal(again.status, 201, again.body.message);
    assert.deepEqual(again.body.spec, first.spec);
  });

  it('reports missing objects, and ignores pods without the label', async () => {
    const without = await createPod('team-a', '{name: a, labels: {modelgateway.dev/inject: "true"}}');
    assert.equal(without.status, 403);
    assert.match(
      without.body.message,
      /admission webhook .* denied the request: Model Gateway: .*modelgateway\.dev\/api-key/,
    );
    const unknown = await createPod('team-b', ASKING);
    assert.match(unknown.body.message, /the ApiKey ci does not exist in the namespace team-b/);
    for (const [namespace, metadata] of [
      ['team-a', '{name: b, labels: {modelgateway.dev/inject: "false"}}'],
      ['team-a', '{name: c}'],
      ['elsewhere', ASKING],
      ['kube-system', ASKING],
      ['model-gateway', ASKING],
    ] as const) {
      const { status, body } = await createPod(namespace, metadata);
      assert.deepEqual([status, body.spec?.initContainers], [201, undefined], `${namespace} ${metadata}`);
    }
  });

  it('restores its CA after somebody has removed it, or replaced the configuration', async () => {
    const good = await bundle();
    await cluster.admin.call(
      'PATCH',
      `${CONFIGURATIONS}/${NAME}`,
      [
        {
          op: 'remove',
          path: '/webhooks/0/clientConfig/caBundle',
        },
      ],
      'application/json-patch+json',
    );
    await until('it is back', bundle, (pem) => pem === good);
    await until(
      'an Event says so',
      async () =>
        (await cluster.admin.call('GET', '/apis/events.k8s.io/v1/namespaces/model-gateway/events')).body.items,
      (events) => events.some((event: Live) => event.reason === 'Restored'),
    );
    const {
      body: {
        metadata: { name, labels },
        ...configuration
      },
    } = await cluster.admin.call('GET', `${CONFIGURATIONS}/${NAME}`);
    await cluster.admin.call('DELETE', `${CONFIGURATIONS}/${NAME}`);
    await create(CONFIGURATIONS, {
      ...configuration,
      metadata: { name, labels },
      webhooks: configuration.webhooks.map((each: Live) => ({ ...each, clientConfig: { url: each.clientConfig.url } })),
    });
    await until('it is back', bundle, (pem) => pem === good);
    const managers = (await cluster.admin.call('GET', `${CONFIGURATIONS}/${NAME}`)).body.metadata.managedFields.filter(
      (each: Live) => each.manager === 'model-gateway-webhook',
    );
    assert.deepEqual(Object.keys(managers[0].fieldsV1['f:webhooks']), ['k:{"name":"inject.sidecar.modelgateway.dev"}']);
  });

  it('keeps its certificates and those of the fleet when somebody deletes them', async () => {
    for (const name of ['model-gateway-webhook-tls', 'model-gateway-fleet-tls']) {
      const { before, after } = await restoredAfterDeletion(cluster, 'secrets', name);
      assert.deepEqual(after, before, name);
    }
  });

  it('needed no rights beyond its Role', async () => {
    const metrics = await fetch(`http://127.0.0.1:${ports.admin}/metrics`).then((answer) => answer.text());
    assert.match(metrics, /modelgateway_operator_injections_total\{outcome="injected"\} [1-9]/);
    assert.doesNotMatch(metrics, /modelgateway_operator_api_requests_total\{verb="\w+",status="403"\}/);
    const log = operator?.stdout() ?? '';
    assert.doesNotMatch(log, /"level":"(?:warn|error)".*webhook(?!.*restored)/);
  });

  it('lets the operator exit normally', async () => {
    operator?.kill('SIGTERM');
    assert.equal((await operator?.finished)?.exitCode, 0);
  });
});

it("is requested by the documentation's example", async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/guides/sidecar.md'), 'utf8');
  assert.match(page, /modelgateway\.dev\/inject: (['"])true\1/);
});
