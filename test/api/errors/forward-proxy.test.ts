/** Channels behind forward proxies: what callers, logs, statuses and the doctor are told. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { examine } from '../../../bin/doctor/examine.ts';
import { planProbes } from '../../../bin/doctor/plan.ts';
import { readSnapshot } from '../../../operator/reconcile/validate-folder.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import type { ConnectProxy } from '../../support/connect-proxy.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { openaiChat, openaiStream } from '../../support/provider-answers.ts';
import { chat, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
const PASSWORD = 's3cret-of-the-proxy';
let stack: TestStack;
let provider: MockProvider;
let own: ConnectProxy;
let shared: ConnectProxy;

function manifest(): string {
  const { port } = new URL(provider.url);
  const route = (name: string, more: string): string => `${HEAD}ModelRoute
metadata: {name: ${name}}
spec:
  models: [{name: ${name}-model, contextTokens: 100000, maxOutputTokens: 1000}]
  channels:
  - {name: direct, protocol: OpenAI, baseUrl: "http://provider.test:${port}/v1"${more}}
---
`;
  return `${route('own', `, proxyUrl: "${own.url}"`)}${route('shared', '')}${HEAD}PriceCatalog
metadata: {name: proxied}
spec:
  models:
  - {name: own-model, vendor: V, quotaType: Token, modelRatio: "1"}
  - {name: shared-model, vendor: V, quotaType: Token, modelRatio: "1"}
`;
}

beforeAll(async () => {
  [provider, own, shared] = await Promise.all([startMockProvider(), startConnectProxy(), startConnectProxy()]);
  stack = await startTestStack({
    env: { https_proxy: `http://gateway:${PASSWORD}@127.0.0.1:${shared.port}`, HTTP_PROXY: shared.url },
    files: () => ({ 'proxied.yaml': manifest() }),
  });
});
afterAll(async () => {
  await stack.stop();
  await provider.stop();
});
afterEach(() => {
  own.status = 200;
  provider.clear();
});

async function unreachable(name: string): Promise<string> {
  const statuses = await stack.gateway.operator.statuses();
  const route = statuses.find((status) => status.kind === 'ModelRoute' && status.name === name);
  const condition = route?.status.conditions.find(({ type }) => type === 'UpstreamUnreachable');
  return `${condition?.reason} ${condition?.message}`;
}

describe('a channel', () => {
  it('whose forward proxy refuses fails with 502, and the status says why', async () => {
    own.status = 407;
    const answer = await post(stack, '/v1/chat/completions', chat('own-model'));
    assert.equal(answer.status, 502);
    assert.match(answer.json().error.message, /cannot be reached/);
    assert.match(
      await unreachable('own'),
      /^ForwardProxyFailed Channel "direct".*\(PROXY_407\): .*requires a credential/,
    );
    assert.ok(stack.gateway.logs.some((line) => line.includes('PROXY_407')));
  });

  it('is served through its own forward proxy, and others through the one of the environment', async () => {
    provider.script(openaiChat(), openaiStream());
    assert.equal((await post(stack, '/v1/chat/completions', chat('own-model'))).status, 200);
    const { host } = new URL(provider.url.replace('127.0.0.1', 'provider.test'));
    assert.deepEqual([own.asked.at(-1), shared.asked], [host, []]);
    assert.match((await post(stack, '/v1/chat/completions', chat('shared-model', { stream: true }))).text, /\[DONE\]/);
    assert.deepEqual(shared.asked, [host]);
  });

  it('is asked by the doctor in the same way', async () => {
    own.status = 403;
    const { snapshot } = await readSnapshot(stack.gateway.configDir, { gatewayNamespace: 'model-gateway' });
    const [result] = await examine(planProbes(snapshot, { only: 'own', allModels: false }));
    assert.equal(result?.problem, 'Address');
    assert.match(result.message, /forward proxy cannot connect \(PROXY_403\)/);
  });
});

it("shows a forward proxy's place, and its credential nowhere", async () => {
  const dump = await (await fetch(`${stack.gateway.adminUrl}/config_dump`)).text();
  assert.ok(dump.includes(own.url));
  const logs = stack.gateway.logs.join('');
  assert.ok(logs.includes('forward proxies of the environment'));
  for (const text of [dump, logs, JSON.stringify(await stack.gateway.operator.statuses())]) {
    assert.ok(!text.includes(PASSWORD));
    assert.ok(!text.includes(Buffer.from(`gateway:${PASSWORD}`).toString('base64')));
  }
});
