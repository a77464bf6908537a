/** Sessions on several channels: the next one is tried, and channels that reject the gateway's credential come last. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { startRealtimeProvider, usage } from '../../support/realtime-provider.ts';
import type { RealtimeProvider } from '../../support/realtime-provider.ts';
import { tidyUp } from '../../support/api/test-stack.ts';
import { manual, open, recordOf, startRealtimeStack, Talk } from './realtime-stack.ts';
import type { RealtimeStack } from './realtime-stack.ts';

/** How far the gateway's clock is ahead. */
let aheadMs = 0;
let first: RealtimeProvider;
let stack: RealtimeStack;
beforeAll(async () => {
  first = await startRealtimeProvider();
  stack = await startRealtimeStack({
    monotonicMs: () => performance.now() + aheadMs,
    files: (url) => ({ 'pair.yaml': pairManifests(first.url, url), 'azure.yaml': azureManifests(url) }),
  });
});
afterAll(async () => {
  await stack.stop();
  await first.stop();
});
afterEach(() => tidyUp(stack));

function pairManifests(firstUrl: string, secondUrl: string): string {
  const channel = (name: string, url: string, priority: number): string =>
    `  - {name: ${name}, protocol: OpenAI, priority: ${priority}, baseUrl: "${url}/v1", auth: {type: ApiKey, secretRef: {name: realtime-key, key: key}}}\n`;
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: pair}
spec:
  models:
  - {name: pair, endpoints: [Realtime], contextTokens: 32000, maxOutputTokens: 4096}
  channels:
${channel('first', firstUrl, 0)}${channel('second', secondUrl, 1)}---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: pair}
spec:
  models:
  - {name: pair, vendor: OpenAI, quotaType: Token, usdPerMillion: {input: "4", output: "16", audioInput: "32", audioOutput: "64", imageInput: "5"}}
`;
}

/** A deployment of Azure's v1 API. */
function azureManifests(url: string): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: azure}
spec:
  models:
  - {name: deployed, endpoints: [Realtime], contextTokens: 32000, maxOutputTokens: 4096}
  channels:
  - {name: azure, protocol: OpenAI, baseUrl: "${url}/openai/v1", auth: {type: ApiKey, header: api-key, secretRef: {name: realtime-key, key: key}}, models: [{name: deployed, upstreamName: our deployment}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: azure}
spec:
  models:
  - {name: deployed, vendor: OpenAI, quotaType: Token, usdPerMillion: {input: "4", output: "16", audioInput: "32", audioOutput: "64", imageInput: "5"}}
`;
}

/** Opens a session, which the second channel's provider serves, and ends it. */
async function openOnSecond(): Promise<void> {
  const { talk } = await open(stack, { model: 'pair' });
  talk.sdk.close();
  await talk.closed;
  await recordOf(stack, talk);
}

async function readyOfRoute(): Promise<string> {
  const statuses = await stack.gateway.operator.statuses();
  const route = statuses.find(({ kind, name }) => kind === 'ModelRoute' && name === 'pair');
  const condition = route?.status.conditions.find(({ type }) => type === 'Ready');
  return `${condition?.status} ${condition?.reason}`;
}

describe("a channel that rejects the gateway's credential", () => {
  it('is tried by one session, is the last choice of the next ones, and recovers with a session', async () => {
    first.refuse({ status: 401, body: { error: { message: 'wrong key', code: 'invalid_api_key' } } });
    await openOnSecond();
    assert.equal(await readyOfRoute(), 'False CredentialRefused');
    await openOnSecond();
    await openOnSecond();
    assert.equal(first.refusedCount, 1);

    first.refuse(undefined);
    aheadMs += 31_000;
    const talk = new Talk(stack, { model: 'pair' });
    await talk.opened();
    const provider = await first.session(0);
    assert.equal(await readyOfRoute(), 'True Ready');
    talk.sdk.close();
    await Promise.all([talk.closed, provider.closed]);
    await recordOf(stack, talk);
  });
});

describe("a channel of Azure's v1 API", () => {
  it('has sessions by its deployment, with the key in its own header', async () => {
    const both = await open(stack, { model: 'deployed' });
    const { talk, provider } = both;
    assert.equal(provider.path, '/openai/v1/realtime?model=our%20deployment');
    assert.equal(provider.headers['api-key'], 'provider-secret-000000001');
    assert.equal(provider.headers.authorization, undefined);
    await manual(both);
    talk.send({ type: 'response.create' });
    await provider.next('response.create');
    provider.respond('r1', 'hello', usage(10, 5));
    await talk.next('response.done');
    talk.sdk.close();
    await talk.closed;
    // 10 · 4 + 5 · 16 per million
    assert.equal((await recordOf(stack, talk)).cost_usd, '0.00012');
  });
});
