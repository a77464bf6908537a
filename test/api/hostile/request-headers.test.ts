/** Request headers that change a call's price, account or destination at the provider. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { anthropicMessage, openaiChat } from '../../support/provider-answers.ts';
import { KEYS } from '../../support/manifests.ts';
import { openaiResponse } from '../../support/response-answers.ts';
import { chat, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { routeManifest } from './route-world.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({
      'allowed.yaml': routeManifest('allowed', openaiUrl, {
        channel: 'allow: {headers: [X-Title, x-team-*, x-api-key]}',
      }),
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const HOSTILE: Readonly<Record<string, string>> = {
  'x-amzn-bedrock-service-tier': 'priority',
  'x-amzn-bedrock-performanceconfig-latency': 'optimized',
  'x-vertex-ai-llm-request-type': 'shared',
  'x-vertex-ai-llm-shared-request-type': 'priority',
  'x-goog-user-project': 'another-project',
  'x-goog-request-params': 'model=another',
  'helicone-target-url': 'https://attacker.example',
  'helicone-auth': 'Bearer x',
  'x-portkey-config': '{}',
  'x-http-method-override': 'DELETE',
  'x-method-override': 'DELETE',
  'x-rewrite-url': '/v1/files',
  'x-host': 'a.example',
  'openai-organization': 'org',
  'x-ms-region': 'west',
  'x-litellm-tags': 'a',
  'x-openrouter-provider': 'dear',
  'x-own': '1',
};
/** Headers of official SDKs and clients, and of tracing. */
const KEPT: Readonly<Record<string, string>> = {
  'user-agent': 'OpenAI/JS 6.1.0',
  'x-stainless-lang': 'js',
  'x-stainless-retry-count': '0',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=b',
};

describe('headers of a request', () => {
  it('reach an OpenAI provider only if its SDKs send them', async () => {
    stack.openai.script(openaiChat());
    const own = { 'openai-beta': 'responses=v1', originator: 'codex_cli_rs', session_id: 's', 'session-id': 's' };
    await post(stack, '/v1/chat/completions', chat(), { ...HOSTILE, ...KEPT, ...own, 'anthropic-beta': 'b' });
    const { headers } = await stack.openai.request(0);
    for (const [name, value] of Object.entries({ ...KEPT, ...own })) assert.equal(headers[name], value, name);
    for (const name of [...Object.keys(HOSTILE), 'anthropic-beta']) assert.ok(!(name in headers), name);
  });
  it('reach an Anthropic provider only if its SDKs send them', async () => {
    stack.anthropic.script(anthropicMessage());
    const own = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'unknown-2030-01-01,b', 'x-app': 'cli' };
    await post(stack, '/v1/messages', message(), { ...HOSTILE, ...KEPT, ...own, 'openai-beta': 'b' });
    const { headers } = await stack.anthropic.request(0);
    for (const [name, value] of Object.entries({ ...KEPT, ...own })) assert.equal(headers[name], value, name);
    for (const name of [...Object.keys(HOSTILE), 'openai-beta']) assert.ok(!(name in headers), name);
  });
  it('reach a provider whose channel allows them, but no credential does', async () => {
    stack.openai.script(openaiChat());
    const asked = { 'x-title': 'app', 'x-team-name': 'a', 'x-other': '1' };
    await post(stack, '/v1/chat/completions', chat('allowed-model'), asked);
    const { headers } = await stack.openai.request(0);
    assert.deepEqual([headers['x-title'], headers['x-team-name'], headers['x-other']], ['app', 'a', undefined]);
    assert.equal(headers['x-api-key'], undefined);
  });
  it('by which a provider recognizes a request do not meet those of another account', async () => {
    const names = ['idempotency-key', 'x-client-request-id'];
    const sent = Object.fromEntries(names.map((name) => [name, 'order-1']));
    const seen = async (key: string): Promise<readonly unknown[]> => {
      stack.openai.clear();
      stack.openai.script(openaiChat());
      const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', { max_tokens: 10 }), {
        ...sent,
        authorization: `Bearer ${key}`,
      });
      assert.equal(answer.status, 200, answer.text);
      const { headers } = await stack.openai.request(0);
      return names.map((name) => headers[name]);
    };
    const [first, again, other] = [await seen(KEYS.main), await seen(KEYS.main), await seen(KEYS.poor)];
    assert.deepEqual(first, again);
    for (const [index, value] of first.entries()) {
      assert.match(String(value), /^[\w-]{43}$/);
      assert.notEqual(value, other[index]);
    }
  });
});

describe("a conversation's cache key", () => {
  const ENDPOINTS = [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }], max_tokens: 10 }, openaiChat()],
    ['/v1/responses', { input: 'hi', max_output_tokens: 16 }, openaiResponse()],
  ] as const;
  for (const [path, body, answer] of ENDPOINTS)
    it(`is the account's own at the provider: ${path}`, async () => {
      const seen = async (key: string): Promise<unknown> => {
        stack.openai.clear();
        stack.openai.script(answer);
        const asked = { model: 'gpt-model', ...body, prompt_cache_key: 'thread-1' };
        const { status, text } = await post(stack, path, asked, { authorization: `Bearer ${key}` });
        assert.equal(status, 200, text);
        return (await stack.openai.request(0)).json()['prompt_cache_key'];
      };
      const first = await seen(KEYS.main);
      assert.match(String(first), /^[\w-]{43}$/);
      assert.equal(await seen(KEYS.main), first);
      assert.notEqual(await seen(KEYS.poor), first);
    });

  it("is that of an agent's session in a converted call, and none without a session", async () => {
    const seen = async (key: string, session?: string): Promise<unknown> => {
      stack.openai.clear();
      stack.openai.script(openaiChat());
      const { status, text } = await post(stack, '/v1/messages', message('gpt-model'), {
        authorization: `Bearer ${key}`,
        ...(session !== undefined && { 'x-claude-code-session-id': session }),
      });
      assert.equal(status, 200, text);
      return (await stack.openai.request(0)).json()['prompt_cache_key'];
    };
    const first = await seen(KEYS.main, 'session-1');
    assert.match(String(first), /^[\w-]{43}$/);
    assert.equal(await seen(KEYS.main, 'session-1'), first);
    assert.notEqual(await seen(KEYS.main, 'session-2'), first);
    assert.notEqual(await seen(KEYS.poor, 'session-1'), first);
    assert.equal(await seen(KEYS.main), undefined);
  });
});
