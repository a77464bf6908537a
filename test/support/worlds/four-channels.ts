/** A gateway with routes of four channels each, and a group that has one model and one channel of them. */
import assert from 'node:assert/strict';
import { chat, nothingLeaks, post, startTestStack } from '../api/test-stack.ts';
import type { Answer, TestStack } from '../api/test-stack.ts';
import { keyManifest } from '../manifests.ts';
import { startMockProvider } from '../mock-provider.ts';
import type { MockProvider, Reply } from '../mock-provider.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
/** The key of the group with a model and a channel. */
export const FILTERED_KEY = 'sk-test-filtered-00000000000000000000000000';

export interface FourChannels {
  readonly stack: TestStack;
  /** One for each channel, in the order of their priority. */
  readonly providers: readonly MockProvider[];
  /** Each channel's response, in the order of the attempts. */
  readonly script: (...replies: readonly Reply[]) => void;
  readonly call: (
    more?: Readonly<Record<string, unknown>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>;
  /** Called after each test. */
  readonly endTest: () => void;
  readonly stop: () => Promise<void>;
}

export async function startFourChannels(options: { readonly pingAfterMs?: number } = {}): Promise<FourChannels> {
  const providers = await Promise.all([0, 1, 2, 3].map(() => startMockProvider()));
  const channels = (protocol: string, path: string, more = ''): string =>
    providers
      .map(
        ({ url }, index) =>
          `{name: c${index}, protocol: ${protocol}, baseUrl: ${url}${path}, priority: ${index}${more}}`,
      )
      .join(', ');
  const model = (name: string): string =>
    `{name: ${name}, contextTokens: 100000, maxOutputTokens: 1000, allow: [ServiceTiers, FileReferences, ServerTools]}`;
  const stack = await startTestStack({
    ...options,
    files: () => ({
      'four.yaml': `${HEAD}ModelRoute
metadata: {name: four}
spec: {models: [${model('four-model')}, ${model('hidden-model')}], channels: [${channels('OpenAI', '/v1')}]}
---
${HEAD}ModelRoute
metadata: {name: messages}
spec: {models: [${model('messages-model')}], channels: [${channels('Anthropic', '')}]}
---
${HEAD}ModelRoute
metadata: {name: google}
spec: {models: [${model('google-model')}], channels: [${channels('Gemini', '')}]}
---
${HEAD}ModelRoute
metadata: {name: native}
spec: {models: [${model('native-model')}], channels: [${channels('OpenAI', '/v1', ', endpoints: [Chat, Responses]')}]}
---
${HEAD}Group
metadata: {name: filtered}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: four}, models: [four-model], channels: [c2]}]}
---
${HEAD}PriceCatalog
metadata: {name: four}
spec: {models: [${['four', 'hidden', 'messages', 'google', 'native']
        .map((name) => `{name: ${name}-model, vendor: V, quotaType: Token, modelRatio: "1"}`)
        .join(', ')}]}
---
${keyManifest('filtered', FILTERED_KEY, 'groupRef: {name: filtered}')}`,
    }),
  });
  return {
    stack,
    providers,
    script: (...replies) => replies.forEach((reply, index) => providers[index]?.script(reply)),
    call: (more = {}, headers = {}) => post(stack, '/v1/chat/completions', chat('four-model', more), headers),
    endTest() {
      for (const provider of providers) provider.clear();
      assert.ok(nothingLeaks(stack));
    },
    async stop() {
      await stack.stop();
      await Promise.all(providers.map((provider) => provider.stop()));
    },
  };
}
