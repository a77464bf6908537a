/** Embeddings and images over HTTP: both pass through, images are paid by their number (docs/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { openaiEmbeddings, openaiImages, sseReply } from '../../support/provider-answers.ts';
import { get, post, startWorld, tidyUp } from '../../support/api/world.ts';
import type { Json, World } from '../../support/api/world.ts';

let world: World;
beforeAll(async () => { world = await startWorld(); });
afterAll(() => world.stop());
afterEach(() => tidyUp(world));

const usageOf = async (id: string | null): Promise<Json> => (await get(world, `/v1/usage/${id}`)).json();

describe('embeddings and images', () => {
  it('embeddings pass byte for byte, both ways', async () => {
    const reply = openaiEmbeddings([[0.1, 1e-7]], 4);
    world.openai.script(reply);
    const body = '{"input": ["caf\\u00e9", "b"], "model":"embed-model","encoding_format":"float", "odd": 1.0}';
    const answer = await post(world, '/v1/embeddings', body);
    assert.equal((await world.openai.request(0)).path, '/v1/embeddings');
    assert.equal((await world.openai.request(0)).body.toString(), body);
    const [sent] = reply.steps;
    assert.ok(typeof sent === 'object' && 'bytes' in sent);
    assert.equal(answer.text, sent.bytes);
  });
  it('a model of another endpoint is told apart from an unknown one, a wrong field is named', async () => {
    assert.equal(
      (await post(world, '/v1/embeddings', { model: 'gpt-model', input: 'x' })).json().error.code, 'wrong_endpoint',
    );
    assert.equal(
      (await post(world, '/v1/images/generations', { model: 'embed-model', prompt: 'x' })).json().error.code,
      'wrong_endpoint',
    );
    for (const [path, body, param] of [
      ['/v1/embeddings', { model: 'embed-model' }, 'input'], ['/v1/embeddings', { input: 'x' }, 'model'],
      [
        '/v1/images/generations', { model: 'image-model' }, 'prompt',
      ], ['/v1/images/generations', { model: 'image-model', prompt: 'x', n: 0 }, 'n'],
    ] as const) {
      const answer = await post(world, path, body);
      assert.deepEqual(
        [answer.status, answer.json().error.type, answer.json().error.param], [400, 'invalid_request_error', param],
      );
    }
  });
  it('images with a price per token only are not priced, and the message says what is missing', async () => {
    await world.gateway.write('painter.yaml', `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: painter}
spec: {models: [{name: painter, endpoints: [Images]}],
  channels: [{name: c, protocol: OpenAI, baseUrl: ${world.openai.url}/v1}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: painter}
spec: {models: [{name: painter, vendor: V, quotaType: Token, modelRatio: "1"}]}
`);
    const answer = await post(world, '/v1/images/generations', { model: 'painter', prompt: 'x' });
    assert.deepEqual([answer.status, answer.json().error.code], [503, 'model_not_priced']);
    assert.match(answer.json().error.message, /quotaType Request/);
    await world.gateway.write('painter.yaml', '# nothing\n');
  });
  it('images cost their number, whatever the provider says of tokens, and pass byte for byte', async () => {
    const body = '{"prompt":"a \\u00e9", "model":"image-model","n":2, "size":"1024x1024"}';
    world.openai.script(openaiImages(2));
    const answer = await post(world, '/v1/images/generations', body);
    assert.equal((await world.openai.request(0)).body.toString(), body);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.08');
    assert.equal(answer.json().data.length, 2);
    assert.equal((await usageOf(answer.headers.get('x-request-id'))).usage_source, 'Provider');
  });
  it('images stream: drafts as they come, the last one once it is paid', async () => {
    const { ledger } = world.gateway;
    const settle = ledger.settle.bind(ledger);
    const [asked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    ledger.settle = async (settlement) => { asked.resolve(); await release.promise; return settle(settlement); };
    const event = (type: string): { event: string; data: object } =>
      ({ event: `image_generation.${type}`, data: { type: `image_generation.${type}`, b64_json: 'iVBORw0KGgo=' } });
    world.openai.script(sseReply(event('partial_image'), event('completed')));
    const draft = Promise.withResolvers<void>();
    let text = '';
    try {
      const response = await fetch(`${world.gateway.url}/v1/images/generations`, {
        method: 'POST', headers: { 'x-api-key': KEYS.main },
        body: JSON.stringify({ model: 'image-model', prompt: 'a cat', stream: true, partial_images: 1 }),
      });
      const reading = (async () => { for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (text.includes('partial_image')) draft.resolve();
      } })();
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
