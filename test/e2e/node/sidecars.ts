/**
 * Sidecars in pods that really run: a Job and a Deployment of a namespace that enforces the restricted Pod Security
 * Standard, without a key of their own, through the sidecar to the fleet over TLS; the key is replaced under a running
 * pod.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, it } from 'vitest';
import { eventually } from './cluster-release.ts';
import type { ClusterRelease } from './cluster-release.ts';

const IMAGE = 'model-gateway:0.1.0';
const ENFORCED = 'pod-security.kubernetes.io/enforce';

/** An app that prints its responses, and whether it can see the key. */
const CALL = `
const key = await import('node:fs').then(({ existsSync }) =>
  existsSync('/var/run/secrets/modelgateway.dev/key/apiKey'));
const answer = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.OPENAI_API_KEY },
  body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'say: hello' }] }) });
const { choices } = await answer.json();
const message = await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', {
  method: 'POST', headers: {
    'content-type': 'application/json', 'x-api-key': process.env.ANTHROPIC_API_KEY, 'anthropic-version': '2023-06-01' },
  body: JSON.stringify({ model: 'gpt-4o-mini', max_tokens: 50, stream: true,
    messages: [{ role: 'user', content: 'say: hello' }] }) });
const events = await message.text();
console.log(JSON.stringify({ status: answer.status, said: choices[0].message.content,
  cost: answer.headers.get('x-modelgateway-cost-usd') !== null, streamed: events.includes('message_stop'), key }));
`;
const ASK_AGAIN = `
process.on('SIGTERM', () => process.exit(0));
for (;;) {
  const answer = await fetch(process.env.OPENAI_BASE_URL + '/key').catch(String);
  console.log(answer.status, answer.status === 200 ? (await answer.json()).key_prefix : String(answer));
  await new Promise((resolve) => setTimeout(resolve, 500));
}
`;

