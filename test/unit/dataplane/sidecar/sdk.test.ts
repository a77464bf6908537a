/** The official SDKs, unchanged and without a key of their own, through the sidecar to a whole gateway over TLS. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { nothingLeaks, spending, startTestStack } from '../../../support/api/test-stack.ts';
import type { TestStack } from '../../../support/api/test-stack.ts';
import { KEYS, keyManifest } from '../../../support/manifests.ts';
import { anthropicMessage, anthropicStream, openaiChat, openaiStream } from '../../../support/provider-answers.ts';
import { makeCertificates, startTestSidecar } from './support.ts';
import type { Certificates, TestSidecar } from './support.ts';

/** The variables that the webhook sets if an app has none. */
const DUMMY = 'model-gateway-sidecar';
const certificates: Certificates = await makeCertificates();
let stack: TestStack;
let sidecar: TestSidecar;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  const { certificate, key } = certificates.serving;
  stack = await startTestStack({ tls: { certificate, key } });
  sidecar = await startTestSidecar(
    `https://localhost:${stack.gateway.dataplane.tls?.port}`,
    KEYS.main,
    certificates.authority,
  );
  openai = new OpenAI({
    apiKey: DUMMY,
    baseURL: `${sidecar.url}/v1`,
    organization: null,
    project: null,
    maxRetries: 0,
  });
  anthropic = new Anthropic({ apiKey: DUMMY, authToken: null, baseURL: sidecar.url, maxRetries: 0 });
});
afterAll(async () => {
  await sidecar.stop();
  await stack.stop();
});

const HELLO = { model: 'gpt-model', messages: [{ role: 'user' as const, content: 'hello' }] };
const MESSAGE = { model: 'claude-model', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };

describe("OpenAI's SDK", () => {
  it("lists models and gets whole and streamed responses, billed to the pod's key", async () => {
    const { spent } = await spending(stack);
    assert.ok((await openai.models.list()).data.some(({ id }) => id === 'gpt-model'));
    stack.openai.script(openaiChat());
    const { data, response } = await openai.chat.completions.create(HELLO).withResponse();
    assert.ok(data.choices[0]?.message.content);
    assert.ok(response.headers.get('x-request-id')?.startsWith('req_'));
    assert.ok(response.headers.get('x-modelgateway-cost-usd'));
    stack.openai.script(openaiStream());
    let text = '';
    for await (const chunk of await openai.chat.completions.create({ ...HELLO, stream: true }))
      text += chunk.choices[0]?.delta.content ?? '';
    assert.ok(text.length > 0);
    assert.ok((await spending(stack)).spent > spent);
    assert.ok(nothingLeaks(stack));
  });

  it("gets the gateway's own refusals", async () => {
    await assert.rejects(
      openai.chat.completions.create({ ...HELLO, model: 'unknown' }),
      (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found',
    );
  });
});

describe("Anthropic's SDK", () => {
  it('gets whole and streamed responses', async () => {
    stack.anthropic.script(anthropicMessage());
    assert.equal((await anthropic.messages.create(MESSAGE)).type, 'message');
    stack.anthropic.script(anthropicStream());
    const final = await anthropic.messages.stream(MESSAGE).finalMessage();
    assert.equal(final.role, 'assistant');
    await assert.rejects(anthropic.messages.create({ ...MESSAGE, model: 'unknown' }), Anthropic.NotFoundError);
  });
});

describe('rotation', () => {
  it('uses another key without a restart, and the gateway refuses the old one', async () => {
    const before = (await openai.get('/key')) as { name: string };
    await sidecar.writeKey(KEYS.serial);
    const between = (await openai.get('/key')) as { name: string };
    assert.deepEqual([before.name, between.name], ['main', 'serial']);
    await stack.gateway.write(
      'keys-rotated.yaml',
      keyManifest('rotated', 'sk-test-rotated-00000000000000000000000000000', ''),
    );
    await sidecar.writeKey('sk-test-rotated-00000000000000000000000000000');
    assert.equal(((await openai.get('/key')) as { name: string }).name, 'rotated');
    await sidecar.writeKey('sk-unknown-0000000000000000000000000000000');
    await assert.rejects(openai.models.list(), OpenAI.AuthenticationError);
    await sidecar.writeKey(KEYS.main);
  });
});

describe('TLS', () => {
  it('sends nothing to a fleet with an untrusted CA or another name', async () => {
    const port = stack.gateway.dataplane.tls?.port;
    const logged = stack.gateway.logs.length;
    for (const [url, authority] of [
      [`https://localhost:${port}`, (await makeCertificates()).authority],
      [`https://127.0.0.1:${port}`, certificates.authority],
    ] as const) {
      const other = await startTestSidecar(url, KEYS.main, authority);
      try {
        assert.equal((await fetch(`${other.url}/v1/models`)).status, 502);
        assert.match(other.logs.join(), /unreachable/);
      } finally {
        await other.stop();
      }
    }
    assert.equal(stack.gateway.logs.length, logged);
  });

  it('follows a replaced certificate of the fleet, and ignores a faulty one', async () => {
    const { tls } = stack.gateway.dataplane;
    const renewed = await makeCertificates();
    assert.throws(() => tls?.renew({ certificate: renewed.serving.certificate, key: certificates.serving.key }));
    assert.ok((await openai.models.list()).data.length > 0);
    tls?.renew({ certificate: renewed.serving.certificate, key: renewed.serving.key });
    sidecar.fleet.trust(`${certificates.authority}${renewed.authority}`);
    assert.ok((await openai.models.list()).data.length > 0);
    sidecar.fleet.trust(certificates.authority);
    assert.equal((await fetch(`${sidecar.url}/v1/models`)).status, 502);
    tls?.renew({ certificate: certificates.serving.certificate, key: certificates.serving.key });
    assert.ok((await openai.models.list()).data.length > 0);
  });
});
