/** Embeddings and images over HTTP: both pass through, and images are billed by number (docs/reference/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { json, openaiEmbeddings, openaiImages, sseReply } from '../../support/provider-answers.ts';
import { get, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const usageOf = async (id: string | null): Promise<Json> => (await get(stack, `/v1/usage/${id}`)).json();

describe('embeddings and images', () => {
  it('relay embeddings byte for byte, both ways', async () => {
    const reply = openaiEmbeddings([[0.1, 1e-7]], 4);
    stack.openai.script(reply);
    const body = '{"input": ["caf\\u00e9", "b"], "model":"embed-model","encoding_format":"float", "odd": 1.0}';
    const answer = await post(stack, '/v1/embeddings', body);
    assert.equal((await stack.openai.request(0)).path, '/v1/embeddings');
    assert.equal((await stack.openai.request(0)).body.toString(), body);
    const [sent] = reply.steps;
    assert.ok(typeof sent === 'object' && 'bytes' in sent);
    assert.equal(answer.text, sent.bytes);
  });
  it('hold each input of embeddings with the rest of the body, and refuse what could raise their price', async () => {
    const body = { model: 'embed-model', input: ['a', 'b'], instruction: 'y'.repeat(40) };
    const beside = JSON.stringify(body).length - '["a","b"]'.length;
    stack.openai.script(openaiEmbeddings([[0.1], [0.2]], 5000));
    const answer = await post(stack, '/v1/embeddings', body);
    const record = await usageOf(answer.headers.get('x-request-id'));
    assert.deepEqual([record.input_tokens, record.usage_source], [2 * (1 + beside + 144), 'Implausible']);
    const sent = stack.openai.requests.length;
    for (const [more, code, param] of [
      [{ extra_body: { n: 4 } }, 'not_allowed', 'extra_body.n'],
      [{ messages: [{ content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }, 'unsupported_image', 'messages'],
      [{ input: 'data:image/png;base64,AAAA' }, 'unsupported_image', 'input'],
    ] as const) {
      const { error } = (await post(stack, '/v1/embeddings', { ...body, ...more })).json();
      assert.deepEqual([error.code, error.param], [code, param]);
    }
    assert.equal(stack.openai.requests.length, sent);
  });
  it('return different errors for a model of another endpoint, an unknown model and a wrong field', async () => {
    assert.equal(
      (await post(stack, '/v1/embeddings', { model: 'gpt-model', input: 'x' })).json().error.code,
      'wrong_endpoint',
    );
    assert.equal(
      (await post(stack, '/v1/images/generations', { model: 'embed-model', prompt: 'x' })).json().error.code,
      'wrong_endpoint',
    );
    for (const [path, body, param] of [
      ['/v1/embeddings', { model: 'embed-model' }, 'input'],
      ['/v1/embeddings', { input: 'x' }, 'model'],
      ['/v1/images/generations', { model: 'image-model' }, 'prompt'],
      ['/v1/images/generations', { model: 'image-model', prompt: 'x', n: 0 }, 'n'],
    ] as const) {
      const answer = await post(stack, path, body);
      assert.deepEqual(
        [answer.status, answer.json().error.type, answer.json().error.param],
        [400, 'invalid_request_error', param],
      );
    }
  });
  it('refuse images that have only a price per token, and say what is missing', async () => {
    await stack.gateway.write(
      'painter.yaml',
      `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: painter}
spec: {models: [{name: painter, endpoints: [Images]}],
  channels: [{name: c, protocol: OpenAI, baseUrl: ${stack.openai.url}/v1}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: painter}
spec: {models: [{name: painter, vendor: V, quotaType: Token, modelRatio: "1"}]}
`,
    );
    const answer = await post(stack, '/v1/images/generations', { model: 'painter', prompt: 'x' });
    assert.deepEqual([answer.status, answer.json().error.code], [503, 'model_not_priced']);
    assert.match(answer.json().error.message, /quotaType Request/);
    await stack.gateway.write('painter.yaml', '# nothing\n');
  });
  it('bill images by number, whatever token usage the provider reports, and relay byte for byte', async () => {
    const body = '{"prompt":"a \\u00e9", "model":"image-model","n":2, "size":"1024x1024"}';
    stack.openai.script(openaiImages(2));
    const answer = await post(stack, '/v1/images/generations', body);
    assert.equal((await stack.openai.request(0)).body.toString(), body);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.08');
    assert.equal(answer.json().data.length, 2);
    assert.equal((await usageOf(answer.headers.get('x-request-id'))).usage_source, 'Provider');
  });
  it('bill images by the size and quality of the response, and refuse those without a price', async () => {
    await stack.gateway.write(
      'sized.yaml',
      `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: sized}
spec: {models: [{name: sized, endpoints: [Images]}],
  channels: [{name: c, protocol: OpenAI, baseUrl: ${stack.openai.url}/v1}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: sized}
spec:
  models:
  - name: sized
    vendor: V
    quotaType: Request
    perImage:
    - {size: 1024x1024, quality: low, usd: "0.011"}
    - {size: 1024x1024, quality: high, usd: "0.167"}
`,
    );
    const draw = async (asked: object): Promise<Awaited<ReturnType<typeof post>>> =>
      post(stack, '/v1/images/generations', { model: 'sized', prompt: 'x', ...asked });
    stack.openai.script(json({ created: 1, data: [{ b64_json: 'iVBORw0KGgo=' }], size: '1024x1024', quality: 'low' }));
    const chosen = await draw({ size: 'auto' });
    assert.equal(chosen.headers.get('x-modelgateway-cost-usd'), '0.011');
    const {
      lines: [line],
    } = await usageOf(chosen.headers.get('x-request-id'));
    assert.deepEqual(
      [line.dimension, line.quantity, line.rate_usd, line.size, line.quality],
      ['generation', 1, '0.011', '1024x1024', 'low'],
    );
    stack.openai.script(openaiImages(2));
    const asked = await draw({ n: 2, quality: 'high' });
    assert.equal(asked.headers.get('x-modelgateway-cost-usd'), '0.334');
    const sent = stack.openai.requests.length;
    for (const [more, param] of [
      [{ size: '512x512' }, 'size'],
      [{ size: '1024x1024', quality: 'hd' }, 'quality'],
    ] as const) {
      const refused = await draw(more);
      assert.deepEqual(
        [refused.status, refused.json().error.code, refused.json().error.param],
        [400, 'not_allowed', param],
      );
    }
    assert.equal(stack.openai.requests.length, sent);
    await stack.gateway.write('sized.yaml', '# nothing\n');
  });
  it('stream partial images at once, and the last one after settlement', async () => {
    const { ledger } = stack.gateway;
    const settle = ledger.settle.bind(ledger);
    const [asked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    ledger.settle = async (settlement) => {
      asked.resolve();
      await release.promise;
      return settle(settlement);
    };
    const event = (type: string): { event: string; data: object } => ({
      event: `image_generation.${type}`,
      data: { type: `image_generation.${type}`, b64_json: 'iVBORw0KGgo=' },
    });
    stack.openai.script(sseReply(event('partial_image'), event('completed')));
    const draft = Promise.withResolvers<void>();
    let text = '';
    try {
      const response = await fetch(`${stack.gateway.url}/v1/images/generations`, {
        method: 'POST',
        headers: { 'x-api-key': KEYS.main },
        body: JSON.stringify({ model: 'image-model', prompt: 'a cat', stream: true, partial_images: 1 }),
      });
      const reading = (async () => {
        for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
          text += piece;
          if (text.includes('partial_image')) draft.resolve();
        }
      })();
      await Promise.all([asked.promise, draft.promise]);
      assert.ok(!text.includes('completed'), text);
      release.resolve();
      await reading;
      assert.ok(text.includes('image_generation.completed'));
      assert.equal((await usageOf(response.headers.get('x-request-id'))).cost_usd, '0.04');
    } finally {
      ledger.settle = settle;
      release.resolve();
    }
  });
});
