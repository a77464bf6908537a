/**
 * OpenAI's image endpoints on models of Gemini, called by OpenAI's official client: priced by the image or by tokens
 * (docs/reference/http.md).
 */
import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { get, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';
import { geminiError } from '../../support/gemini-answers.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT } from '../../support/mock-provider.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { gated, json, openaiImages, sseReply } from '../../support/provider-answers.ts';

const PRO = 'gemini-3-pro-image-preview';
const manifest = (url: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: gemini-images}
spec:
  models:
  - {name: drawn, endpoints: [Images], inputs: [Text, Image]}
  - {name: counted, endpoints: [Images, Chat], inputs: [Text, Image], contextTokens: 5000, imageTokens: 300,
     maxOutputTokens: 3000}
  - {name: blind, endpoints: [Images], contextTokens: 5000, maxOutputTokens: 3000}
  - {name: boundless, endpoints: [Images], contextTokens: 5000}
  channels:
  - name: only
    protocol: Gemini
    baseUrl: "${url}"
    models: [{name: drawn, upstreamName: ${PRO}}, {name: counted, upstreamName: ${PRO}}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: both}
spec:
  models: [{name: both, endpoints: [Images]}]
  channels:
  - {name: first, priority: 1, protocol: Gemini, baseUrl: "${url}"}
  - {name: second, priority: 2, protocol: OpenAI, baseUrl: "${url}/v1"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: gemini-images}
spec:
  models:
  - name: drawn
    vendor: Google
    quotaType: Request
    perImage:
    - {size: 1024x1024, usd: "0.134"}
    - {size: 4K, usd: "0.24"}
  - {name: counted, vendor: Google, quotaType: Token, usdPerMillion: {input: "2", imageInput: "1", output: "12", imageOutput: "120"}}
  - {name: blind, vendor: Google, quotaType: Token, usdPerMillion: {input: "2", output: "12"}}
  - {name: boundless, vendor: Google, quotaType: Token, usdPerMillion: {input: "2", output: "12"}}
  - {name: both, vendor: Google, quotaType: Request, requestUsd: "0.04"}
`;

let stack: TestStack;
let client: OpenAI;
beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'gemini-images.yaml': manifest(openaiUrl) }) });
  client = new OpenAI({ apiKey: KEYS.main, baseURL: `${stack.gateway.url}/v1`, maxRetries: 0 });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const picture = { inlineData: { mimeType: 'image/png', data: PNG } };
/** 1,120 of 1,150 tokens of the output are the picture's, and 560 of 600 of the input those of another. */
const USAGE = {
  promptTokenCount: 600,
  candidatesTokenCount: 1150,
  totalTokenCount: 1750,
  promptTokensDetails: [
    { modality: 'TEXT', tokenCount: 40 },
    { modality: 'IMAGE', tokenCount: 560 },
  ],
  candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1120 }],
};
const chunk = (parts: readonly object[], finishReason?: string, usage: object = USAGE): object => ({
  candidates: [{ content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
  usageMetadata: usage,
});
const answer = (parts: readonly object[], finishReason = 'STOP', usage: object = USAGE): Reply =>
  json(chunk(parts, finishReason, usage));

/** The cost of what these calls do, in nano-USD. */
async function costOf<T>(call: () => Promise<T>): Promise<{ result: T; cost: bigint }> {
  const { spent } = await spending(stack);
  const result = await call();
  return { result, cost: (await spending(stack)).spent - spent };
}
const usageOf = async (id: string | null): Promise<Json> => (await get(stack, `/v1/usage/${id}`)).json();

describe("OpenAI's client", () => {
  it('gets a picture at the price of an image of its size', async () => {
    stack.openai.script(answer([{ text: 'Here:' }, picture]));
    const { result, cost } = await costOf(() =>
      client.images.generate({ model: 'drawn', prompt: 'a cat', size: '1024x1024' }),
    );
    assert.deepEqual(result.data, [{ b64_json: PNG }]);
    assert.deepEqual([result.output_format, result.usage?.total_tokens], ['png', 1750]);
    assert.deepEqual(result.usage?.output_tokens_details, { image_tokens: 1120, text_tokens: 30 });
    assert.equal(cost, 134_000_000n);
    const sent = await stack.openai.request(0);
    assert.equal(sent.path, `/v1beta/models/${PRO}:generateContent`);
    assert.deepEqual(sent.json(), {
      contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '1:1', imageSize: '1K' } },
    });
  });

  it('gets a picture at the price of its tokens, within the output limit', async () => {
    const usage = { ...USAGE, promptTokenCount: 9, promptTokensDetails: [] };
    stack.openai.script(answer([picture], 'STOP', usage));
    const { result, cost } = await costOf(() => client.images.generate({ model: 'counted', prompt: 'a cat' }));
    assert.equal(result.data?.length, 1);
    assert.equal(cost, 9n * 2000n + 1120n * 120_000n + 30n * 12_000n);
    assert.deepEqual((await stack.openai.request(0)).json()['generationConfig'], {
      responseModalities: ['IMAGE'],
      maxOutputTokens: 3000,
    });
  });

  it('has pictures edited, from a form with several files', async () => {
    stack.openai.script(answer([picture]));
    const image = (name: string): Promise<File> => toFile(Buffer.from(PNG, 'base64'), name, { type: 'image/png' });
    const { result, cost } = await costOf(async () =>
      client.images.edit({
        model: 'counted',
        prompt: 'both cats',
        image: [await image('a.png'), await image('b.png')],
        size: '1536x1024',
      }),
    );
    assert.equal(result.data?.[0]?.b64_json, PNG);
    assert.equal(cost, 40n * 2000n + 560n * 1000n + 1120n * 120_000n + 30n * 12_000n);
    const sent = await stack.openai.request(0);
    assert.equal(sent.headers['content-type'], 'application/json');
    assert.deepEqual(sent.json()['contents'], [{ role: 'user', parts: [{ text: 'both cats' }, picture, picture] }]);
  });

  it('has large pictures edited, which another thread reads', async () => {
    stack.openai.script(answer([picture], 'STOP', {}), answer([picture], 'STOP', {}));
    const data = Buffer.alloc(400 * 1024, 7);
    const file = await toFile(data, 'a.png', { type: 'image/png' });
    await client.images.edit({ model: 'counted', prompt: 'a hat', image: file });
    const url = `data:image/png;base64,${data.toString('base64')}`;
    await post(stack, '/v1/images/edits', { model: 'counted', prompt: 'a hat', images: [{ image_url: url }] });
    const large = { inlineData: { mimeType: 'image/png', data: data.toString('base64') } };
    for (const index of [0, 1]) {
      const sent = await stack.openai.request(index);
      assert.deepEqual(sent.json()['contents'], [{ role: 'user', parts: [{ text: 'a hat' }, large] }]);
      assert.deepEqual(sent.json()['generationConfig'], { responseModalities: ['IMAGE'], maxOutputTokens: 3000 });
    }
  });

  it('streams a picture, which is sent once it is settled', async () => {
    stack.openai.script(sseReply({ data: chunk([picture], undefined, {}) }, { data: chunk([{ text: '' }], 'STOP') }));
    const { result: events, cost } = await costOf(async () => {
      const stream = await client.images.generate({
        model: 'drawn',
        prompt: 'a cat',
        size: '4K',
        stream: true,
      });
      const all: OpenAI.Images.ImageGenStreamEvent[] = [];
      for await (const event of stream) all.push(event);
      return all;
    });
    const [event, ...others] = events;
    assert.deepEqual([event?.type, others.length], ['image_generation.completed', 0]);
    assert.ok(event?.type === 'image_generation.completed');
    assert.deepEqual([event.b64_json, event.usage.output_tokens], [PNG, 1150]);
    assert.equal(cost, 240_000_000n);
    const sent = await stack.openai.request(0);
    assert.equal(sent.path, `/v1beta/models/${PRO}:streamGenerateContent?alt=sse`);
    assert.deepEqual(sent.json()['generationConfig'], {
      responseModalities: ['IMAGE'],
      imageConfig: { imageSize: '4K' },
    });
  });
});

describe('images of Gemini', () => {
  it('cost what came: nothing where there is none, and one where one was asked for', async () => {
    for (const [parts, reason, count, cost, source] of [
      [[], 'IMAGE_SAFETY', 0, '0.00', 'Provider'],
      [[], 'NO_IMAGE', 0, '0.00', 'Provider'],
      [[{ text: 'I would rather not.' }], 'STOP', 0, '0.00', 'Provider'],
      [[picture, picture], 'STOP', 2, '0.134', 'Implausible'],
      [[{ ...picture, thought: true }, picture], 'STOP', 1, '0.134', 'Provider'],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(answer(parts, reason));
      const response = await post(stack, '/v1/images/generations', {
        model: 'drawn',
        prompt: 'a cat',
        size: '1024x1024',
      });
      assert.deepEqual([response.status, response.json().data.length], [200, count], response.text);
      assert.equal(response.headers.get('x-modelgateway-cost-usd'), cost);
      assert.equal((await usageOf(response.headers.get('x-request-id'))).usage_source, source);
    }
  });

  it('are held for the whole context if they begin with pictures, and capped at what is held', async () => {
    const usage = { promptTokenCount: 1e6, candidatesTokenCount: 1e6 };
    for (const [path, more, input] of [
      ['generations', {}, 'a cat'.length + 144],
      ['edits', { images: [{ image_url: `data:image/png;base64,${PNG}` }] }, 5000],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(answer([picture], 'STOP', usage));
      const response = await post(stack, `/v1/images/${path}`, { model: 'counted', prompt: 'a cat', ...more });
      const record = await usageOf(response.headers.get('x-request-id'));
      assert.deepEqual([record.input_tokens, record.output_tokens, record.usage_source], [input, 3000, 'Implausible']);
    }
  });

  it('hold their prompt and the output limit, or the whole context with pictures', async () => {
    const url = `data:image/png;base64,${PNG}`;
    for (const [path, body, held] of [
      // 5 bytes and a template of input at the price of cache writes, and 3000 tokens of pictures
      ['generations', { model: 'counted' }, 149n * 2500n + 3000n * 120_000n],
      ['edits', { model: 'counted', image: url }, 5000n * 2500n + 3000n * 120_000n],
      ['generations', { model: 'drawn', size: '1024x1024' }, 134_000_000n],
      ['generations', { model: 'drawn', size: '4096x4096' }, 240_000_000n],
      // of a size that nobody names, the most expensive
      ['generations', { model: 'drawn' }, 240_000_000n],
    ] as const) {
      const { reply, gate } = gated(answer([picture]));
      stack.openai.clear();
      stack.openai.script(reply);
      const call = post(stack, `/v1/images/${path}`, { prompt: 'a cat', ...body });
      await Promise.race([gate.reached, call]);
      assert.equal((await spending(stack)).held, held, JSON.stringify(body).slice(0, 60));
      gate.open();
      assert.equal((await call).status, 200);
    }
  });

  it('are estimated where the provider reports nothing, and where it breaks off after a picture', async () => {
    stack.openai.script(json({ candidates: [{ content: { parts: [picture] }, finishReason: 'STOP' }] }));
    const response = await post(stack, '/v1/images/generations', { model: 'counted', prompt: 'x'.repeat(40) });
    const record = await usageOf(response.headers.get('x-request-id'));
    assert.deepEqual([record.input_tokens, record.output_tokens, record.usage_source], [10, 1290, 'Estimated']);
  });

  it('cost nothing if the stream breaks off, because the picture waits for its end', async () => {
    const error = { error: { code: 500, message: 'broken', status: 'INTERNAL' } };
    for (const end of [CUT, { data: error }])
      for (const model of ['drawn', 'counted']) {
        stack.openai.clear();
        stack.openai.script(sseReply({ data: chunk([picture], undefined, {}) }, end));
        const body = { model, prompt: 'x', size: '1024x1024', stream: true };
        const response = await post(stack, '/v1/images/generations', body);
        assert.equal(response.status, 502);
        const record = await usageOf(response.headers.get('x-request-id'));
        assert.deepEqual([record.status, record.cost_usd], ['Failed', '0.00'], JSON.stringify(end));
      }
  });

  it('cost no picture if a whole response breaks off, at a price of tokens too', async () => {
    for (const [model, cost] of [
      ['drawn', '0.00'],
      // a token of input
      ['counted', '0.000002'],
    ] as const) {
      const body = JSON.stringify(chunk([picture, { text: 'x'.repeat(5000) }]));
      stack.openai.clear();
      stack.openai.script({ steps: [body.slice(0, 3000), CUT] });
      const response = await post(stack, '/v1/images/generations', { model, prompt: 'x', size: '1024x1024' });
      assert.equal(response.status, 502);
      const record = await usageOf(response.headers.get('x-request-id'));
      assert.deepEqual([record.cost_usd, record.output_tokens], [cost, 0], model);
    }
  });

  it('are refused by name where Gemini has no such thing, before anything is sent', async () => {
    const url = `data:image/png;base64,${PNG}`;
    for (const [path, body, code, param] of [
      ['generations', { model: 'drawn', n: 2, size: '1024x1024' }, 'unsupported_parameter', 'n'],
      ['generations', { model: 'drawn', response_format: 'url' }, 'unsupported_parameter', 'response_format'],
      ['generations', { model: 'drawn', background: 'transparent' }, 'unsupported_parameter', 'background'],
      ['generations', { model: 'drawn', size: '512x512' }, 'not_allowed', 'size'],
      ['generations', { model: 'counted', size: 'huge' }, 'invalid_value', 'size'],
      ['generations', { model: 'counted', candidate_count: 4 }, 'not_allowed', 'candidate_count'],
      ['generations', { model: 'blind', image: url }, 'unsupported_image', 'image'],
      ['edits', { model: 'counted', image: url, mask: url }, 'unsupported_parameter', 'mask'],
      ['edits', { model: 'counted', images: [{ file_id: 'file-1' }] }, 'not_allowed', 'images.0.file_id'],
      [
        'edits',
        { model: 'counted', image: 'https://generativelanguage.googleapis.com/v1beta/files/abc' },
        'unsupported_parameter',
        'image',
      ],
      ['edits', { model: 'blind', image: url }, 'unsupported_image', 'image'],
      ['variations', { model: 'counted', image: url }, 'not_found', 'model'],
      ['generations', { model: 'boundless' }, 'model_not_priced', 'model'],
    ] as const) {
      const { error } = (await post(stack, `/v1/images/${path}`, { prompt: 'a cat', ...body })).json();
      assert.deepEqual([error.code, error.param], [code, param], JSON.stringify([path, body]));
    }
    assert.equal(stack.openai.requests.length, 0);
  });

  it('of models with sizes of 1K alone are refused in others', async () => {
    const { error } = (
      await post(stack, '/v1/images/generations', { model: 'both', prompt: 'x', size: '2048x2048' })
    ).json();
    assert.deepEqual([error.code, error.param], ['unsupported_parameter', 'size']);
  });

  it("are tried at a channel of OpenAI's protocol after Google's has failed", async () => {
    stack.openai.script(geminiError(503, 'overloaded', 'UNAVAILABLE'), openaiImages(1));
    const response = await post(stack, '/v1/images/generations', { model: 'both', prompt: 'a cat' });
    assert.equal(response.headers.get('x-modelgateway-cost-usd'), '0.04');
    assert.deepEqual(
      stack.openai.requests.map(({ path }) => path),
      ['/v1beta/models/both:generateContent', '/v1/images/generations'],
    );
  });

  it('come in one piece of any size', async () => {
    const large = `${PNG}${'A'.repeat(20 * 1024 * 1024)}`;
    const big = { inlineData: { mimeType: 'image/png', data: large } };
    stack.openai.script(answer([big]));
    const whole = await post(stack, '/v1/images/generations', { model: 'drawn', prompt: 'x', size: '1024x1024' });
    assert.equal(whole.json().data[0].b64_json, large);
    stack.openai.clear();
    stack.openai.script(sseReply({ data: chunk([big], 'STOP') }));
    const streamed = await post(stack, '/v1/images/generations', {
      model: 'drawn',
      prompt: 'x',
      size: '1024x1024',
      stream: true,
    });
    assert.ok(streamed.text.includes(large));
    assert.equal((await usageOf(streamed.headers.get('x-request-id'))).cost_usd, '0.134');
  });

  it('are in the lists of models, by tokens where an output limit bounds them', async () => {
    const { data } = (await get(stack, '/v1/models')).json();
    const names = data.map(({ id }: Json) => id);
    for (const name of ['drawn', 'counted', 'blind', 'both']) assert.ok(names.includes(name), name);
    assert.ok(!names.includes('boundless'));
    const google: Json[] = (await get(stack, '/v1beta/models')).json().models;
    const methods = new Map(google.map((each) => [each['name'], each['supportedGenerationMethods']]));
    // predict is Imagen's alone
    assert.equal(methods.get('models/drawn'), undefined);
    assert.deepEqual(methods.get('models/counted'), ['generateContent', 'countTokens']);
  });
});
