/** An implausible usage of a provider, which would empty an account. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import {
  anthropicMessage,
  openaiChat,
  openaiEmbeddings,
  openaiImages,
  openaiStream,
} from '../../support/provider-answers.ts';
import { chat, get, message, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { metric } from './route-world.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

async function usageOf(answer: Answer): Promise<Json> {
  assert.equal(answer.status, 200, answer.text);
  return (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`)).json();
}

describe('usage beyond what the request allowed', () => {
  it('is capped at the output limit that was sent, marked, and counted', async () => {
    const series = 'modelgateway_implausible_usage_total{channel="openai/direct"}';
    const before = await metric(stack, series);
    const usage = { prompt_tokens: 10, completion_tokens: 100_000_000 };
    for (const [reply, stream] of [
      [openaiChat({ usage }), false],
      [openaiStream(['a'], { usage }), true],
    ] as const) {
      stack.openai.script(reply);
      const spent = await spending(stack);
      const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', { max_tokens: 300, n: 2, stream }));
      const record = await usageOf(answer);
      assert.deepEqual([record.input_tokens, record.output_tokens, record.usage_source], [10, 600, 'Implausible']);
      assert.deepEqual([record.cost_usd, record.unbilled_usd], ['0.006025', '0.00']);
      assert.equal((await spending(stack)).spent - spent.spent, 6_025_000n);
    }
    assert.equal((await metric(stack, series)) - before, 2);
  });
  it('is capped at the input that the body can have, whatever its class', async () => {
    const body = message('claude-model', { max_tokens: 10 });
    const bound = Buffer.byteLength(JSON.stringify(body)) + 128 + 16;
    const absurd = [
      { input_tokens: 50_000_000 },
      { input_tokens: 1, cache_read_input_tokens: 50_000_000 },
      { input_tokens: 1, cache_creation_input_tokens: 50_000_000 },
    ];
    for (const usage of absurd) {
      stack.anthropic.script(anthropicMessage({ usage: { ...usage, output_tokens: 2 } }));
      const record = await usageOf(await post(stack, '/v1/messages', body));
      assert.equal(record.usage_source, 'Implausible');
      assert.equal(record.input_tokens + record.cached_tokens + record.cache_write_tokens, bound);
      assert.equal(record.output_tokens, 2);
    }
  });
  it('is capped for embeddings', async () => {
    stack.openai.script(openaiEmbeddings([[0.1]], 5_000_000));
    const record = await usageOf(await post(stack, '/v1/embeddings', { model: 'embed-model', input: 'hello' }));
    assert.deepEqual(
      [record.input_tokens, record.usage_source],
      [5 + '{"model":"embed-model","input":}'.length + 144, 'Implausible'],
    );
  });
  it('within the bounds is believed', async () => {
    stack.openai.script(openaiChat({ usage: { prompt_tokens: 100, completion_tokens: 600 } }));
    const body = chat('gpt-model', { max_tokens: 300, n: 2 });
    const record = await usageOf(await post(stack, '/v1/chat/completions', body));
    assert.deepEqual([record.output_tokens, record.usage_source], [600, 'Provider']);
  });
  it('is believed for a call that uses an unbounded feature which its model allows', async () => {
    stack.openai.script(openaiChat({ usage: { prompt_tokens: 50_000, completion_tokens: 400 } }));
    const body = chat('tools-model', { max_tokens: 300, web_search_options: {} });
    const record = await usageOf(await post(stack, '/v1/chat/completions', body));
    assert.deepEqual([record.input_tokens, record.output_tokens, record.usage_source], [50_000, 400, 'Provider']);
  });
  it('does not change a price per request', async () => {
    stack.openai.script(openaiImages(1));
    const body = { model: 'image-model', prompt: 'a cat' };
    const record = await usageOf(await post(stack, '/v1/images/generations', body));
    assert.deepEqual([record.cost_usd, record.usage_source], ['0.04', 'Provider']);
  });
});
