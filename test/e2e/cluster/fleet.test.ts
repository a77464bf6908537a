/**
 * A whole fleet as processes against a real API server: two operators and two proxies with the rights and tokens of
 * their ServiceAccounts, TLS between all of them, one ledger. Whoever shows another token gets nothing.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { startXdsClient } from '../../../dataplane/xds/client.ts';
import { startDemoProvider } from '../../../demo/provider.ts';
import type { DemoProvider } from '../../../demo/provider.ts';
import { freePort } from '../../support/free-port.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { startValkey, valkey } from '../../support/valkey.ts';
import type { ValkeyServer } from '../../support/valkey.ts';
import { cable } from '../../unit/dataplane/xds/support.ts';
import { SCENE, conditionsOf, isReady, kubeconfigFor, startCluster, until } from './support.ts';
import type { Cluster, Live } from './support.ts';

const ROOT = join(import.meta.dirname, '../../..');
const skip = (await kubeApiserverMissing()) ?? valkey.skip;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const MERGE = 'application/merge-patch+json';

interface Replica {
  readonly xds: number;
  readonly admin: number;
  readonly process: ChildProcess;
}

type Cable = Awaited<ReturnType<typeof cable>>;

interface Proxy {
  readonly sdk: number;
  readonly process: ChildProcess;
}

describe.skipIf(skip)('a fleet of operators and proxies', { timeout: 180_000 }, () => {
  let cluster: Cluster;
  let folder: string;
  let ledger: ValkeyServer;
  let provider: DemoProvider;
  let replicas: Replica[] = [];
  let proxies: Proxy[] = [];
  const processes: ChildProcess[] = [];
  /** Between the third proxy and the operators. */
  let cables: Cable[] = [];

  beforeAll(async () => {
    [cluster, ledger, provider, folder] = await Promise.all([
      startCluster(),
      startValkey(),
      startDemoProvider({
        host: '127.0.0.1',
        port: 0,
        tokenMs: 0,
        slowTokenMs: 0,
      }),
      mkdtemp(join(tmpdir(), 'mgw-fleet-')),
    ]);
    for (const document of parseAllDocuments(
      await readFile(join(ROOT, 'docs/examples/kubernetes/rbac.yaml'), 'utf8'),
    )) {
      const object = document.toJS();
      if (object.kind === 'Namespace') continue;
      const where = object.metadata.namespace ? `/namespaces/${object.metadata.namespace}` : '';
      const { status, body } = await cluster.admin.call(
        'POST',
        `${object.kind === 'ServiceAccount' ? '/api/v1' : RBAC}${where}/${object.kind.toLowerCase()}s`,
        object,
      );
      assert.equal(status, 201, body.message);
    }
    for (const [namespace, name] of [
      ['model-gateway', 'model-gateway-dataplane'],
      ['model-gateway', 'passer-by'],
      ['team-a', 'model-gateway-dataplane'],
    ]) {
      await cluster.admin.call('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
    }
    await cluster.apply(
      SCENE.replace('http://127.0.0.1:1/v1', `${provider.url}/v1`).replaceAll('name: gpt,', 'name: gpt-4o-mini,'),
    );
    replicas = [await startOperator(), await startOperator()];
    for (const { admin } of replicas)
      await until(
        'an operator is ready',
        () => statusOf(`http://127.0.0.1:${admin}/readyz`),
        (status) => status === 200,
      );
    await writeFile(
      join(folder, 'ca.crt'),
      (await cluster.admin.call('GET', '/api/v1/namespaces/model-gateway/configmaps/model-gateway-xds-ca')).body.data[
        'ca.crt'
      ],
    );
  });
  afterAll(async () => {
    await Promise.all(processes.map(endOf));
    await Promise.all(cables.map((each) => each[Symbol.asyncDispose]()));
    await provider?.stop();
    await ledger?.[Symbol.asyncDispose]();
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function tokenFile(namespace: string, account: string, audience: string): Promise<string> {
    const { status, body } = await cluster.admin.call(
      'POST',
      `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
      { spec: { audiences: [audience] } },
    );
    assert.equal(status, 201, body.message);
    const path = join(folder, `${namespace}.${account}.${audience.replaceAll(/\W/g, '-')}`);
    await writeFile(path, body.status.token, { mode: 0o600 });
    return path;
  }

  function mgw(args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, ['bin/mgw.js', ...args, '--log-level', 'error'], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    processes.push(child);
    return child;
  }

  async function startOperator(): Promise<Replica> {
    const [xds, admin] = [await freePort(), await freePort()];
    const kubeconfig = join(folder, 'kubeconfig');
    const token = await readFile(
      await tokenFile('model-gateway', 'model-gateway-operator', 'https://kubernetes.default.svc'),
      'utf8',
    );
    await writeFile(kubeconfig, kubeconfigFor(cluster.server, token), { mode: 0o600 });
    return {
      xds,
      admin,
      process: mgw([
        'operator',
        '--kubeconfig',
        kubeconfig,
        '--xds-listen',
        `127.0.0.1:${xds}`,
        '--xds-name',
        'localhost',
        '--advertise',
        `127.0.0.1:${xds}`,
        '--token-file',
        await tokenFile('model-gateway', 'model-gateway-operator', 'model-gateway-xds'),
        '--admin',
        `127.0.0.1:${admin}`,
        '--ledger',
        ledger.url,
        '--proxies-service',
        'model-gateway-fleet',
      ]),
    };
  }

  async function startProxy(xds: readonly number[], name: string): Promise<Proxy> {
    const [sdk, admin] = [await freePort(), await freePort()];
    const child = mgw([
      'dataplane',
      ...xds.flatMap((port) => ['--xds', `localhost:${port}`]),
      '--xds-ca',
      join(folder, 'ca.crt'),
      '--node-id',
      name,
      '--token-file',
      await tokenFile('model-gateway', 'model-gateway-dataplane', 'model-gateway-xds'),
      '--listen',
      `127.0.0.1:${sdk}`,
      '--admin',
      `127.0.0.1:${admin}`,
      '--data',
      join(folder, name),
      '--ledger',
      ledger.url,
    ]);
    await until(
      `${name} is ready`,
      () => statusOf(`http://127.0.0.1:${admin}/readyz`),
      (status) => status === 200,
    );
    return { sdk, process: child };
  }

  const apiKey = (): Promise<Live> => cluster.get('ApiKey', 'team-a', 'ci');

  async function call({ sdk }: Proxy, key: string): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${sdk}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 50 }),
    });
    await answer.text();
    return answer.status;
  }
  const generatedKey = async (): Promise<string> =>
    Buffer.from((await cluster.get('Secret', 'team-a', 'ci-key')).data.apiKey, 'base64').toString();

  it('serves proxies from either operator, and the leader reports what all of them hold', async () => {
    // one at each operator: what the other's proxy holds reaches the leader over the stream between the replicas
    proxies = await Promise.all(replicas.map(({ xds }, n) => startProxy([xds], `proxy-${n}`)));
    await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
      { spec: { maxConcurrency: 9 } },
      MERGE,
    );
    const object = await until(
      'both have it',
      apiKey,
      (seen) =>
        isReady(seen) &&
        seen.status.observedGeneration === seen.metadata.generation &&
        /Acknowledged by 2 of 2 proxies/.test(JSON.stringify(seen.status)),
    );
    assert.equal(object.metadata.generation, object.status.observedGeneration);
    const key = await generatedKey();
    for (const proxy of proxies) assert.equal(await call(proxy, key), 200);
  });

  it('does not say that all have an edit while a ready pod is connected to neither', async () => {
    const endpoint = (name: string) => ({
      addresses: ['10.0.0.1'],
      conditions: { ready: true },
      targetRef: { kind: 'Pod', namespace: 'model-gateway', name, uid: `uid-of-${name}` },
    });
    const { status, body } = await cluster.admin.call(
      'POST',
      '/apis/discovery.k8s.io/v1/namespaces/model-gateway/endpointslices',
      {
        metadata: { name: 'fleet-1', labels: { 'kubernetes.io/service-name': 'model-gateway-fleet' } },
        addressType: 'IPv4',
        endpoints: ['proxy-0', 'proxy-1', 'proxy-2'].map(endpoint),
        ports: [{ name: 'http', port: 8080 }],
      },
    );
    assert.equal(status, 201, body.message);
    await until(
      'the leader misses a pod',
      async () => Promise.all(replicas.map(({ admin }) => metricsOf(admin))),
      (metrics) => metrics.filter((text) => /modelgateway_operator_proxies_not_connected 1/.test(text)).length === 1,
    );
    await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
      { spec: { maxConcurrency: 8 } },
      MERGE,
    );
    await until('the missing pod is named', apiKey, (seen) =>
      /Acknowledged by 2 of 3 proxies; proxy-2 is not connected/.test(JSON.stringify(seen.status)),
    );
    cables = await Promise.all(replicas.toReversed().map(({ xds }) => cable(xds)));
    proxies.push(
      await startProxy(
        cables.map(({ port }) => port),
        'proxy-2',
      ),
    );
    await until(
      'all three have it',
      apiKey,
      (seen) => isReady(seen) && /Acknowledged by 3 of 3 proxies/.test(JSON.stringify(seen.status)),
    );
  });

  it('never says that a key is revoked while a proxy that is cut off accepts it', async () => {
    const key = await generatedKey();
    const [near, other, far] = proxies;
    assert.ok(near && other && far);
    const enable = (enabled: boolean): Promise<unknown> =>
      cluster.admin.call(
        'PATCH',
        '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
        { spec: { enabled } },
        MERGE,
      );
    const isProgrammed = (seen: Live): boolean =>
      seen.status.observedGeneration === seen.metadata.generation &&
      conditionsOf(seen).some((condition) => condition.startsWith('Programmed=True'));
    // no bytes pass any more: neither side learns of it before its pings fail
    for (const each of cables) each.cut();
    await enable(false);
    for (const proxy of [near, other])
      await until(
        'the others refuse the key',
        () => call(proxy, key),
        (status) => status === 401,
      );
    await until('the proxy is named', apiKey, (seen) => {
      assert.ok(!isProgrammed(seen), 'it says that it is done');
      return /2 of 3 proxies; proxy-2 is not connected/.test(JSON.stringify(seen.status));
    });
    assert.equal(await call(far, key), 200, 'what the status is about');
    assert.ok(!isProgrammed(await apiKey()));
    for (const each of cables) each.mend();
    await until('all refuse the key', apiKey, isProgrammed);
    assert.equal(await call(far, key), 401);
    await enable(true);
    await until('all accept it again', apiKey, (seen) => isProgrammed(seen) && isReady(seen));
    assert.equal(await call(far, key), 200);
  });

  for (const [who, namespace, account, audience, reason] of [
    [
      "another ServiceAccount of the gateway's namespace",
      'model-gateway',
      'passer-by',
      'model-gateway-xds',
      /7 PERMISSION_DENIED: the ServiceAccount passer-by is not allowed.*--xds-proxies/,
    ],
    [
      "the operator's own",
      'model-gateway',
      'model-gateway-operator',
      'model-gateway-xds',
      /7 PERMISSION_DENIED: the ServiceAccount model-gateway-operator/,
    ],
    [
      'one of that name in another namespace',
      'team-a',
      'model-gateway-dataplane',
      'model-gateway-xds',
      /7 PERMISSION_DENIED: this server serves the namespace model-gateway/,
    ],
    [
      'a token for another audience',
      'model-gateway',
      'model-gateway-dataplane',
      'model-gateway-edge',
      /16 UNAUTHENTICATED/,
    ],
    [
      'a token for the API server',
      'model-gateway',
      'model-gateway-dataplane',
      'https://kubernetes.default.svc',
      /16 UNAUTHENTICATED/,
    ],
  ] as const)
    it(`refuses ${who}`, async () => {
      const lines: string[] = [];
      const note = (fields: unknown, message = ''): void =>
        void lines.push(
          `${message} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? value.message : value))}`,
        );
      const client = await startXdsClient({
        addresses: [`localhost:${replicas[0]!.xds}`],
        secure: {
          caFile: join(folder, 'ca.crt'),
          tokenFile: await tokenFile(namespace, account, audience),
        },
        nodeId: 'stranger',
        version: 'test',
        log: { debug: note, info: note, warn: note, error: note },
        install: () => assert.fail('it got the configuration'),
      });
      try {
        await until(
          'it is refused',
          () => lines.join('\n'),
          (text) => reason.test(text),
        );
        assert.equal(client.figures().resources, 0);
      } finally {
        await client.stop();
      }
    });

  it('continues with the other operator when the leader is killed', async () => {
    const leads = async ({ admin }: Replica): Promise<boolean> =>
      /modelgateway_operator_leader 1/.test(await metricsOf(admin));
    const [first, second] = (await leads(replicas[0]!)) ? [replicas[0]!, replicas[1]!] : [replicas[1]!, replicas[0]!];
    const exited = once(first.process, 'exit');
    first.process.kill('SIGKILL');
    await exited;
    const key = await generatedKey();
    for (const proxy of proxies) assert.equal(await call(proxy, key), 200, 'proxies go on with what they have');
    await until(
      'the second leads',
      () => leads(second),
      (yes) => yes,
    );
  });

  it('writes the spending of all proxies into the statuses', async () => {
    const key = await generatedKey();
    const own = (await (
      await fetch(`http://127.0.0.1:${proxies[0]!.sdk}/v1/key`, { headers: { authorization: `Bearer ${key}` } })
    ).json()) as { spent_usd: string };
    assert.ok(Number(own.spent_usd) > 0);
    const spent = await until(
      'the spending',
      apiKey,
      ({ status }) => Number(status.spentUsd ?? 0) === Number(own.spent_usd),
    );
    await until(
      "the account's",
      () => cluster.get('Account', 'team-a', 'team'),
      ({ status }) => status.spentUsd === spent.status.totalSpentUsd,
    );
    const managers = spent.metadata.managedFields.map(({ manager }: { manager: string }) => manager);
    assert.ok(managers.includes('modelgateway-spending.model-gateway'), managers.join());
  });

  it('revokes a key through the new leader', async () => {
    const key = await generatedKey();
    await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
      { spec: { enabled: false } },
      MERGE,
    );
    await until(
      "the new leader's proxies refuse the key",
      () => call(proxies[2]!, key),
      (status) => status === 401,
    );
  });
});

async function metricsOf(admin: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
}

function statusOf(url: string): Promise<number> {
  return fetch(url).then(
    ({ status }) => status,
    () => 0,
  );
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
