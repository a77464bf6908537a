/**
 * The chart on a real node, as a platform team runs it: installed under the restricted Pod Security Standard, called
 * with the official SDKs, upgraded, restarted and killed under traffic, uninstalled and installed again. One node and
 * one release for all of it, in this order.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { NAMESPACE, ROOT } from '../charts/situations.ts';
import { nanoUsd } from '../../support/api/client.ts';
import type { KubeAnswer } from '../../support/kube/client.ts';
import { readBooks, reconcile } from './books.ts';
import { testSidecars } from './sidecars.ts';
import { failures, isSpent, startTraffic } from './traffic.ts';
import type { Traffic } from './traffic.ts';
import {
  ENTRANCES,
  eventually,
  installDefinitions,
  killPod,
  makeFirstCall,
  openClusterRelease,
  operatorLease,
  packagedChart,
  RELEASE,
  rollout,
  VALUES,
  clusterReleaseMissing,
} from './cluster-release.ts';
import type { ClusterRelease } from './cluster-release.ts';

const missing = await clusterReleaseMissing();
/** An account with a key with plenty of money, and one that is soon used up. */
const MORE_KEYS = join(import.meta.dirname, 'team-k.yaml');
const SIDECAR_JOB = join(import.meta.dirname, 'sidecar-job.yaml');
const LITTLE_NANO_USD = 3_000_000n;
/** Tries to connect to each address, and prints the results. */
const CONNECT = `
const places = JSON.parse(process.argv[1]);
const tried = places.map(([name, port]) => new Promise((resolve) => {
  const socket = require('node:net').connect({ host: name + '.model-gateway.svc', port, timeout: 3000 });
  const end = (word) => { socket.destroy(); resolve(word); };
  socket.once('connect', () => end('connected')).once('timeout', () => end('ETIMEDOUT'))
    .once('error', (error) => end(error.code));
}));
Promise.all(tried).then((words) => console.log(JSON.stringify(words)));`;
const MODEL = 'gpt-4o-mini';
const NEXT_VERSION = '0.1.1';
/** Deployments with the number of their pods. */
const RESTARTED = [
  ['dataplane', 3],
  ['operator', 2],
  ['edge', 2],
] as const;

