/** Moderations over HTTP: they pass through, and are priced by their input (docs/reference/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { formatDecimal } from '#snapshot/decimal.ts';
import { get, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';
import { json, openaiModerations } from '../../support/provider-answers.ts';

const manifest = (openaiUrl: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: moderation}
spec:
  models:
  - {name: omni-moderation-latest, endpoints: [Embeddings], contextTokens: 1000, inputs: [Text, Image], imageTokens: 300}
  - {name: paid-moderation, endpoints: [Embeddings], contextTokens: 1000, inputs: [Text, Image], imageTokens: 300}
  - {name: blind-moderation, endpoints: [Embeddings], contextTokens: 1000}
  channels:
  - {name: only, protocol: OpenAI, baseUrl: "${openaiUrl}/v1",
     models: [{name: omni-moderation-latest, upstreamName: omni-2}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: moderation}
spec:
  models:
  - {name: omni-moderation-latest, vendor: OpenAI, quotaType: Token, modelRatio: "0"}
  - {name: paid-moderation, vendor: V, quotaType: Token, modelRatio: "0.05"}
  - {name: blind-moderation, vendor: V, quotaType: Token, modelRatio: "0.05"}
`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'moderation.yaml': manifest(openaiUrl) }) });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const usageOf = async (id: string | null): Promise<Json> => (await get(stack, `/v1/usage/${id}`)).json();
const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };

describe('moderations', () => {
  it('pass through byte for byte, and cost nothing at a price of zero', async () => {
    stack.openai.script(openaiModerations());
    const body = '{"input": "caf\\u00e9", "model":"omni-2","odd": 1.0}';
    const response = await post(stack, '/v1/moderations', body.replace('omni-2', 'omni-moderation-latest'));
    const sent = await stack.openai.request(0);
    assert.deepEqual([sent.path, sent.body.toString()], ['/v1/moderations', body]);
    assert.equal(response.json().results[0].flagged, false);
    assert.equal(response.headers.get('x-modelgateway-cost-usd'), '0.00');
  });

  it('name the model that OpenAI takes where the request names none', async () => {
    stack.openai.script(openaiModerations());
    assert.equal((await post(stack, '/v1/moderations', { input: 'hello' })).status, 200);
    assert.deepEqual((await stack.openai.request(0)).json(), { input: 'hello', model: 'omni-2' });
  });

  it('are billed by the usage that a provider reports, or else by an estimate', async () => {
    // $0.10 per million tokens: 100 nano-dollars a token
    for (const [input, reported, tokens] of [
      ['x'.repeat(400), 77, 77],
      ['x'.repeat(400), undefined, 100],
      [['x'.repeat(40), 'y'.repeat(5)], undefined, 12],
      [[{ type: 'text', text: 'x'.repeat(40) }, picture], undefined, 310],
      // no longer than the model's context
      ['x'.repeat(40_000), undefined, 1000],
      // more than the request can have
      ['x', 5000, 1 + '{"model":"paid-moderation","input":}'.length + 512],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(openaiModerations(1, reported));
      const response = await post(stack, '/v1/moderations', { model: 'paid-moderation', input });
      const record = await usageOf(response.headers.get('x-request-id'));
      assert.deepEqual([record.input_tokens, record.output_tokens], [tokens, 0], JSON.stringify(input).slice(0, 80));
      assert.equal(record.cost_usd, formatDecimal(BigInt(tokens) * 100n, 2));
      assert.equal(response.headers.get('x-modelgateway-usage'), reported === undefined ? 'estimated' : null);
    }
  });

  it('are refused where the input is none, an image is for a model without sight, or the model has another endpoint', async () => {
    for (const [body, code, param] of [
      [{ model: 'paid-moderation' }, 'invalid_value', 'input'],
      [{ model: 'paid-moderation', input: [] }, 'invalid_value', 'input'],
      [{ model: 'paid-moderation', input: ['a', 5] }, 'invalid_value', 'input[1]'],
      [{ model: 'paid-moderation', input: [{ type: 'file', file: {} }] }, 'invalid_value', 'input[0]'],
      [{ model: 'paid-moderation', input: [{ type: 'text', Text: 'x', text: 'y' }] }, 'invalid_value', 'input[0].Text'],
      [{ model: 'blind-moderation', input: [picture] }, 'unsupported_image', 'input'],
      [{ model: 'gpt-model', input: 'x' }, 'wrong_endpoint', 'model'],
    ] as const) {
      const { error } = (await post(stack, '/v1/moderations', body)).json();
      assert.deepEqual([error.code, error.param], [code, param], JSON.stringify(body));
    }
    assert.equal(stack.openai.requests.length, 0);
  });

  it('that are no moderations are an error, and cost nothing', async () => {
    stack.openai.script(json({ object: 'list', data: [] }));
    const response = await post(stack, '/v1/moderations', { model: 'paid-moderation', input: 'x' });
    assert.deepEqual([response.status, response.json().error.code], [502, 'upstream_error']);
  });
});
