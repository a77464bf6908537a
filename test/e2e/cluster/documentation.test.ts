/**
 * docs/guides/kubernetes.md as a new user follows it on one machine: kubectl against a real API server, the operator, a
 * proxy and the demo provider as processes, and a first call that is billed.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { OPERATOR_METRICS } from '../../../operator/metrics.ts';
import { freePort } from '../../support/free-port.ts';
import { kubeApiserverMissing, startKubeApiserver } from '../../support/kube-apiserver.ts';
import { GATEWAY_NAMESPACE, kubeconfigFor, until } from './support.ts';
import type { KubeApiserver } from '../../support/kube-apiserver.ts';

const hasKubectl = (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'kubectl')));
const missing = (await kubeApiserverMissing()) ?? (hasKubectl ? undefined : 'no kubectl');
const ROOT = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

describe.skipIf(missing)('docs/guides/kubernetes.md', () => {
  let server: KubeApiserver;
  let folder: string;
  const children: ChildProcess[] = [];
  const ports: Record<string, number> = {};

  beforeAll(async () => {
    server = await startKubeApiserver();
    folder = await mkdtemp(join(tmpdir(), 'mgw-docs-'));
    await writeFile(join(folder, 'kubeconfig'), kubeconfigFor(server, server.token));
    for (const name of ['xds', 'operator', 'proxy', 'sdk', 'provider']) ports[name] = await freePort();
  });
  afterAll(async () => {
    for (const child of children) {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const kubectl = async (...args: string[]): Promise<string> => {
    const { stdout } = await run('kubectl', ['--kubeconfig', join(folder, 'kubeconfig'), ...args], { cwd: ROOT });
    return stdout;
  };
  const mgw = (...args: string[]): void => {
    const child = spawn(process.execPath, ['bin/mgw.js', ...args], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children.push(child);
  };

  it('names commands and files that exist', async () => {
    const page = await readFile(join(ROOT, 'docs/guides/kubernetes.md'), 'utf8');
    const files = [...page.matchAll(/-f (docs\/\S+\.yaml)/g), ...page.matchAll(/`(docs\/examples\/\S+\.yaml)`/g)].map(
      ([, file = '']) => file,
    );
    assert.ok(files.length >= 8, files.join());
    for (const file of files) assert.ok(existsSync(join(ROOT, file)), file);
    const said = new Set([...page.matchAll(/`(modelgateway_operator_[a-z_]+)`/g)].map(([, name = '']) => name));
    assert.deepEqual(
      [...said].filter((name) => !(name in OPERATOR_METRICS)),
      [],
    );
    assert.ok(said.size >= 14);
  });

  it('installs the definitions, and explains them', async () => {
    await kubectl('apply', '--server-side', '-f', 'crds/');
    await kubectl('wait', '--for', 'condition=Established', 'crd/apikeys.modelgateway.dev', '--timeout', '30s');
    await kubectl('create', 'namespace', GATEWAY_NAMESPACE);
    await until(
      'kubectl knows the fields',
      () => kubectl('explain', 'apikeys.spec.quota').catch(String),
      (text) => text.includes('limitUsd'),
    );
  });

  it('leads to a first call that is billed, and to a revocation', async () => {
    mgw('demo-provider', '--listen', `127.0.0.1:${ports['provider']}`);
    mgw(
      'operator',
      '--kubeconfig',
      join(folder, 'kubeconfig'),
      '--insecure-xds',
      '--xds-listen',
      `127.0.0.1:${ports['xds']}`,
      '--admin',
      `127.0.0.1:${ports['operator']}`,
    );
    mgw(
      'dataplane',
      '--insecure-xds',
      '--xds',
      `127.0.0.1:${ports['xds']}`,
      '--listen',
      `127.0.0.1:${ports['sdk']}`,
      '--admin',
      `127.0.0.1:${ports['proxy']}`,
      '--data',
      join(folder, 'data'),
    );
    const platform = (
      await readFile(join(ROOT, 'docs/examples/kubernetes/first-call/platform.yaml'), 'utf8')
    ).replaceAll('4010', String(ports['provider']));
    await writeFile(join(folder, 'platform.yaml'), platform);
    await kubectl(
      'apply',
      '-f',
      join(folder, 'platform.yaml'),
      '-f',
      'docs/examples/kubernetes/first-call/team-a.yaml',
    );
    await kubectl('wait', '--for', 'condition=Ready', 'apikey/first', '--namespace', 'team-a', '--timeout', '60s');
    assert.match(
      await kubectl('get', 'apikeys', '--namespace', 'team-a'),
      /first\s+demo\s+team-a\s+true\s+5\.00\s+True/,
    );
    const key = Buffer.from(
      await kubectl('get', 'secret', 'first-key', '--namespace', 'team-a', '-o', 'jsonpath={.data.apiKey}'),
      'base64',
    ).toString();
    const call = () =>
      fetch(`http://127.0.0.1:${ports['sdk']}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] }),
      });
    const answer = await call();
    assert.equal(answer.status, 200, await answer.clone().text());
    assert.ok(Number(answer.headers.get('x-modelgateway-cost-usd')) > 0);
    assert.match(
      await kubectl('get', 'group', 'demo', '--namespace', GATEWAY_NAMESPACE, '-o', 'jsonpath={.status.conditions}'),
      /Acknowledged by 1 of 1 proxy/,
    );
    await kubectl(
      'patch',
      'apikey',
      'first',
      '--namespace',
      'team-a',
      '--type',
      'merge',
      '-p',
      '{"spec":{"enabled":false}}',
    );
    await until(
      'it is refused',
      async () => (await call()).status,
      (status) => status === 401,
    );
  });
});