describe.skipIf(missing)('a release on a node', () => {
  let release: ClusterRelease;
  beforeAll(async () => {
    release = await openClusterRelease();
  });
  afterAll(async () => {
    await release?.close();
  });

  it('is installed', async () => {
    await installDefinitions(release);
    await release.install();
    const pods = await release.pods();
    assert.deepEqual(pods.map(({ component }) => component).sort(), [
      'dataplane',
      'dataplane',
      'dataplane',
      'demo',
      'edge',
      'edge',
      'operator',
      'operator',
      'valkey',
    ]);
    for (const { name, restarts, readyAfterSeconds } of pods) {
      console.info(`${name}: ready after ${readyAfterSeconds} s`);
      assert.equal(restarts, 0, name);
    }
  });

  it('serves the first call that helm prints', async () => {
    const { choices, model } = (await makeFirstCall(release)) as OpenAI.ChatCompletion;
    assert.equal(model, MODEL);
    assert.match(choices[0]?.message.content ?? '', /^Hello there! .*I am the demo provider/);
  });

  it('serves the official SDKs', async () => {
    const [urls, apiKey] = [await release.urls(), await release.key('first')];
    for (const entrance of ENTRANCES) {
      const openai = new OpenAI({ apiKey, baseURL: `${urls[entrance]}/v1`, organization: null, project: null });
      const answer = await openai.chat.completions.create({
        model: MODEL,
        messages: [{ role: 'user', content: 'say: hello' }],
      });
      assert.equal(answer.choices[0]?.message.content, 'hello');
      const anthropic = new Anthropic({ apiKey, authToken: null, baseURL: urls[entrance] });
      const message = await anthropic.messages
        .stream({
          model: MODEL,
          max_tokens: 100,
          messages: [{ role: 'user', content: 'say: hello' }],
        })
        .finalMessage();
      assert.deepEqual(message.content, [{ type: 'text', text: 'hello' }]);
      assert.deepEqual(
        (await Array.fromAsync(await openai.models.list())).map(({ id }) => id),
        [MODEL],
      );
    }
  });

  it('passes helm test', async () => {
    const said = await release.helm('test', RELEASE, '--logs');
    assert.match(said, /Phase: +Succeeded/);
    assert.match(said, /ok {4}every proxy is ready: 3 of 3/);
  });

  it('lets other pods reach the gateway, but not its ledger, operator or demo provider', async () => {
    const places = [
      ['model-gateway', 80],
      ['model-gateway-fleet', 8080],
      ['model-gateway-valkey', 6379],
      ['model-gateway-operator', 18000],
      ['model-gateway-demo', 4010],
    ] as const;
    await release.node.kubectl(
      'run',
      'stranger',
      '--namespace',
      'team-a',
      '--image',
      'model-gateway:0.1.0',
      '--image-pull-policy',
      'Never',
      '--restart',
      'Never',
      '--command',
      '--',
      'node',
      '--eval',
      CONNECT,
      JSON.stringify(places),
    );
    await release.node.kubectl(
      'wait',
      '--for',
      'jsonpath={.status.phase}=Succeeded',
      'pod/stranger',
      '--namespace',
      'team-a',
      '--timeout=60s',
    );
    const said = await release.node.kubectl('logs', 'stranger', '--namespace', 'team-a');
    // with Envoys in front of them, only these call the proxies
    assert.deepEqual(JSON.parse(said), ['connected', 'ETIMEDOUT', 'ETIMEDOUT', 'ETIMEDOUT', 'ETIMEDOUT']);
  });

  it('serves a Job without a key through its sidecar, with the SDK', async () => {
    const job = (await readFile(SIDECAR_JOB, 'utf8')).replace('SDK-FOLDER', join(ROOT, 'node_modules/openai'));
    await writeFile(join(release.node.folder, 'job.yaml'), job);
    await release.node.kubectl('apply', '-f', join(release.node.folder, 'job.yaml'));
    await release.node.kubectl(
      'wait',
      '--for',
      'condition=Complete',
      'job/assistant',
      '--namespace',
      'team-a',
      '--timeout=90s',
    );
    assert.equal(
      await release.node.kubectl('logs', 'job/assistant', '--container', 'assistant', '--namespace', 'team-a'),
      'hello from a sidecar\n',
    );
  });

  describe('sidecars', () => testSidecars(() => release));

  for (const [component, count] of RESTARTED) {
    it(`loses no call while its ${component} is restarted`, async () => {
      await withoutFailure(async () => {
        await rollout(release, 'restart', component);
        await rollout(release, 'status', component, '--timeout=120s');
        await release.settled(component, count);
      });
    });
  }

  it("loses no call while it is upgraded to the next version's packaged chart", async () => {
    const chart = await packagedChart(release, NEXT_VERSION);
    await release.node.tagImage('model-gateway:0.1.0', `model-gateway:${NEXT_VERSION}`);
    const ledger = await release.pods('valkey');
    // the demo provider stands for a real one, which an upgrade of the gateway does not change
    await rollout(release, 'pause', 'demo');
    await withoutFailure(async () => {
      await release.helm('upgrade', RELEASE, chart, '--values', VALUES);
      for (const [component, count] of RESTARTED) {
        await rollout(release, 'status', component, '--timeout=120s');
        await release.settled(component, count);
      }
    });
    await rollout(release, 'resume', 'demo');
    await rollout(release, 'status', 'demo', '--timeout=120s');
    await release.settled('demo', 1);
    assert.deepEqual(await imagesOf('dataplane'), [`model-gateway:${NEXT_VERSION}`]);
    assert.deepEqual(await imagesOf('operator'), [`model-gateway:${NEXT_VERSION}`]);
    assert.deepEqual(
      (await release.pods('valkey')).map(({ containerId }) => containerId),
      ledger.map(({ containerId }) => containerId),
      'the ledger goes on',
    );
  });

  async function imagesOf(component: string): Promise<readonly string[]> {
    const selector = `app.kubernetes.io/component=${component}`;
    const { items } = await release.get(`/api/v1/namespaces/${NAMESPACE}/pods?labelSelector=${selector}`);
    return [...new Set((items as KubeAnswer['body'][]).map(({ spec }) => spec.containers[0].image as string))];
  }

  it('shows its whole state in kubectl get, spending included', async () => {
    await eventually(
      'spending is in the status',
      () => release.get('/apis/modelgateway.dev/v1alpha1/namespaces/team-a/accounts/team-a'),
      ({ status }) => Number(status.spentUsd) > 0,
    );
    const said = await release.node.kubectl('get', 'apikeys,accounts,groups,modelroutes,pricecatalogs', '-A');
    assert.match(said, /team-a +apikey\S+\/first +demo +team-a +true +0\.0\d+ +5\.00 +4\.9\d+ +True/);
    assert.match(said, /team-a +account\S+\/team-a +25\.00 +0\.0\d+ +24\.9\d+ +True/);
    for (const name of [
      'group.modelgateway.dev/demo',
      'modelroute.modelgateway.dev/demo',
      'pricecatalog.modelgateway.dev/demo',
    ])
      assert.ok(said.includes(name), said);
  });

  it('answers kubectl mgw through the API server, without a port that anybody opens', async () => {
    const plugin = (args: string): Promise<string> =>
      release.node.bash(`PATH="${join(ROOT, 'bin')}:$PATH" kubectl mgw ${args}`);
    assert.match(await plugin('usage --by key'), /^KEY +CALLS +IN +OUT +COST USD\nteam-a\/first +\d+ /);
    assert.match(await plugin('usage --key team-a/first --format csv'), /,first,team-a,/);
    const tested = await plugin(`test team-a/first ${MODEL}`);
    assert.match(tested, /^Ready: True \(Ready\)\n/);
    assert.match(tested, /"object": "chat.completion"/);
    assert.ok(!tested.includes(await release.key('first')));
    assert.match(await plugin('who demo'), /team-a +first +team-a +demo +true +True/);
    assert.match(await plugin('doctor --yes 2>&1 || true'), /demo/);
  });

  async function withoutFailure(work: () => Promise<void>): Promise<void> {
    const traffic = startTraffic({
      urls: await release.urls(),
      keys: [await release.key('first')],
      lanes: 8,
      words: 40,
    });
    try {
      await work();
    } finally {
      await traffic.stop();
    }
    assert.deepEqual(failures(traffic.calls), []);
    assert.ok(traffic.calls.length > 50, `${traffic.calls.length} calls`);
  }

  describe('a release whose pods are killed', () => {
    let traffic: Traffic;
    beforeAll(async () => {
      await release.node.kubectl('apply', '-f', MORE_KEYS);
      for (const name of ['plenty', 'little'])
        await release.node.kubectl(
          'wait',
          '--for',
          'condition=Ready',
          `apikey/${name}`,
          '--namespace',
          'team-k',
          '--timeout=60s',
        );
      const keys = await Promise.all(['plenty', 'little'].map((name) => release.key(name, 'team-k')));
      traffic = startTraffic({ urls: await release.urls(), keys, lanes: 8, words: 40 });
    });
    afterAll(() => traffic?.stop());

    it('continues without the leading operator, until another leads', async () => {
      const [from, killedAt] = [traffic.calls.length, new Date().toISOString()];
      const { holderIdentity } = await operatorLease(release);
      await killPod(
        release,
        (await release.pods('operator')).find(({ name }) => name === holderIdentity),
      );
      // its successor, or itself in a new container
      await eventually(
        'the Lease is renewed',
        () => operatorLease(release),
        ({ renewTime }) => renewTime > killedAt,
      );
      await release.node.kubectl(
        'patch',
        'apikey',
        'plenty',
        '--namespace',
        'team-k',
        '--type',
        'merge',
        '--patch',
        '{"spec": {"maxConcurrency": 100}}',
      );
      await eventually(
        'an edit is in force',
        () => release.get('/apis/modelgateway.dev/v1alpha1/namespaces/team-k/apikeys/plenty'),
        ({ metadata, status }) => status.observedGeneration === metadata.generation,
      );
      assert.deepEqual(failures(traffic.calls.slice(from)), []);
    });

    for (const component of ['dataplane', 'valkey', 'edge'])
      it(`recovers after kills of ${component}, one pod after the other`, async () => {
        const killedMs = Date.now();
        for (const pod of await release.pods(component)) await killPod(release, pod);
        const backMs = Date.now();
        await eventually(
          'calls are answered by every way',
          async () =>
            ENTRANCES.filter(
              (via) =>
                traffic.calls.filter(
                  (call) => call.sentMs > backMs && call.via === via && call.ended && call.status === 200,
                ).length < 10,
            ),
          (silent) => silent.length === 0,
        );
        const failed = failures(traffic.calls.filter(({ sentMs }) => sentMs > killedMs));
        console.info(`${component}: all ready again after ${backMs - killedMs} ms, ${failed.length} calls failed`);
      });

    it('has recorded every call once, and nothing else', async () => {
      const calls = await traffic.stop();
      const uids = await Promise.all(
        ['plenty', 'little'].map(
          async (name) =>
            (await release.get(`/apis/modelgateway.dev/v1alpha1/namespaces/team-k/apikeys/${name}`)).metadata
              .uid as string,
        ),
      );
      const books = await eventually(
        'nothing is held',
        () => readBooks(release, 'team-k/team-k', uids),
        ({ account }) => account.heldNanoUsd === 0n,
      );
      const asked = (
        await release.node.kubectl('logs', 'deployment/model-gateway-demo', '--namespace', NAMESPACE, '--tail=-1')
      )
        .split('\n')
        .filter((line) => line.startsWith('POST')).length;
      assert.deepEqual(reconcile(books, calls, asked), []);
      console.info(`${calls.length} calls, ${books.records.length} in the books, ${failures(calls).length} failed`);
      assert.ok(books.keys.every(({ totalSpentNanoUsd }) => totalSpentNanoUsd > 0n));
      const little = books.keys[1]?.totalSpentNanoUsd ?? 0n;
      assert.ok(little <= LITTLE_NANO_USD, `${little} of ${LITTLE_NANO_USD} are spent`);
      assert.ok(calls.some(isSpent), 'the little key was never used up');
    });
  });

  it('reports what it uses when idle', async () => {
    for (const [container, mebibytes] of await release.memory()) console.info(`${container}: ${mebibytes} MiB`);
  });

  it('keeps accounts and spending after uninstallation and installation', async () => {
    const spent = async (): Promise<string> =>
      (await release.get('/apis/modelgateway.dev/v1alpha1/namespaces/team-k/accounts/team-k')).status.spentUsd;
    const uid = (await release.get('/apis/modelgateway.dev/v1alpha1/namespaces/team-k/apikeys/plenty')).metadata
      .uid as string;
    const readyOf = async (): Promise<string[]> => {
      const { status } = await release.get('/apis/modelgateway.dev/v1alpha1/namespaces/team-k/apikeys/plenty');
      const { status: state, reason } = status.conditions.find(({ type }: { type: string }) => type === 'Ready');
      return [state, reason];
    };
    const before = await readBooks(release, 'team-k/team-k', [uid]);
    await release.helm('uninstall', RELEASE, '--wait', '--timeout', '120s');
    await eventually(
      'all pods are gone',
      () => release.pods(),
      (pods) => pods.every(({ component }) => component === 'test'),
    );
    assert.deepEqual(await readyOf(), ['Unknown', 'GatewayRemoved']);
    await release.install();
    const after_ = await readBooks(release, 'team-k/team-k', [uid]);
    assert.deepEqual(after_.account, before.account);
    assert.deepEqual(after_.records.length, before.records.length);
    const openai = new OpenAI({
      apiKey: await release.key('plenty', 'team-k'),
      baseURL: `${(await release.urls()).edge}/v1`,
      organization: null,
      project: null,
    });
    await eventually(
      'calls are answered',
      () =>
        openai.chat.completions
          .create({
            model: MODEL,
            messages: [{ role: 'user', content: 'say: again' }],
          })
          .then(
            () => true,
            () => false,
          ),
      (answered) => answered,
    );
    await eventually(
      'the status has what was spent before',
      spent,
      (usd) => nanoUsd(usd) > before.account.spentNanoUsd,
    );
  });
});
