/** A group with only some of a route's models and channels. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { openaiChat } from '../../support/provider-answers.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider, Reply } from '../../support/mock-provider.ts';
import { chat, get, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
const KEY = 'sk-test-filtered-00000000000000000000000000';
let stack: TestStack;
let providers: MockProvider[] = [];

beforeAll(async () => {
  providers = await Promise.all([0, 1, 2].map(() => startMockProvider()));
  const channels = (protocol: string, path: string): string =>
    providers
      .map(({ url }, index) => `{name: c${index}, protocol: ${protocol}, baseUrl: ${url}${path}, priority: ${index}}`)
      .join(', ');
  const model = (name: string): string =>
    `{name: ${name}, contextTokens: 100000, maxOutputTokens: 1000, allow: [ServiceTiers, FileReferences, ServerTools]}`;
  stack = await startTestStack({
    files: () => ({
      'four.yaml': `${HEAD}ModelRoute
metadata: {name: four}
spec: {models: [${model('four-model')}, ${model('hidden-model')}], channels: [${channels('OpenAI', '/v1')}]}
---
${HEAD}ModelRoute
metadata: {name: messages}
spec: {models: [${model('messages-model')}], channels: [${channels('Anthropic', '')}]}
---
${HEAD}Group
metadata: {name: filtered}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: four}, models: [four-model], channels: [c2]}]}
---
${HEAD}PriceCatalog
metadata: {name: four}
spec: {models: [${['four', 'hidden', 'messages']
        .map((name) => `{name: ${name}-model, vendor: V, quotaType: Token, modelRatio: "1"}`)
        .join(', ')}]}
---
${keyManifest('filtered', KEY, 'groupRef: {name: filtered}')}`,
    }),
  });
});
afterAll(async () => {
  await stack.stop();
  await Promise.all(providers.map((provider) => provider.stop()));
});
afterEach(() => {
  for (const provider of providers) provider.clear();
  assert.ok(nothingLeaks(stack));
});

/** Each channel's response, in the order of the attempts. */
const script = (...replies: readonly Reply[]): void =>
  replies.forEach((reply, index) => providers[index]?.script(reply));
const call = (more = {}, headers = {}): Promise<Answer> =>
  post(stack, '/v1/chat/completions', chat('four-model', more), headers);

describe("a group's filters", () => {
  it('hide models and channels', async () => {
    script(openaiChat({ content: '0' }), openaiChat({ content: '1' }), openaiChat({ content: '2' }));
    assert.equal((await call({}, { 'x-api-key': KEY })).json().choices[0].message.content, '2');
    assert.equal((await post(stack, '/v1/chat/completions', chat('hidden-model'), { 'x-api-key': KEY })).status, 404);
    assert.deepEqual(
      (await get(stack, '/v1/models', { 'x-api-key': KEY })).json().data.map(({ id }: { id: string }) => id),
      ['four-model'],
    );
  });
});
