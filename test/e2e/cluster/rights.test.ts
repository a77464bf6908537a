/**
 * The manifests of docs/examples/kubernetes grant all the rights that the operator uses, and `mgw operator` runs with
 * them.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { freePort } from '../../support/free-port.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { SCENE, isReady, kubeconfigFor, restoredAfterDeletion, runOperator, startCluster, until } from './support.ts';
import type { Cluster, Live, Running } from './support.ts';

const missing = await kubeApiserverMissing();
const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = join(ROOT, 'docs/examples/kubernetes');
const MERGE = 'application/merge-patch+json';

const FOLDERS: Readonly<Record<string, string>> = {
  Namespace: 'api/v1/namespaces',
  ServiceAccount: 'api/v1/NS/serviceaccounts',
  ClusterRole: 'apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: 'apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Role: 'apis/rbac.authorization.k8s.io/v1/NS/roles',
  RoleBinding: 'apis/rbac.authorization.k8s.io/v1/NS/rolebindings',
};

for (const [file, watchNamespaces] of [
  ['rbac.yaml', undefined],
  ['rbac-namespaced.yaml', ['team-a']],
] as const) {
  describe.skipIf(missing)(`with the rights of ${file}`, () => {
    let cluster: Cluster;
    let kubeconfig: string;
    let run: Running | undefined;
    beforeAll(async () => {
      cluster = await startCluster();
      for (const document of parseAllDocuments(await readFile(join(EXAMPLES, file), 'utf8'))) {
        const object = document.toJS();
        const path = `/${FOLDERS[object.kind]?.replace('NS', `namespaces/${object.metadata.namespace}`)}`;
        const { status, body } = await cluster.admin.call('POST', path, object);
        assert.ok(status === 201 || (object.kind === 'Namespace' && status === 409), body.message);
      }
      const { body } = await cluster.admin.call(
        'POST',
        '/api/v1/namespaces/model-gateway/serviceaccounts/model-gateway-operator/token',
        { spec: {} },
      );
      kubeconfig = `${cluster.kubeconfig}.operator`;
      await writeFile(kubeconfig, kubeconfigFor(cluster.server, body.status.token));
      await cluster.apply(SCENE);
    });
    afterAll(async () => {
      await run?.stop();
      await cluster?.stop();
    });

    const apiKey = (): Promise<Live> => cluster.get('ApiKey', 'team-a', 'ci');

    it('everything works, and no forbidden request is made', async () => {
      run = runOperator(cluster, {
        kubeconfig,
        proxiesService: 'model-gateway',
        ...(watchNamespaces && { watchNamespaces }),
      });
      await until('ci is ready', apiKey, isReady);
      await cluster.admin.call(
        'PATCH',
        '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
        { spec: { key: { rotation: 2 } } },
        MERGE,
      );
      await until('ci is rotated', apiKey, (object) => isReady(object) && object.status.keyRotation === 2);
      await cluster.remove('ApiKey', 'team-a', 'ci');
      await cluster.apply(
        'kind: ApiKey\nmetadata: {name: ci, namespace: team-a}\nspec: {groupRef: {name: main}, ' +
          'accountRef: {name: team}}\n',
      );
      await until('ci is ready again', apiKey, isReady);
      const running = run;
      await until(
        'an Event',
        () => running.meter.count('modelgateway_operator_events_total', 'ok'),
        (count) => count > 0,
      );
      for (const verb of ['GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'WATCH'])
        assert.equal(running.meter.count('modelgateway_operator_api_requests_total', verb, '403'), 0, verb);
      await run.stop();
      run = undefined;
    });

    /** A proxy with the token and the CA of its pod: TLS, and a token review by the API server. */
    async function proxyConnects(xds: number, authority: string): Promise<void> {
      const folder = `${kubeconfig}.proxy`;
      await mkdir(folder);
      const accounts = '/api/v1/namespaces/model-gateway/serviceaccounts';
      await cluster.admin.call('POST', accounts, { metadata: { name: 'model-gateway-dataplane' } });
      const { body } = await cluster.admin.call('POST', `${accounts}/model-gateway-dataplane/token`, {
        spec: { audiences: ['model-gateway-xds'] },
      });
      await writeFile(join(folder, 'token'), body.status.token);
      await writeFile(join(folder, 'ca.crt'), authority);
      const [sdk, admin] = [await freePort(), await freePort()];
      const proxy = spawn(
        process.execPath,
        [
          'bin/mgw.js',
          'dataplane',
          '--xds',
          `localhost:${xds}`,
          '--xds-ca',
          join(folder, 'ca.crt'),
          '--token-file',
          join(folder, 'token'),
          '--listen',
          `127.0.0.1:${sdk}`,
          '--admin',
          `127.0.0.1:${admin}`,
          '--data',
          join(folder, 'data'),
        ],
        { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] },
      );
      try {
        await cluster.admin.call(
          'PATCH',
          '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
          { spec: { maxConcurrency: 9 } },
          MERGE,
        );
        const object = await until(
          'the proxy has it',
          apiKey,
          (seen) => isReady(seen) && seen.status.observedGeneration === seen.metadata.generation,
        );
        assert.match(JSON.stringify(object.status), /Acknowledged by 1 of 1 proxy/);
      } finally {
        await endOf(proxy);
      }
    }

    it('mgw operator runs, becomes ready, and exits normally', async () => {
      const [xds, admin, web] = [await freePort(), await freePort(), await freePort()];
      const args = [
        'bin/mgw.js',
        'operator',
        '--kubeconfig',
        kubeconfig,
        '--xds-listen',
        `127.0.0.1:${xds}`,
        '--xds-name',
        'localhost',
        '--admin',
        `127.0.0.1:${admin}`,
        '--console',
        `127.0.0.1:${web}`,
        '--proxies-service',
        'model-gateway',
        ...(watchNamespaces ? ['--watch-namespaces', watchNamespaces.join()] : []),
      ];
      const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
      const output: string[] = [];
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(String(chunk)));
      try {
        const get = async (path: string): Promise<{ status: number; text: string }> => {
          const answer = await fetch(`http://127.0.0.1:${admin}${path}`).catch(() => undefined);
          return answer ? { status: answer.status, text: await answer.text() } : { status: 0, text: output.join('') };
        };
        await until(
          'it is ready',
          () => get('/readyz'),
          ({ status }) => status === 200,
        );
        await until(
          'it leads',
          () => get('/metrics'),
          ({ text }) => text.includes('modelgateway_operator_leader 1'),
        );
        const dump = await get('/config_dump');
        assert.match(dump.text, /"name": "ci"/);
        const secret = Buffer.from((await cluster.get('Secret', 'team-a', 'ci-key')).data.apiKey, 'base64').toString();
        for (const text of [dump.text, output.join('')])
          assert.ok(!text.includes(secret) && !text.includes('provider-credential'));
        const { body } = await cluster.admin.call(
          'GET',
          '/api/v1/namespaces/model-gateway/configmaps/model-gateway-xds-ca',
        );
        assert.match(body.data['ca.crt'], /^-----BEGIN CERTIFICATE-----/);
        await proxyConnects(xds, body.data['ca.crt']);
        for (const [resource, name] of [
          ['configmaps', 'model-gateway-xds-ca'],
          ['secrets', 'model-gateway-xds-tls'],
          ['secrets', 'model-gateway-key'],
        ] as const) {
          const { before, after } = await restoredAfterDeletion(cluster, resource, name);
          assert.deepEqual(after, before, name);
        }
        await until(
          'the console',
          () =>
            fetch(`http://127.0.0.1:${web}/sign-in`).then(
              ({ status }) => status,
              () => 0,
            ),
          (status) => status === 200,
        );
        const { before, after } = await restoredAfterDeletion(cluster, 'secrets', 'model-gateway-console');
        assert.notDeepEqual(after, before, 'nobody stays signed in');
        assert.doesNotMatch((await get('/metrics')).text, /operator_api_requests_total\{verb="\w+",status="403"\}/);
      } finally {
        await endOf(child);
      }
      assert.equal(child.exitCode, 0, output.join(''));
      const { body } = await cluster.admin.call(
        'GET',
        '/apis/coordination.k8s.io/v1/namespaces/model-gateway/leases/model-gateway-operator',
      );
      assert.equal(body.spec.holderIdentity ?? '', '', 'the lead is given back');
      await rm(kubeconfig);
    });
  });
}

async function endOf(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
