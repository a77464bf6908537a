/** Tools that a call asks the provider to run, by the model's providerTools: what is sent, answered and refused. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { anthropicMessage, openaiChat } from '../../support/provider-answers.ts';
import { openaiResponse } from '../../support/response-answers.ts';

const DROPPED = 'x-modelgateway-dropped';
const OWN = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };

let world: TestStack;
beforeAll(async () => {
  world = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => {
      const models = (kind: string): string =>
        ['Refuse', 'Drop', 'Allow']
          .map(
            (policy) =>
              `{name: ${kind}-${policy.toLowerCase()}, contextTokens: 100000, maxOutputTokens: 1000, providerTools: ${policy}, ` +
              `allow: [ServerTools]}`,
          )
          .join(', ');
      const price = (name: string): string =>
        `{name: ${name}, vendor: V, quotaType: Token, modelRatio: "0.001", perUse: {webSearchUsd: "1"}}`;
      const names = ['native', 'chat', 'claude'].flatMap((kind) =>
        ['refuse', 'drop', 'allow'].map((policy) => `${kind}-${policy}`),
      );
      return {
        'tools.yaml': `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: native}
spec:
  models: [${models('native')}]
  channels: [{name: a, protocol: OpenAI, baseUrl: ${openaiUrl}/v1, endpoints: [Chat, Responses]}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: chat-only}
spec:
  models: [${models('chat')}]
  channels: [{name: a, protocol: OpenAI, baseUrl: ${openaiUrl}/v1, endpoints: [Chat]}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: claudes}
spec:
  models: [${models('claude')}]
  channels: [{name: a, protocol: Anthropic, baseUrl: ${anthropicUrl}}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: tools}
spec: {models: [${names.map(price).join(', ')}]}
`,
      };
    },
  });
});
afterAll(() => world.stop());
afterEach(() => tidyUp(world));

const respond = (model: string): Promise<Answer> =>
  post(world, '/v1/responses', { model, input: 'x', tools: [OWN, { type: 'web_search' }] });
const message = (model: string): Promise<Answer> =>
  post(world, '/v1/messages', {
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'x' }],
    tools: [
      { type: 'web_search_20250305', name: 'web_search' },
      { name: 'f', input_schema: OWN.parameters },
    ],
  });

async function toolsSent(provider: MockProvider): Promise<unknown> {
  const { tools } = (await provider.request(0)).json();
  return Array.isArray(tools) && tools.length;
}

describe('Drop', () => {
  it('leaves them out of what passes through, and names them', async () => {
    world.openai.script(openaiResponse());
    const answer = await respond('native-drop');
    assert.deepEqual([answer.status, answer.headers.get(DROPPED)], [200, 'tools[1] (web_search)'], answer.text);
    assert.deepEqual((await world.openai.request(0)).json()['tools'], [OWN]);
    world.anthropic.script(anthropicMessage());
    const claude = await message('claude-drop');
    assert.deepEqual([claude.status, claude.headers.get(DROPPED)], [200, 'tools[0] (web_search_20250305)']);
    assert.equal(await toolsSent(world.anthropic), 1);
  });
  it('leaves them out of what is converted', async () => {
    world.openai.script(openaiChat(), openaiChat());
    assert.equal((await respond('chat-drop')).headers.get(DROPPED), 'tools[1] (web_search)');
    assert.equal((await message('chat-drop')).headers.get(DROPPED), 'tools[0] (web_search_20250305)');
    world.anthropic.script(anthropicMessage());
    assert.equal((await respond('claude-drop')).headers.get(DROPPED), 'tools[1] (web_search)');
  });
});

describe('a tool that is left out', () => {
  const small = { 'x-api-key': KEYS.small };
  const tools = [{ type: 'web_search' }];
  const search = (model: string): Promise<Answer> =>
    post(world, '/v1/responses', { model, input: 'x', max_output_tokens: 300, max_tool_calls: 5, tools }, small);

  it('is held for nothing, while one that is handed on is held for all of its uses', async () => {
    world.openai.script(openaiResponse());
    assert.equal((await search('native-drop')).status, 200);
    assert.equal((await search('native-allow')).json().error.code, 'insufficient_quota');
    world.openai.script(openaiChat());
    assert.equal((await search('chat-allow')).status, 200);
    world.anthropic.script(anthropicMessage());
    assert.equal((await search('claude-allow')).status, 200);
    world.openai.script(openaiChat());
    const { status } = await post(
      world,
      '/v1/messages',
      {
        model: 'chat-allow',
        max_tokens: 300,
        messages: [{ role: 'user', content: 'x' }],
        tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }],
      },
      small,
    );
    assert.equal(status, 200);
  });
});

describe('Refuse', () => {
  it('answers with an error, although allow has ServerTools', async () => {
    for (const [answer, code] of [
      [await respond('native-refuse'), 'not_allowed'],
      [await respond('chat-refuse'), 'unsupported_parameter'],
      [await respond('claude-refuse'), 'unsupported_parameter'],
    ] as const) {
      const { error } = answer.json();
      assert.deepEqual([answer.status, error.code, error.param], [400, code, 'tools[1].type']);
    }
    for (const model of ['claude-refuse', 'chat-refuse']) {
      const refused = await message(model);
      assert.deepEqual([refused.status, refused.json().error.type], [400, 'invalid_request_error']);
      assert.match(refused.json().error.message, /tools\[0\]\.type/);
    }
    assert.deepEqual([world.openai.requests.length, world.anthropic.requests.length], [0, 0]);
  });
});

describe('Allow', () => {
  it('hands them on where the call passes through', async () => {
    world.openai.script(openaiResponse());
    const answer = await respond('native-allow');
    assert.deepEqual([answer.status, answer.headers.get(DROPPED)], [200, null], answer.text);
    assert.equal(await toolsSent(world.openai), 2);
    world.anthropic.script(anthropicMessage());
    assert.equal((await message('claude-allow')).headers.get(DROPPED), null);
  });
  it('cannot hand them on in a converted call, and names them', async () => {
    world.openai.script(openaiChat());
    assert.equal((await respond('chat-allow')).headers.get(DROPPED), 'tools[1] (web_search)');
  });
});
