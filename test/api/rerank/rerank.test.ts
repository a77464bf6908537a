/** Rankings over HTTP, in the forms of Cohere, Jina and Voyage: they pass through (docs/reference/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { formatDecimal } from '#snapshot/decimal.ts';
import { get, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { cohereRanking, json } from '../../support/provider-answers.ts';
import type { Reply } from '../../support/mock-provider.ts';

/** In nano-dollars: $0.05 a million tokens, and $0.002 for a hundred documents. */
const TOKEN = 50n;
const UNIT = 2_000_000n;

const manifest = (openaiUrl: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: rerank}
spec:
  models:
  - {name: rank-model, endpoints: [Embeddings], contextTokens: 1000}
  - {name: unit-model, endpoints: [Embeddings], contextTokens: 1000}
  - {name: seeing-model, endpoints: [Embeddings], contextTokens: 1000, inputs: [Text, Image], imageTokens: 300}
  channels:
  - {name: v1, protocol: OpenAI, baseUrl: "${openaiUrl}/v1", models: [{name: rank-model, upstreamName: rerank-v9}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: rerank-v2}
spec:
  models: [{name: cohere-model, endpoints: [Embeddings], contextTokens: 1000}]
  channels: [{name: v2, protocol: OpenAI, baseUrl: "${openaiUrl}/v2"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: rerank}
spec:
  models:
  - {name: rank-model, vendor: V, quotaType: Token, modelRatio: "0.025"}
  - {name: seeing-model, vendor: V, quotaType: Token, modelRatio: "0.025"}
  - {name: cohere-model, vendor: Cohere, quotaType: Token, modelRatio: "0.025"}
  - {name: unit-model, vendor: Cohere, quotaType: Request, requestUsd: "0.002"}
`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'rerank.yaml': manifest(openaiUrl) }) });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

async function assertBilled(response: Answer, tokens: number, costNanoUsd: bigint): Promise<void> {
  assert.equal(response.status, 200, response.text);
  assert.equal(response.headers.get('x-modelgateway-cost-usd'), formatDecimal(costNanoUsd, 2));
  const record: Json = (await get(stack, `/v1/usage/${response.headers.get('x-request-id')}`)).json();
  assert.deepEqual([record.input_tokens, record.output_tokens], [tokens, 0]);
  assert.equal(record.cost_usd, formatDecimal(costNanoUsd, 2));
}

const jina = (tokens?: number): Reply =>
  json({
    model: 'jina-reranker-v2',
    ...(tokens !== undefined && { usage: { total_tokens: tokens } }),
    results: [{ index: 1, relevance_score: 0.9, document: { text: 'b' } }],
  });

describe('rankings', () => {
  it('in the form of Jina and vLLM pass through byte for byte', async () => {
    const reply = jina(4200);
    stack.openai.script(reply);
    const body = '{"top_n": 1, "model":"rank-model","query":"caf\\u00e9", "documents":["a",{"text":"b"}]}';
    const response = await post(stack, '/v1/rerank', body);
    const sent = await stack.openai.request(0);
    assert.deepEqual([sent.path, sent.body.toString()], ['/v1/rerank', body.replace('rank-model', 'rerank-v9')]);
    const [step] = reply.steps;
    assert.ok(typeof step === 'object' && 'bytes' in step);
    assert.equal(response.text, step.bytes);
    // more than two short texts can have: é is two bytes, {"text":"b"} twelve, and each pair is in a template of at most
    // 144 tokens, with all that is beside the texts
    const beside = body.length - '"caf\\u00e9"["a",{"text":"b"}]'.length + 144;
    const most = 5 + 1 + 5 + 12 + 2 * beside;
    await assertBilled(response, most, BigInt(most) * TOKEN);
  });

  it('in the form of Voyage are billed by the total of its usage', async () => {
    stack.openai.script(
      json({
        object: 'list',
        data: [{ relevance_score: 0.4, index: 0, document: 'one' }],
        model: 'rerank-2',
        usage: { total_tokens: 26 },
      }),
    );
    const body = {
      model: 'rank-model',
      query: 'when?',
      documents: ['one document', 'two'],
      top_k: 1,
      return_documents: true,
    };
    const response = await post(stack, '/v1/rerank', body);
    assert.equal(response.json().data[0].document, 'one');
    assert.deepEqual((await stack.openai.request(0)).json(), { ...body, model: 'rerank-v9' });
    await assertBilled(response, 26, 26n * TOKEN);
  });

  it('in the form of Cohere have their tokens in "meta", and its newer client calls /v2', async () => {
    stack.openai.script(
      cohereRanking([0.9, 0.1], { billed_units: { search_units: 1 }, tokens: { input_tokens: 31, output_tokens: 0 } }),
      cohereRanking([0.9], { billed_units: { search_units: 1 } }),
    );
    const body = { model: 'cohere-model', query: 'what is it?', documents: ['a cat', 'a very small dog'], top_n: 2 };
    const response = await post(stack, '/v2/rerank', body);
    assert.equal(response.json().results[0].relevance_score, 0.9);
    assert.equal((await stack.openai.request(0)).path, '/v2/rerank');
    await assertBilled(response, 31, 31n * TOKEN);
    // search units are no tokens: 3 for the query with each document, and 2 and 4 for those
    const estimated = await post(stack, '/v1/rerank', body);
    assert.equal((await stack.openai.request(1)).path, '/v2/rerank');
    assert.equal(estimated.headers.get('x-modelgateway-usage'), 'estimated');
    await assertBilled(estimated, 3 + 2 + 3 + 4, 12n * TOKEN);
  });

  it('are priced by every hundred documents begun where the price is per request', async () => {
    stack.openai.script(jina(9), jina(), cohereRanking([0.5], { billed_units: { search_units: 2 } }));
    for (const [count, units, tokens] of [
      [1, 1n, 9],
      [100, 1n, 0],
      [101, 2n, 0],
    ] as const) {
      const documents = Array.from({ length: count }, () => 'x');
      const response = await post(stack, '/v1/rerank', { model: 'unit-model', query: 'q', documents });
      await assertBilled(response, tokens, units * UNIT);
    }
  });

  it('are refused where a field is wrong, an image is for a model without sight, or the model has another endpoint', async () => {
    const whole = { model: 'rank-model', query: 'q', documents: ['a'] };
    for (const [more, code, param] of [
      [{ model: undefined }, 'invalid_value', 'model'],
      [{ query: undefined }, 'invalid_value', 'query'],
      [{ query: ['q'] }, 'invalid_value', 'query'],
      [{ documents: [] }, 'invalid_value', 'documents'],
      [{ documents: 'a' }, 'invalid_value', 'documents'],
      [{ documents: ['a', 5] }, 'invalid_value', 'documents[1]'],
      [{ documents: ['a', { Image: 'https://x/a.png' }] }, 'unsupported_image', 'documents'],
      [{ query: { image: 'iVBORw0KGgo' } }, 'unsupported_image', 'query'],
      [{ max_tokens_per_doc: 0 }, 'invalid_value', 'max_tokens_per_doc'],
      [{ parameters: { overlap_tokens: 80 } }, 'not_allowed', 'parameters.overlap_tokens'],
      [{ model: 'gpt-model' }, 'wrong_endpoint', 'model'],
    ] as const) {
      const { error } = (await post(stack, '/v1/rerank', { ...whole, ...more })).json();
      assert.deepEqual([error.code, error.param], [code, param], JSON.stringify(more));
    }
    assert.equal(stack.openai.requests.length, 0);
  });

  it('take images by a model that sees', async () => {
    stack.openai.script(jina(700), jina());
    const body = { model: 'seeing-model', query: 'a cat?', documents: [{ image: 'https://x/cat.png' }] };
    await assertBilled(await post(stack, '/v1/rerank', body), 700, 700n * TOKEN);
    await assertBilled(await post(stack, '/v1/rerank', body), 302, 302n * TOKEN);
  });

  it('of more than 8 MiB are billed by their own usage, not by that of a document that they repeat', async () => {
    const document = { text: 'x', usage: { prompt_tokens: 1, completion_tokens: 0 } };
    const results = [{ document: { text: 'x'.repeat(9 * 1024 * 1024) } }, { document }];
    stack.openai.script(json({ results }), json({ usage: { total_tokens: 40 }, results }));
    for (const [tokens, source] of [
      // what an object within a document comes to is not known: the context
      [1000, 'Estimated'],
      [40, 'Provider'],
    ] as const) {
      const response = await post(stack, '/v1/rerank', { model: 'rank-model', query: 'q', documents: [document] });
      assert.equal(response.status, 200);
      const record: Json = (await get(stack, `/v1/usage/${response.headers.get('x-request-id')}`)).json();
      assert.deepEqual([record.input_tokens, record.output_tokens, record.usage_source], [tokens, 0, source]);
    }
  });

  it('that are none are an error', async () => {
    stack.openai.script(json({ object: 'list' }));
    const response = await post(stack, '/v1/rerank', { model: 'rank-model', query: 'q', documents: ['a'] });
    assert.deepEqual([response.status, response.json().error.code], [502, 'upstream_error']);
  });
});
