/** Features of a request that a model must allow. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { anthropicMessage, openaiChat } from '../../support/provider-answers.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider, Reply } from '../../support/mock-provider.ts';
import { chat, message, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
const KEY = 'sk-test-filtered-00000000000000000000000000';
let stack: TestStack;
let providers: MockProvider[] = [];

beforeAll(async () => {
  providers = await Promise.all([0, 1, 2, 3].map(() => startMockProvider()));
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

describe("a feature that the model's allow names", () => {
  it('is passed on, and refused for models that do not name it', async () => {
    script(openaiChat());
    const asks: readonly Record<string, unknown>[] = [
      { service_tier: 'priority' },
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'file', file: { file_id: 'file-1' } }],
          },
        ],
      },
      { web_search_options: {} },
    ];
    for (const more of asks) {
      assert.equal((await call(more)).status, 200, JSON.stringify(more));
      const refused = await post(stack, '/v1/chat/completions', chat('gpt-model', more));
      assert.deepEqual([refused.status, refused.json().error.code], [400, 'not_allowed'], JSON.stringify(more));
      assert.match(
        refused.json().error.message,
        /ask the platform team to allow (ServiceTiers|FileReferences|ServerTools)/,
      );
    }
    script(anthropicMessage());
    for (const more of [
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }],
          },
        ],
      },
    ]) {
      assert.equal((await post(stack, '/v1/messages', message('messages-model', more))).status, 200);
      const refused = await post(stack, '/v1/messages', message('claude-model', more));
      assert.deepEqual([refused.status, refused.json().error.type], [400, 'invalid_request_error']);
      assert.match(refused.json().error.message, /ask the platform team to allow (FileReferences|ServerTools)/);
    }
  });
});
