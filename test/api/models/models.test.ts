/** The lists of models, in both dialects, and the comparison of names (docs/reference/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS, keyManifest } from '../../support/manifests.ts';
import { openaiChat } from '../../support/provider-answers.ts';
import { chat, get, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

const TWO_MODELS = 'sk-test-two-models-000000000000000000000000';
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ anthropicUrl }) => ({
      'slashed.yaml': `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: slashed}
spec:
  models: [{name: vendor/model-1.0, contextTokens: 200000, maxOutputTokens: 64000}]
  channels:
  - name: direct
    protocol: Anthropic
    baseUrl: ${anthropicUrl}
    models: [{name: vendor/model-1.0, upstreamName: upstream-1}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: slashed}
spec: {models: [{name: vendor/model-1.0, vendor: Slash, quotaType: Token, modelRatio: "1"}]}
`,
      'two-models.yaml': keyManifest('two-models', TWO_MODELS, 'models: [text-model, gpt-model]'),
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

describe('GET /v1/models', () => {
  const priced = [
    'claude-model',
    'embed-model',
    'gpt-model',
    'image-model',
    'old-field-model',
    'renamed-model',
    'text-model',
    'tools-model',
    'vendor/model-1.0',
  ];
  const ids = (answer: Answer): string[] => answer.json().data.map(({ id }: Json) => id);

  it('lists the models that this key can call, without unpriced models and prices without a route', async () => {
    const answer = await get(stack, '/v1/models');
    assert.equal(answer.json().object, 'list');
    assert.deepEqual(ids(answer), priced);
    assert.deepEqual(ids(await get(stack, '/v1/models', { 'x-api-key': KEYS.narrow })), ['text-model']);
    assert.deepEqual(ids(await get(stack, '/v1/models', { 'x-api-key': TWO_MODELS })), ['gpt-model', 'text-model']);
  });
  it("has OpenAI's format, with the vendor as owner, also for a single model", async () => {
    const [first] = (await get(stack, '/v1/models')).json().data;
    assert.deepEqual(
      {
        ...first,
        created: typeof first.created,
      },
      {
        id: 'claude-model',
        object: 'model',
        created: 'number',
        owned_by: 'Anthropic',
        endpoints: ['/v1/chat/completions', '/v1/messages'],
        input_modalities: ['text', 'image'],
        output_modalities: ['text'],
        context_length: 100_000,
        max_output_tokens: 4000,
      },
    );
    assert.deepEqual((await get(stack, '/v1/models/claude-model')).json(), first);
    assert.equal((await get(stack, '/v1/models/vendor/model-1.0')).json().owned_by, 'Slash');
    assert.equal((await get(stack, '/v1/models/vendor%2Fmodel-1.0')).json().id, 'vendor/model-1.0');
  });
  it('can be read by Codex, which asks for descriptions and gets none', async () => {
    const answer = await get(stack, '/v1/models?client_version=0.169.0');
    assert.deepEqual(answer.json(), { ...(await get(stack, '/v1/models')).json(), models: [] });
  });
  it('describes inputs, outputs and endpoints of each model', async () => {
    const list = (await get(stack, '/v1/models')).json().data;
    const factsOf = (model: string): Json => {
      const {
        endpoints,
        input_modalities: inputs,
        output_modalities: outputs,
        context_length: context,
        max_output_tokens: output,
      } = list.find(({ id }: Json) => id === model);
      return [endpoints, inputs, outputs, context, output];
    };
    assert.deepEqual(factsOf('embed-model'), [
      ['/v1/embeddings', '/v1/moderations', '/v1/rerank'],
      ['text'],
      ['embedding'],
      8192,
      null,
    ]);
    assert.deepEqual(factsOf('image-model'), [['/v1/images/generations'], ['text'], ['image'], null, null]);
    const version = { 'anthropic-version': '2023-06-01' };
    const seen = (await get(stack, '/v1/models/claude-model', version)).json().capabilities;
    const blind = (await get(stack, '/v1/models/text-model', version)).json().capabilities;
    assert.deepEqual([seen.image_input.supported, blind.image_input.supported], [true, false]);
    assert.deepEqual([seen.citations.supported, blind.citations.supported], [true, false]);
  });
  it("has Anthropic's format if the request has anthropic-version", async () => {
    const version = { 'anthropic-version': '2023-06-01' };
    const page = (await get(stack, '/v1/models?limit=2', version)).json();
    assert.deepEqual(
      [page.data.map(({ id }: Json) => id), page.has_more, page.first_id, page.last_id],
      [priced.slice(0, 2), true, 'claude-model', 'embed-model'],
    );
    assert.equal(page.data[0].type, 'model');
    const next = (await get(stack, `/v1/models?limit=20&after_id=${page.last_id}`, version)).json();
    assert.deepEqual([next.data.map(({ id }: Json) => id), next.has_more], [priced.slice(2), false]);
    const one = (await get(stack, '/v1/models/vendor/model-1.0', version)).json();
    assert.deepEqual(
      [one.type, one.id, one.max_input_tokens, one.max_tokens],
      ['model', 'vendor/model-1.0', 200_000, 64_000],
    );
  });
  it('answers HEAD without a body', async () => {
    const response = await fetch(`${stack.gateway.url}/v1/models`, {
      method: 'HEAD',
      headers: { 'x-api-key': KEYS.main },
    });
    assert.deepEqual([response.status, await response.text()], [200, '']);
    assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
    assert.equal((await fetch(`${stack.gateway.url}/v1/models`, { method: 'HEAD' })).status, 401);
  });
});

describe("a model's name", () => {
  it('is compared exactly', async () => {
    stack.openai.script(openaiChat());
    for (const name of ['GPT-model', ' gpt-model', 'gpt-model ', 'openai/gpt-model', 'gpt-model-latest']) {
      assert.equal((await post(stack, '/v1/chat/completions', chat(name))).status, 404, name);
      assert.equal((await get(stack, `/v1/models/${encodeURIComponent(name)}`)).status, 404, name);
    }
    assert.equal((await post(stack, '/v1/chat/completions', chat('gpt-model'))).status, 200);
  });
});