function podTemplate(script: string, restartPolicy: string): object {
  return {
    metadata: {
      labels: {
        app: 'caller',
        'modelgateway.dev/inject': 'true',
      },
      annotations: { 'modelgateway.dev/api-key': 'first' },
    },
    spec: {
      restartPolicy,
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'app',
          image: IMAGE,
          imagePullPolicy: 'Never',
          command: ['node', '--input-type=module', '--eval', script],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
}

async function apply({ node }: ClusterRelease, object: object): Promise<void> {
  const file = join(node.folder, 'object.json');
  await writeFile(file, JSON.stringify(object));
  await node.kubectl('apply', '-f', file);
}

/** To be called within the suite of a release, whose node then runs the pods. */
export function testSidecars(currentRelease: () => ClusterRelease): void {
  let release: ClusterRelease;
  beforeAll(async () => {
    release = currentRelease();
    await release.node.kubectl('label', 'namespace', 'team-a', `${ENFORCED}=restricted`);
  });
  afterAll(async () => {
    await release.node.kubectl('label', 'namespace', 'team-a', `${ENFORCED}-`);
  });
  const logs = (what: string, container: string): Promise<string> =>
    release.node.kubectl('logs', '--namespace', 'team-a', what, '--container', container);

  it('serve a Job without a key, and let it complete', async () => {
    await apply(release, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'once', namespace: 'team-a' },
      spec: { backoffLimit: 0, template: podTemplate(CALL, 'Never') },
    });
    await release.node
      .kubectl('wait', '--for', 'condition=Complete', 'job/once', '--namespace', 'team-a', '--timeout=45s')
      .catch(async (error: unknown) =>
        assert.fail(
          `${String(error)}\n${await release.node.kubectl('describe', 'pods', '--namespace', 'team-a')}\n${await logs('job/once', 'app').catch(String)}\n${await logs('job/once', 'model-gateway-sidecar').catch(String)}`,
        ),
      );
    assert.deepEqual(JSON.parse(await logs('job/once', 'app')), {
      status: 200,
      said: 'hello',
      cost: true,
      streamed: true,
      key: false,
    });
    assert.equal(await logs('job/once', 'model-gateway-sidecar'), '');
  });

  it('start before their app, become ready with it, and use a new key without a restart', async () => {
    await apply(release, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'caller', namespace: 'team-a' },
      spec: { selector: { matchLabels: { app: 'caller' } }, template: podTemplate(ASK_AGAIN, 'Always') },
    });
    await release.node.kubectl('rollout', 'status', 'deployment/caller', '--namespace', 'team-a', '--timeout=45s');
    const [, first = ''] =
      /^200 (\S+)$/m.exec(
        await eventually(
          'an answer',
          () => logs('deployment/caller', 'app'),
          (said) => /^200 /m.test(said),
        ),
      ) ?? [];
    await release.node.kubectl(
      'patch',
      'apikey',
      'first',
      '--namespace',
      'team-a',
      '--type=merge',
      '--patch',
      '{"spec": {"key": {"rotation": 2, "overlapSeconds": 600}}}',
    );
    const said = await eventually(
      'the other key',
      () => logs('deployment/caller', 'app'),
      (all) => all.trim().split('\n').at(-1) !== `200 ${first}`,
    );
    assert.deepEqual(
      said
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('200 ')),
      [],
    );
    const {
      items: [pod],
    } = await release.get(
      '/api/v1/namespaces/team-a/pods?labelSelector=app%3Dcaller&fieldSelector=status.phase%3DRunning',
    );
    assert.deepEqual(
      [...pod.status.initContainerStatuses, ...pod.status.containerStatuses].map(
        (each: { name: string; restartCount: number; ready: boolean }) => [each.name, each.restartCount, each.ready],
      ),
      [
        ['model-gateway-sidecar', 0, true],
        ['app', 0, true],
      ],
    );
    await release.node.kubectl(
      'delete',
      'deployment/caller',
      '--namespace',
      'team-a',
      '--cascade=foreground',
      '--timeout=20s',
    );
  });

  it('are probed at their admin port, and a pod that cannot have one reports why', async () => {
    await apply(release, {
      apiVersion: 'v1',
      kind: 'Pod',
      ...podTemplate(ASK_AGAIN, 'Never'),
      metadata: {
        name: 'seen',
        namespace: 'team-a',
        labels: { 'modelgateway.dev/inject': 'true' },
        annotations: {
          'modelgateway.dev/api-key': 'first',
          'modelgateway.dev/sidecar-port': '4500',
          'modelgateway.dev/sidecar-admin-port': '4501',
        },
      },
    });
    await release.node.kubectl(
      'wait',
      '--for',
      'condition=Ready',
      'pod/seen',
      '--namespace',
      'team-a',
      '--timeout=45s',
    );
    const { status } = await release.get('/api/v1/namespaces/team-a/pods/seen');
    const metrics = await eventually(
      'requests are counted',
      () => fetch(`http://${status.podIP}:4501/metrics`).then((answer) => answer.text()),
      (text) => /modelgateway_sidecar_requests_total\{result="answered",status="200"\} [1-9]/.test(text),
    );
    assert.match(metrics, /modelgateway_sidecar_key_loaded 1/);
    await assert.rejects(fetch(`http://${status.podIP}:4500/v1/models`));
    await assert.rejects(
      apply(release, {
        apiVersion: 'v1',
        kind: 'Pod',
        ...podTemplate(CALL, 'Never'),
        metadata: {
          name: 'wrong',
          namespace: 'team-a',
          labels: { 'modelgateway.dev/inject': 'true' },
          annotations: { 'modelgateway.dev/api-key': 'none' },
        },
      }),
      /the ApiKey none does not exist in the namespace team-a/,
    );
    await release.node.kubectl('delete', 'pod', 'seen', '--namespace', 'team-a', '--timeout=20s');
  });
}
