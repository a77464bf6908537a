/** Legacy completions over HTTP: what passes through, what is held and what is billed (docs/reference/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { formatDecimal } from '#snapshot/decimal.ts';
import { get, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { breakAt, gated, json, openaiCompletion, openaiCompletionStream } from '../../support/provider-answers.ts';
import { CUT } from '../../support/mock-provider.ts';
import { GPT } from '../../support/api/sdk.ts';

const PATH = '/v1/completions';
/** Of a token of input that may be written to a cache, as the hold has it. */
const HELD_INPUT = (GPT.input * 5n) / 4n;
/** What a provider may add to a prompt. */
const WRAPPING = 144;

const PER_REQUEST = (openaiUrl: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: each}
spec:
  models: [{name: each-model, contextTokens: 1000, maxOutputTokens: 100}]
  channels: [{name: only, protocol: OpenAI, baseUrl: "${openaiUrl}/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: each}
spec: {models: [{name: each-model, vendor: V, quotaType: Request, requestUsd: "0.001"}]}
`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'each.yaml': PER_REQUEST(openaiUrl) }) });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const usageOf = async (response: Answer): Promise<Json> =>
  (await get(stack, `/v1/usage/${response.headers.get('x-request-id')}`)).json();

async function assertBilled(response: Answer, input: number, output: number): Promise<Json> {
  assert.equal(response.status, 200, response.text);
  const record = await usageOf(response);
  assert.deepEqual([record.input_tokens, record.output_tokens], [input, output]);
  assert.equal(record.cost_usd, formatDecimal(BigInt(input) * GPT.input + BigInt(output) * GPT.output, 2));
  return record;
}

describe('legacy completions', () => {
  it('pass through but for the limit that OpenAI would take', async () => {
    stack.openai.script(openaiCompletion([' world'], { prompt_tokens: 2, completion_tokens: 3 }));
    const body = '{"prompt": "hell\\u006f", "model":"gpt-model","logprobs":1, "odd": 1.0}';
    const response = await post(stack, PATH, body);
    const sent = await stack.openai.request(0);
    assert.deepEqual([sent.path, sent.body.toString()], [PATH, body.replace('1.0}', '1.0,"max_tokens":16}')]);
    assert.equal(response.json().choices[0].text, ' world');
    assert.equal(response.headers.get('x-modelgateway-cost-usd'), '0.000035');
    await assertBilled(response, 2, 3);
  });

  it('are held for each completion of each prompt, and billed as the provider reports', async () => {
    // the tokens of the prompts, each of which is held with the rest of the body
    for (const [fields, prompts, completions, limit] of [
      [{ prompt: 'hello' }, [5], 1n, 16n],
      [{ prompt: 'hello', max_tokens: 100, n: 3 }, [5], 3n, 100n],
      [{ prompt: 'hello', max_tokens: 100, n: 2, best_of: 5 }, [5], 5n, 100n],
      [{ prompt: ['hello', 'you'], max_tokens: 9, best_of: 4 }, [5, 3], 8n, 9n],
      [{ prompt: [7, 8, 9], max_tokens: 9, suffix: '!!' }, [3], 1n, 9n],
      [{ prompt: [[7, 8], [9]], max_tokens: 9, n: 2 }, [2, 1], 4n, 9n],
      // the model's own limit: some providers take zero for none
      [{ prompt: 'hello', max_tokens: 0, echo: true }, [5], 1n, 4000n],
      [{ prompt: 'hello', max_tokens: 99_999 }, [5], 1n, 4000n],
    ] as const) {
      stack.openai.clear();
      const { reply, gate } = gated(openaiCompletion(['x'], { prompt_tokens: 4, completion_tokens: 7 }));
      stack.openai.script(reply);
      const body = JSON.stringify({ model: 'gpt-model', ...fields });
      const call = post(stack, PATH, body);
      await gate.reached;
      const { held } = await spending(stack);
      gate.open();
      const beside = body.length - JSON.stringify(fields.prompt).length + WRAPPING;
      const input = prompts.reduce((sum, tokens) => sum + tokens + beside, 0);
      assert.equal(held, BigInt(input) * HELD_INPUT + completions * limit * GPT.output, body);
      await assertBilled(await call, 4, 7);
    }
  });

  it('are billed at most for what was asked', async () => {
    stack.openai.script(openaiCompletion(['x'], { prompt_tokens: 4, completion_tokens: 900 }));
    const record = await assertBilled(
      await post(stack, PATH, { model: 'gpt-model', prompt: 'a', max_tokens: 5, best_of: 3 }),
      4,
      15,
    );
    assert.equal(record.usage_source, 'Implausible');
  });

  it('are estimated without usage: no echo, and all of which the best was taken', async () => {
    const prompt = ['x'.repeat(40), 'y'.repeat(20)];
    for (const [fields, texts, output] of [
      [{}, ['abcd', 'efghijkl'], 3],
      [{ echo: true }, [`${prompt[0]}abcd`, `${prompt[1]}efghijkl`], 3],
      [{ best_of: 3 }, ['abcd', 'efghijkl'], 9],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(openaiCompletion(texts));
      const record = await assertBilled(await post(stack, PATH, { model: 'gpt-model', prompt, ...fields }), 15, output);
      assert.equal(record.usage_source, 'Estimated');
    }
  });

  it('only read the prompt with a limit of zero', async () => {
    stack.openai.script(openaiCompletion(['hello'], { prompt_tokens: 2, completion_tokens: 0 }));
    const body = { model: 'gpt-model', prompt: 'hello', max_tokens: 0, echo: true, logprobs: 0 };
    await assertBilled(await post(stack, PATH, body), 2, 0);
    assert.deepEqual((await stack.openai.request(0)).json(), body);
  });

  it('stream several choices, with the usage that only the gateway asked for taken out', async () => {
    const pieces = [
      [0, 'a'],
      [1, 'b'],
      [1, 'bb'],
      [0, 'aa'],
    ] as const;
    stack.openai.script(openaiCompletionStream(pieces, { prompt_tokens: 6, completion_tokens: 11 }));
    const body = { model: 'gpt-model', prompt: ['p', 'q'], max_tokens: 20, stream: true };
    const silent = await post(stack, PATH, body);
    assert.ok(!silent.text.includes('usage') && silent.text.endsWith('data: [DONE]\n\n'), silent.text);
    await assertBilled(silent, 6, 11);
    const told = await post(stack, PATH, { ...body, stream_options: { include_usage: true } });
    assert.ok(told.text.includes('"completion_tokens":11'), told.text);
    await assertBilled(told, 6, 11);
    assert.deepEqual((await stack.openai.request(0)).json()['stream_options'], { include_usage: true });
  });

  it('are billed for what a broken stream has sent', async () => {
    stack.openai.script(breakAt(openaiCompletionStream([[0, 'x'.repeat(40)]]), 1, CUT));
    const response = await post(stack, PATH, { model: 'gpt-model', prompt: 'abcd', max_tokens: 20, stream: true });
    assert.match(response.text, /"error"/);
    const record = await assertBilled(response, 1, 10);
    assert.equal(record.status, 'ProviderCut');
  });

  it('cost a price per request for each completion', async () => {
    stack.openai.script(openaiCompletion(['x', 'y', 'z', 'u']));
    const response = await post(stack, PATH, { model: 'each-model', prompt: ['a', 'b'], n: 2 });
    assert.equal(response.headers.get('x-modelgateway-cost-usd'), '0.004');
  });

  it('are refused by name, before anything is sent', async () => {
    for (const [fields, status, code, param] of [
      [{ prompt: [] }, 400, 'invalid_value', 'prompt'],
      [{ Max_Tokens: 5 }, 400, 'invalid_value', 'Max_Tokens'],
      [{ best_of: 2, stream: true }, 400, 'invalid_value', 'best_of'],
      [{ max_completion_tokens: 5 }, 400, 'not_allowed', 'max_completion_tokens'],
      [{ use_beam_search: true }, 400, 'not_allowed', 'use_beam_search'],
      [{ sampling_params: { n: 5 } }, 400, 'not_allowed', 'sampling_params.n'],
      [{ plugins: [{ id: 'web' }] }, 400, 'not_allowed', 'plugins'],
      [{ messages: [{ role: 'user', content: 'x' }] }, 400, 'unsupported_parameter', 'messages'],
      [{ model: 'text-model', image: 'https://x/a.png' }, 400, 'unsupported_image', 'image'],
      [{ model: 'embed-model' }, 400, 'wrong_endpoint', 'model'],
      [{ model: 'claude-model' }, 404, 'not_found', 'model'],
      [{ model: 'nobody' }, 404, 'model_not_found', 'model'],
    ] as const) {
      const response = await post(stack, PATH, { model: 'gpt-model', prompt: 'x', ...fields });
      const { error } = response.json();
      assert.deepEqual([response.status, error.code, error.param], [status, code, param], JSON.stringify(fields));
    }
    assert.equal(stack.openai.requests.length + stack.anthropic.requests.length, 0);
  });

  it('that are none are an error', async () => {
    stack.openai.script(json({ object: 'list' }));
    const response = await post(stack, PATH, { model: 'gpt-model', prompt: 'x' });
    assert.deepEqual([response.status, response.json().error.code], [502, 'upstream_error']);
  });
});
