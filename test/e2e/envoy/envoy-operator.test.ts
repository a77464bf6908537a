/**
 * The whole way to an edge: a real API server with the proxies' EndpointSlices, `mgw operator` as a process, with the
 * rights of its manifests and nothing else, and a real Envoy with the bootstrap of docs/examples/kubernetes/edge.yaml,
 * which shows a ServiceAccount token.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { TYPES } from '../../../operator/xds/envoy/types.ts';
import { GATEWAY_NAMESPACE, kubeconfigFor, startCluster, until } from '../cluster/support.ts';
import type { Cluster } from '../cluster/support.ts';
import { needEnvoy, startEnvoy } from '../../support/envoy.ts';
import { freePort } from '../../support/free-port.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { edgePort, eventually, upstream } from './envoy-support.ts';

const ROOT = join(import.meta.dirname, '../../..');
const envoy = await needEnvoy();
/** EndpointSlices do not accept loopback addresses. */
const address = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address;
const skip =
  (await kubeApiserverMissing()) ?? (envoy.skip || (address === undefined && 'no address but loopback ones'));
const NAMESPACE = `/api/v1/namespaces/${GATEWAY_NAMESPACE}`;
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${GATEWAY_NAMESPACE}/endpointslices`;

async function manifests(
  file: string,
): Promise<{ kind: string; metadata: { name: string; namespace?: string }; data?: Record<string, string> }[]> {
  return parseAllDocuments(await readFile(join(ROOT, 'docs/examples/kubernetes', file), 'utf8')).map((document) =>
    document.toJS(),
  );
}

describe.skipIf(skip)('an edge that the operator configures', { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let folder: string;
  let operator: ChildProcess;
  let edge: Awaited<ReturnType<typeof startEnvoy>>;
  const upstreams: AsyncDisposable[] = [];
  let xds: number;

  const tokenFor = async (account: string, audience: string): Promise<string> => {
    const { body } = await cluster.admin.call('POST', `${NAMESPACE}/serviceaccounts/${account}/token`, {
      spec: {
        audiences: [audience],
        expirationSeconds: 3600,
      },
    });
    return body.status.token;
  };
  const slice = (name: string, port: number): object => ({
    metadata: { name, labels: { 'kubernetes.io/service-name': 'model-gateway-fleet' } },
    addressType: 'IPv4',
    ports: [
      { name: 'http', port },
      { name: 'admin', port },
    ],
    endpoints: [{ addresses: [address], conditions: { ready: true, serving: true, terminating: false } }],
  });

  beforeAll(async () => {
    cluster = await startCluster([]);
    folder = await mkdtemp(join(tmpdir(), 'mgw-edge-'));
    for (const file of ['rbac.yaml', 'edge.yaml']) {
      for (const object of await manifests(file)) {
        if (!['ServiceAccount', 'Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'].includes(object.kind))
          continue;
        const base = object.kind === 'ServiceAccount' ? '/api/v1' : '/apis/rbac.authorization.k8s.io/v1';
        const { status, body } = await cluster.admin.call(
          'POST',
          `${base}${
            object.metadata.namespace ? `/namespaces/${object.metadata.namespace}` : ''
          }/${object.kind.toLowerCase()}s`,
          object,
        );
        assert.ok(status < 300, body.message);
      }
    }
    await writeFile(
      join(folder, 'kubeconfig'),
      kubeconfigFor(cluster.server, await tokenFor('model-gateway-operator', 'https://kubernetes.default.svc')),
    );
    const admin = await freePort();
    xds = await freePort();
    operator = spawn(
      process.execPath,
      [
        'bin/mgw.js',
        'operator',
        '--kubeconfig',
        join(folder, 'kubeconfig'),
        '--xds-listen',
        `127.0.0.1:${await freePort()}`,
        '--admin',
        `127.0.0.1:${admin}`,
        '--envoy-xds-listen',
        `127.0.0.1:${xds}`,
        '--edge-service',
        'model-gateway-fleet',
        '--edge-listen',
        '127.0.0.1:0',
        '--log-level',
        'error',
      ],
      { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] },
    );
    await until(
      'the operator is ready',
      () =>
        fetch(`http://127.0.0.1:${admin}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      (ok) => ok,
    );
    const ca = await cluster.admin.call('GET', `${NAMESPACE}/configmaps/model-gateway-xds-ca`);
    await mkdir(join(folder, 'ca'));
    await mkdir(join(folder, 'token'));
    await writeFile(join(folder, 'ca/ca.crt'), ca.body.data['ca.crt']);
  });
  afterAll(async () => {
    await edge?.[Symbol.asyncDispose]();
    const exited = operator && once(operator, 'exit');
    operator?.kill('SIGTERM');
    await exited;
    for (const each of upstreams) await each[Symbol.asyncDispose]();
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Replaces a file as the kubelet does. */
  const putToken = async (token: string): Promise<void> => {
    await writeFile(join(folder, 'next'), token);
    await rename(join(folder, 'next'), join(folder, 'token/token'));
  };

  it('authenticates only with a token for edges, which is read again from its file', async () => {
    const one = await upstream('one', '0.0.0.0');
    upstreams.push(one);
    assert.equal((await cluster.admin.call('POST', SLICES, slice('fleet-a', one.port))).status, 201);
    const config = (await manifests('edge.yaml')).find(({ kind }) => kind === 'ConfigMap')?.data ?? {};
    const here = (text: string): string =>
      text
        .replaceAll('/var/run/secrets/modelgateway.dev/edge', join(folder, 'token'))
        .replaceAll('/var/run/configmaps/modelgateway.dev/xds', join(folder, 'ca'))
        .replaceAll('/etc/envoy', folder)
        .replace('model-gateway-operator-edge.model-gateway.svc', '127.0.0.1')
        .replace('18001', String(xds));
    for (const [name, text] of Object.entries(config)) await writeFile(join(folder, name), here(text));
    await putToken(await tokenFor('model-gateway-edge', 'model-gateway-xds'));
    edge = await startEnvoy(envoy.path, parse(here(config['envoy.yaml'] ?? '')));
    await eventually(async () => edge.log().includes('stream to operator closed: 16'));
    await putToken(await tokenFor('model-gateway-edge', 'model-gateway-edge'));
    const url = `http://127.0.0.1:${await edgePort(edge)}`;
    assert.equal(await eventually(() => fetch(url).then(async (answer) => answer.ok && answer.text())), 'one');
  });

  it('follows the fleet: endpoints that appear, terminate and disappear', async () => {
    const url = `http://127.0.0.1:${await edgePort(edge)}`;
    const two = await upstream('two', '0.0.0.0');
    upstreams.push(two);
    const words = (): Promise<string> => fetch(url).then((answer) => answer.text());
    assert.equal((await cluster.admin.call('POST', SLICES, slice('fleet-b', two.port))).status, 201);
    await eventually(async () => (await words()) === 'two');
    const ends = {
      endpoints: [
        {
          addresses: [address],
          conditions: { ready: false, serving: true, terminating: true },
        },
      ],
    };
    assert.equal(
      (await cluster.admin.call('PATCH', `${SLICES}/fleet-a`, ends, 'application/merge-patch+json')).status,
      200,
    );
    await eventually(
      async () =>
        (await edge.admin('/clusters')).split('\n').filter((line) => /model-gateway::.*::cx_total/.test(line))
          .length === 1,
    );
    for (let n = 0; n < 10; n += 1) assert.equal(await words(), 'two');
  });

  it("gets nothing of the proxies' configuration", async () => {
    const { DELTA_AGGREGATED_RESOURCES } = await import('#snapshot/services.ts');
    const { RESOURCE_TYPES } = await import('#snapshot/resources.ts');
    const { Client, Metadata } = await import('@grpc/grpc-js');
    const client = new Client(`127.0.0.1:${xds}`, credentials.createSsl(await readFile(join(folder, 'ca/ca.crt'))), {
      'grpc.ssl_target_name_override': 'model-gateway-operator.model-gateway.svc',
    });
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${await tokenFor('model-gateway-edge', 'model-gateway-edge')}`);
    const { path, requestSerialize, responseDeserialize } = DELTA_AGGREGATED_RESOURCES;
    const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
    const held = new Map<string, number>();
    call.on('data', ({ typeUrl, resources }: { typeUrl: string; resources: unknown[] }) =>
      held.set(typeUrl, resources.length),
    );
    call.on('error', () => undefined);
    const asked = [...RESOURCE_TYPES.map(({ typeUrl }) => typeUrl), TYPES.cluster];
    for (const typeUrl of asked)
      call.write({
        node: { id: 'x', cluster: '', userAgentName: '' },
        typeUrl,
        resourceNamesSubscribe: ['*'],
        resourceNamesUnsubscribe: [],
        initialResourceVersions: {},
        responseNonce: '',
        errorDetail: undefined,
      });
    await eventually(() => Promise.resolve(held.size === asked.length));
    assert.deepEqual(
      [...held].filter(([, count]) => count > 0).map(([typeUrl]) => typeUrl),
      [TYPES.cluster],
    );
    call.cancel();
    client.close();
  });
});
