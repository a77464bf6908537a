/** The kubectl plugin on a real API server, with the rights of whoever calls it. The node's suite calls through pods. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { needKubectl } from '../../support/kube/kubectl.ts';
import { GATEWAY_NAMESPACE, PLATFORM, startCluster, teamManifest } from './support.ts';
import type { Cluster } from './support.ts';

const kubectl = await needKubectl(process.env);
const missing = (await kubeApiserverMissing()) ?? kubectl.skip;
const PLUGIN = join(import.meta.dirname, '../../../bin/kubectl-mgw');
/** A second channel, an automatic group with main as a member, and a team that uses it. */
const MORE = `
kind: ModelRoute
metadata: {name: pair}
spec:
  models: [{name: gpt, contextTokens: 1000, maxOutputTokens: 100}]
  channels: [{name: first, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1"},
    {name: second, protocol: OpenAI, baseUrl: "http://127.0.0.1:2/v1"}]
---
kind: Group
metadata: {name: auto}
spec: {type: Automatic, allowedNamespaces: {from: All}, members: [{name: main}]}
---
kind: ApiKey
metadata: {name: agent, namespace: team-b}
spec: {groupRef: {name: auto}, accountRef: {name: team}}
---
kind: ApiKey
metadata: {name: elsewhere, namespace: team-b}
spec: {gatewayNamespace: other, groupRef: {name: main}, accountRef: {name: team}}
`;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe.skipIf(missing)('kubectl mgw', () => {
  let cluster: Cluster;
  let folder: string;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.apply(`${PLATFORM}---${teamManifest('team-a')}---${teamManifest('team-b')}---${MORE}`);
    // alone in a folder, as people install it
    folder = await mkdtemp(join(tmpdir(), 'mgw-plugin-'));
    await copyFile(PLUGIN, join(folder, 'kubectl-mgw'));
    await chmod(join(folder, 'kubectl-mgw'), 0o755);
  });
  afterAll(async () => {
    await cluster?.stop();
    if (folder) await rm(folder, { recursive: true });
  });

  function plugin(...args: readonly string[]): Promise<Ended> {
    const path = [folder, dirname(kubectl.path), dirname(process.execPath), process.env['PATH']].join(':');
    const env = { PATH: path, HOME: folder, KUBECONFIG: cluster.kubeconfig };
    return new Promise((resolve) => {
      execFile(kubectl.path, ['mgw', ...args], { env }, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
      });
    });
  }

  async function setStatus(plural: string, name: string, status: object): Promise<void> {
    const path = `/apis/modelgateway.dev/v1alpha1/namespaces/team-a/${plural}/${name}/status`;
    const { status: code, body } = await cluster.admin.call('PATCH', path, { status }, 'application/merge-patch+json');
    assert.equal(code, 200, JSON.stringify(body));
  }

  const rowsOf = (stdout: string): string[][] => stdout.split('\n').map((line) => line.split(/ {2,}/));

  it('lists who uses a group, also through an automatic one, and only keys of this gateway', async () => {
    const { code, stdout, stderr } = await plugin('who', 'main');
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(rowsOf(stdout), [
      ['NAMESPACE', 'KEY', 'ACCOUNT', 'GROUP', 'ENABLED', 'READY', 'LAST USED'],
      ['team-a', 'ci', 'team', 'main', 'true', 'Unknown (Pending)', 'never'],
      ['team-b', 'agent', 'team', 'auto', 'true', 'Unknown (Pending)', 'never'],
      ['team-b', 'ci', 'team', 'main', 'true', 'Unknown (Pending)', 'never'],
      ['3 keys in 2 namespaces use the Group main.'],
      [''],
    ]);
    assert.match((await plugin('who', 'mian')).stderr, /There is no Group "mian" in the namespace model-gateway/);
  });

  it('drains channels one by one, and warns when none is left', async () => {
    const drainedNow = async (): Promise<unknown> =>
      (await cluster.get('ModelRoute', GATEWAY_NAMESPACE, 'pair')).spec.drainedChannels;
    assert.match((await plugin('drain', 'pair/first')).stdout, /^pair: drained first; in use second$/m);
    assert.deepEqual(await drainedNow(), ['first']);
    const last = await plugin('drain', 'pair/second');
    assert.match(last.stderr, /Warning: pair has no channel left/);
    assert.deepEqual(await drainedNow(), ['first', 'second']);
    assert.match((await plugin('undrain', 'pair/first')).stdout, /^pair: drained second; in use first$/m);
    assert.deepEqual(await drainedNow(), ['second']);
    const wrong = await plugin('drain', 'pair/third');
    assert.deepEqual(
      [wrong.code, wrong.stderr],
      [1, 'The ModelRoute pair has no channel "third", but first, second.\n'],
    );
  });

  it('lists what has spent the most', async () => {
    await setStatus('apikeys', 'ci', { spentUsd: '12.5' });
    await setStatus('accounts', 'team', { spentUsd: '12.5', balanceUsd: '-2.5' });
    const keys = rowsOf((await plugin('top')).stdout);
    assert.deepEqual(keys[1], ['team-a', 'ci', '12.5', 'Unlimited', 'Never', 'Unknown (Pending)']);
    const accounts = rowsOf((await plugin('top', 'accounts', '--limit', '1')).stdout);
    assert.deepEqual(accounts.slice(1), [['team-a', 'team', '12.5', '-2.5', 'Unknown (Pending)'], ['']]);
  });

  it('says what fails with the words of the API server, and exits as kubectl does', async () => {
    const missingKey = await plugin('test', 'team-a/nobody');
    assert.equal(missingKey.code, 1);
    assert.match(missingKey.stderr, /apikeys.*"nobody" not found/);
    const noProxy = await plugin('usage', '--since', '24h');
    assert.equal(noProxy.code, 1);
    assert.match(noProxy.stderr, /deployments.apps "model-gateway" not found/);
  });

  it('describes itself, and exits with 64 for a wrong command line', async () => {
    assert.match((await plugin()).stdout, /^Usage: kubectl mgw /);
    for (const [args, said] of [
      [['frobnicate'], /There is no command "frobnicate"/],
      [['who'], /who needs the name of one Group/],
      [['drain', 'pair'], /drain needs ROUTE\/CHANNEL/],
      [['--frob=1', 'top'], /There is no flag --frob/],
      [['top', 'models'], /top takes keys or accounts/],
    ] as const) {
      const { code, stderr } = await plugin(...args);
      assert.equal(code, 64, args.join(' '));
      assert.match(stderr, said);
    }
  });
});
