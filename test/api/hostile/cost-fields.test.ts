/** Fields that raise or replace the output limit, or multiply the output, beyond the hold. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { anthropicMessage, json, openaiChat, openaiImages, sse } from '../../support/provider-answers.ts';
import { chat, get, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { routeManifest } from './route-world.ts';
import { CUT, RESET } from '../../support/mock-provider.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({
      'allowed.yaml': routeManifest('allowed', openaiUrl, {
        spec: '  allow: {fields: [thinking_budget, extra_body.google.thinkingConfig.maxTokens]}',
      }),
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const CHAT_FIELDS: readonly Record<string, unknown>[] = [
  { n_predict: 100_000 },
  { max_new_tokens: 100_000 },
  { maxOutputTokens: 100_000 },
  { thinking_budget: 100_000 },
  { batch_size: 4 },
  { num_return_sequences: 4 },
  { 'max-length': 9 },
  { extra_body: { google: { thinking_config: { thinking_budget: 100_000 } } } },
  { options: { num_predict: 100_000 } },
  { chat_template_kwargs: { thinking_budget: 100_000 } },
  { generationConfig: { candidateCount: 8 } },
  { use_beam_search: true },
];

function pathOf(field: Record<string, unknown>): string {
  const [name = ''] = Object.keys(field);
  const value = field[name];
  return typeof value === 'object' ? `${name}.${pathOf(value as Record<string, unknown>)}` : name;
}

describe('a field that changes the price of a call that passes through', () => {
  for (const field of CHAT_FIELDS) {
    it(`${pathOf(field)} is refused by name`, async () => {
      const calls = [
        ['/v1/chat/completions', chat('gpt-model', field)],
        ['/v1/messages', message('claude-model', field)],
        ['/v1/responses', { model: 'gpt-model', input: 'hello', ...field }],
      ] as const;
      for (const [path, body] of calls) {
        const answer = await post(stack, path, body);
        assert.equal(answer.status, 400, answer.text);
        const { error } = answer.json();
        for (const part of [`"${pathOf(field)}"`, 'allow.fields'])
          assert.ok(error.message.includes(part), error.message);
        if (path !== '/v1/messages') assert.deepEqual([error.code, error.param], ['not_allowed', pathOf(field)]);
      }
      assert.equal(stack.openai.requests.length + stack.anthropic.requests.length, 0);
    });
  }
  it('is refused in other letters by the name that it has', async () => {
    for (const [path, body] of [
      ['/v1/chat/completions', chat('gpt-model', { N_PREDICT: -1 })],
      ['/v1/messages', message('claude-model', { N_PREDICT: -1 })],
      ['/v1/responses', { model: 'gpt-model', input: 'hello', N_PREDICT: -1 }],
    ] as const) {
      const answer = await post(stack, path, body);
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.json().error.message, /"n_predict"; names are case-sensitive/);
    }
    assert.equal(stack.openai.requests.length + stack.anthropic.requests.length, 0);
  });
  it('is refused for images and videos', async () => {
    const fields = [{ sequential_image_generation: 'auto' }, { batch_size: 4 }, { num_images: 9 }, { best_of: 9 }];
    for (const field of fields) {
      const answer = await post(stack, '/v1/images/generations', { model: 'image-model', prompt: 'a cat', ...field });
      assert.deepEqual([answer.status, answer.json().error.param], [400, Object.keys(field)[0]]);
    }
    assert.equal(stack.openai.requests.length, 0);
  });
  it('passes if it has the default value or is unknown', async () => {
    const harmless = {
      best_of: 1,
      batch_size: 1,
      thinking_budget: 0,
      n_predict: null,
      use_beam_search: false,
      top_k: 3,
      own: { max: 1 },
      chat_template_kwargs: { enable_thinking: false },
      max_tokens: 5,
      reasoning: { max_tokens: 2 },
    };
    stack.openai.script(openaiChat());
    const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', harmless));
    assert.equal(answer.status, 200, answer.text);
    const sent = (await stack.openai.request(0)).json();
    for (const name of ['batch_size', 'own', 'chat_template_kwargs', 'reasoning']) assert.ok(name in sent, name);
    stack.anthropic.script(anthropicMessage());
    assert.equal((await post(stack, '/v1/messages', message('claude-model', { top_k: 3 }))).status, 200);
  });
  it('passes if the ModelRoute allows it, and is billed as reported', async () => {
    stack.openai.script(openaiChat({ usage: { prompt_tokens: 10, completion_tokens: 5000 } }));
    const allowed = {
      thinking_budget: 9000,
      options: { thinking_budget: 1 },
      max_tokens: 300,
      extra_body: { google: { thinkingConfig: { maxTokens: 1 } } },
    };
    const answer = await post(stack, '/v1/chat/completions', chat('allowed-model', allowed));
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.050025');
    const refused = await post(stack, '/v1/chat/completions', chat('allowed-model', { extra_body: { maxTokens: 1 } }));
    assert.deepEqual([refused.status, refused.json().error.param], [400, 'extra_body.maxTokens']);
  });
});

describe('more images than requested', () => {
  it('are not billed, whole or streamed', async () => {
    stack.openai.script(openaiImages(5));
    const whole = await post(stack, '/v1/images/generations', { model: 'image-model', prompt: 'a cat', n: 2 });
    assert.equal(whole.headers.get('x-modelgateway-cost-usd'), '0.08');
    const type = 'image_generation.completed';
    const done = sse({ event: type, data: { type, b64_json: 'aGk=' } });
    stack.openai.script({ headers: { 'content-type': 'text/event-stream' }, steps: [done, done, done] });
    const body = { model: 'image-model', prompt: 'a cat', stream: true };
    const streamed = await post(stack, '/v1/images/generations', body);
    const usage = (await get(stack, `/v1/usage/${streamed.headers.get('x-request-id')}`)).json();
    assert.deepEqual([usage.cost_usd, usage.usage_source], ['0.04', 'Implausible']);
  });
  it('are counted in a response that is too large to buffer', async () => {
    const image = { b64_json: 'A'.repeat(3 * 1024 * 1024), revised_prompt: 'says "b64_json": twice' };
    stack.openai.script(json({ created: 1, data: [image, image, image, image] }));
    const answer = await post(stack, '/v1/images/generations', { model: 'image-model', prompt: 'a cat' });
    const usage = (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`)).json();
    assert.deepEqual([answer.json().data.length, usage.cost_usd, usage.usage_source], [4, '0.04', 'Implausible']);
  });
  it('are not billed if their stream breaks off before them', async () => {
    const type = 'image_generation.partial_image';
    const partial = sse({ event: type, data: { type, b64_json: 'aGk=' } });
    for (const breakOff of [CUT, RESET]) {
      stack.openai.script({ headers: { 'content-type': 'text/event-stream' }, steps: [partial, breakOff] });
      const body = { model: 'image-model', prompt: 'a cat', stream: true, partial_images: 1 };
      const streamed = await post(stack, '/v1/images/generations', body);
      const usage = (await get(stack, `/v1/usage/${streamed.headers.get('x-request-id')}`)).json();
      assert.deepEqual([usage.status, usage.cost_usd], ['ProviderCut', '0.00'], JSON.stringify(breakOff));
    }
  });
  it('are billed as they came if there are fewer', async () => {
    stack.openai.script(openaiImages(1));
    const answer = await post(stack, '/v1/images/generations', { model: 'image-model', prompt: 'a cat', n: 3 });
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.04');
  });
});
