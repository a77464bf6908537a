/** Sessions on several channels: the next one is tried, and channels that reject the gateway's credential come last. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { startRealtimeProvider } from '../../support/realtime-provider.ts';
import type { RealtimeProvider } from '../../support/realtime-provider.ts';
import { tidyUp } from '../../support/api/test-stack.ts';
import { open, recordOf, startRealtimeStack, Talk } from './realtime-stack.ts';
import type { RealtimeStack } from './realtime-stack.ts';

/** How far the gateway's clock is ahead. */
let aheadMs = 0;
let first: RealtimeProvider;
let stack: RealtimeStack;
beforeAll(async () => {
  first = await startRealtimeProvider();
  stack = await startRealtimeStack({
    monotonicMs: () => performance.now() + aheadMs,
    files: (url) => ({ 'pair.yaml': pairManifests(first.url, url) }),
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
