/** The webhook's HTTPS server: AdmissionReviews, replaced certificates, and invalid requests. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { startWebhookServer } from '../../../../operator/webhook/server.ts';
import type { ServerCertificates, WebhookServer } from '../../../../operator/webhook/server.ts';
import { createAuthority, issueServing } from '../../../../operator/security/certificate-authority.ts';
import type { KeyPair } from '../../../../operator/security/certificate-authority.ts';
import { countingMeter } from '../../../e2e/cluster/support.ts';
import { contextWith } from './support.ts';

const nowMs = Date.now();
const life = { fromMs: nowMs, untilMs: nowMs + 3_600_000 };
const authority = await createAuthority(nowMs, 3_600_000);
const another = await createAuthority(nowMs, 3_600_000);
const serving = await issueServing(authority, ['localhost'], life);
const meter = countingMeter();
let listener: Parameters<ServerCertificates['onChange']>[0] | undefined;
let server: WebhookServer;

const certificates: ServerCertificates = {
  current: () => serving,
  onChange(each) {
    listener = each;
    return () => {
      listener = undefined;
    };
  },
};

beforeAll(async () => {
  server = await startWebhookServer({
    listen: {
      host: '127.0.0.1',
      port: 0,
    },
    certificates,
    meter,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    context: () => ({
      ...contextWith([{ name: 'ci-bot' }]),
      findApiKey: (_namespace, name) =>
        name === 'broken'
          ? Promise.reject(new Error('the API server is away'))
          : contextWith([{ name: 'ci-bot' }]).findApiKey('', name),
    }),
  });
});
afterAll(() => server.stop());

async function ask(
  body: string,
  {
    path = '/inject',
    method = 'POST',
    trusting = authority,
  }: {
    readonly path?: string;
    readonly method?: string;
    readonly trusting?: KeyPair;
  } = {},
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const sent = httpsRequest({
    host: 'localhost',
    port: server.port,
    path,
    method,
    ca: trusting.certificate,
    agent: false,
    headers: { 'content-type': 'application/json' },
  });
  sent.end(body);
  const [message] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of message.setEncoding('utf8')) text += String(chunk);
  return { status: message.statusCode, text };
}

function question(annotations: Record<string, string>, more: Record<string, unknown> = {}): string {
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'app',
      labels: { 'modelgateway.dev/inject': 'true' },
      annotations,
    },
    spec: { containers: [{ name: 'app', image: 'app' }] },
  };
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: 'u-1', namespace: 'team-a', operation: 'CREATE', object, ...more },
  });
}

describe('the webhook', () => {
  it('responds with a patch, or a refusal, and counts them', async () => {
    const { response } = JSON.parse((await ask(question({ 'modelgateway.dev/api-key': 'ci-bot' }))).text) as {
      response: Record<string, unknown>;
    };
    assert.deepEqual([response['uid'], response['allowed'], response['patchType']], ['u-1', true, 'JSONPatch']);
    const patch = JSON.parse(Buffer.from(String(response['patch']), 'base64').toString()) as { path: string }[];
    assert.deepEqual(patch.map(({ path }) => path).toSorted(), [
      '/metadata/annotations/modelgateway.dev~1injected',
      '/spec/containers/0/env',
      '/spec/initContainers',
      '/spec/volumes',
    ]);
    const denied = JSON.parse((await ask(question({}))).text) as {
      response: { allowed: boolean; status: { code: number; message: string } };
    };
    assert.deepEqual([denied.response.allowed, denied.response.status.code], [false, 403]);
    assert.match(denied.response.status.message, /^Model Gateway: .*modelgateway\.dev\/api-key/);
    assert.deepEqual(
      [
        meter.count('modelgateway_operator_injections_total', 'injected'),
        meter.count('modelgateway_operator_injections_total', 'denied'),
      ],
      [1, 1],
    );
  });

  it('does not change anything but new pods', async () => {
    for (const more of [
      { operation: 'UPDATE' },
      { object: null },
      { object: { kind: 'Service', spec: {} } },
      { namespace: '../x' },
    ]) {
      const { response } = JSON.parse((await ask(question({ 'modelgateway.dev/api-key': 'ci-bot' }, more))).text) as {
        response: Record<string, unknown>;
      };
      assert.deepEqual(response, { uid: 'u-1', allowed: true }, JSON.stringify(more));
    }
  });

  it('fails if the ApiKey cannot be read, so the failure policy decides', async () => {
    assert.equal((await ask(question({ 'modelgateway.dev/api-key': 'broken' }))).status, 500);
    assert.equal(meter.count('modelgateway_operator_injections_total', 'failed'), 1);
  });

  it('refuses a body that is not an AdmissionReview', async () => {
    assert.deepEqual(
      [(await ask('{')).status, (await ask('{}')).status, (await ask(' '.repeat(9 * 1024 * 1024))).status],
      [400, 400, 400],
    );
    assert.deepEqual([(await ask('', { path: '/' })).status, (await ask('', { method: 'PUT' })).status], [404, 405]);
  });

  it('limits the memory of concurrent large requests', async () => {
    const large = Array.from({ length: 4 }, () =>
      httpsRequest({
        host: 'localhost',
        port: server.port,
        path: '/inject',
        method: 'POST',
        ca: authority.certificate,
        agent: false,
      }),
    );
    for (const each of large) {
      each.on('error', () => undefined);
      each.write(Buffer.alloc(8 * 1024 * 1024, ' '));
    }
    const refused = async (wanted: boolean): Promise<void> => {
      while (((await ask(question({ 'modelgateway.dev/api-key': 'ci-bot' }))).status === 503) !== wanted)
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
    };
    await refused(true);
    for (const each of large) each.destroy();
    await refused(false);
  });

  it('uses a replaced certificate', async () => {
    await assert.rejects(ask(question({}), { trusting: another }));
    listener?.(await issueServing(another, ['localhost'], life));
    assert.equal((await ask(question({}), { trusting: another })).status, 200);
    await assert.rejects(ask(question({})));
  });
});
