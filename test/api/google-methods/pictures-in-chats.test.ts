/** Chats with models of Gemini that make pictures, in OpenAI's and in Google's dialect, priced by tokens. */
import assert from 'node:assert/strict';
import { GoogleGenAI, Modality } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { get, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { CUT } from '../../support/mock-provider.ts';
import { json, openaiChat, sseReply } from '../../support/provider-answers.ts';

const MODEL = 'gemini-3-pro-image-preview';
const manifest = (url: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: painter}
spec:
  models:
  - {name: ${MODEL}, inputs: [Text, Image], contextTokens: 5000, imageTokens: 300, maxOutputTokens: 3000}
  channels: [{name: only, protocol: Gemini, baseUrl: "${url}"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: painter}
spec:
  models:
  - name: ${MODEL}
    vendor: Google
    quotaType: Token
    usdPerMillion: {input: "2", imageInput: "1", output: "12", imageOutput: "120"}
`;

let stack: TestStack;
let client: OpenAI;
let google: GoogleGenAI;
beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'painter.yaml': manifest(openaiUrl) }) });
  client = new OpenAI({ apiKey: KEYS.main, baseURL: `${stack.gateway.url}/v1`, maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: KEYS.main, httpOptions: { baseUrl: stack.gateway.url } });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const URL = `data:image/png;base64,${PNG}`;
const picture = { inlineData: { mimeType: 'image/png', data: PNG } };
const USAGE = {
  promptTokenCount: 400,
  candidatesTokenCount: 1150,
  thoughtsTokenCount: 50,
  promptTokensDetails: [{ modality: 'IMAGE', tokenCount: 258 }],
  candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1120 }],
};
/** $2, $1, $12 and $120 per million. */
const COST = 142n * 2000n + 258n * 1000n + 80n * 12_000n + 1120n * 120_000n;
const chunk = (parts: readonly object[], finishReason?: string, usage: object = USAGE): object => ({
  candidates: [{ content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
  usageMetadata: usage,
});

async function costOf<T>(call: () => Promise<T>): Promise<{ result: T; cost: bigint }> {
  const { spent } = await spending(stack);
  const result = await call();
  return { result, cost: (await spending(stack)).spent - spent };
}

/** With OpenRouter's own fields. */
const CHAT = {
  model: MODEL,
  messages: [
    {
      role: 'user' as const,
      content: [
        { type: 'text' as const, text: 'Put a hat on it.' },
        { type: 'image_url' as const, image_url: { url: URL } },
      ],
    },
  ],
  modalities: ['image', 'text'] as never,
  image_config: { aspect_ratio: '16:9', image_size: '2K' },
};

describe('a chat completion with a model that makes pictures', () => {
  it('asks for pictures of a shape and a resolution, and gets them at the price of their tokens', async () => {
    stack.openai.script(json(chunk([{ text: 'Here:' }, { ...picture, thought: true }, picture], 'STOP')));
    const { result, cost } = await costOf(() => client.chat.completions.create(CHAT));
    const message: Json = result.choices[0]?.message;
    assert.deepEqual([message.content, message.images], ['Here:', [{ type: 'image_url', image_url: { url: URL } }]]);
    assert.equal(cost, COST);
    assert.deepEqual((await stack.openai.request(0)).json(), {
      contents: [{ role: 'user', parts: [{ text: 'Put a hat on it.' }, picture] }],
      generationConfig: {
        responseModalities: ['IMAGE', 'TEXT'],
        imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
        maxOutputTokens: 3000,
      },
    });
  });
  it('streams them, of any size', async () => {
    stack.openai.script(
      sseReply({ data: chunk([{ text: 'Here:' }], undefined, {}) }, { data: chunk([picture], 'STOP') }),
    );
    const { result, cost } = await costOf(async () => {
      const all: Json[] = [];
      for await (const event of await client.chat.completions.create({ ...CHAT, stream: true })) all.push(event);
      return all;
    });
    stack.openai.clear();
    const large = `${PNG}${'A'.repeat(20 * 1024 * 1024)}`;
    stack.openai.script(
      sseReply({ data: chunk([{ inlineData: { mimeType: 'image/png', data: large } }], 'STOP') }),
      sseReply({ data: chunk([{ inlineData: { mimeType: 'image/png', data: large } }], 'STOP') }),
    );
    assert.ok((await post(stack, '/v1/chat/completions', { ...CHAT, stream: true })).text.includes(large));
    const ofGoogle = await post(stack, `/v1beta/models/${MODEL}:streamGenerateContent`, {
      contents: [{ parts: [{ text: 'Draw.' }] }],
    });
    assert.ok(ofGoogle.text.includes(large));
    const images = result.flatMap(({ choices }) => choices[0]?.delta.images ?? []);
    assert.equal(images[0]?.image_url.url, URL);
    assert.equal(cost, COST);
  });
  it('is billed for a picture whose tokens the provider does not report', async () => {
    stack.openai.script(json({ candidates: [{ content: { parts: [picture] }, finishReason: 'STOP' }] }));
    const response = await post(stack, '/v1/chat/completions', CHAT);
    const record = (await get(stack, `/v1/usage/${response.headers.get('x-request-id')}`)).json();
    assert.deepEqual([record.output_tokens, record.usage_source], [1290, 'Estimated']);
  });
});

describe("a request in Google's protocol for a picture", () => {
  it('passes through, and is billed by its tokens', async () => {
    stack.openai.script(json(chunk([picture], 'STOP')));
    const { result, cost } = await costOf(() =>
      google.models.generateContent({
        model: MODEL,
        contents: [{ role: 'user', parts: [{ text: 'Put a hat on it.' }, picture] }],
        config: { responseModalities: [Modality.IMAGE], imageConfig: { aspectRatio: '1:1', imageSize: '1K' } },
      }),
    );
    assert.equal(result.candidates?.[0]?.content?.parts?.[0]?.inlineData?.data, PNG);
    assert.equal(cost, COST);
    assert.deepEqual((await stack.openai.request(0)).json()['generationConfig'], {
      responseModalities: ['IMAGE'],
      imageConfig: { aspectRatio: '1:1', imageSize: '1K' },
      maxOutputTokens: 3000,
    });
  });
  it('is billed by its tokens also if it is too large to hold', async () => {
    const data = `${PNG}${'A'.repeat(9 * 1024 * 1024)}`;
    const parts = [{ inlineData: { mimeType: 'image/png', data } }];
    for (const [usage, output, source] of [
      [USAGE, 1200, 'Provider'],
      // about a picture, however large it is
      [{ promptTokenCount: 400 }, 1332, 'Estimated'],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(json(chunk(parts, 'STOP', usage)));
      const response = await post(stack, `/v1beta/models/${MODEL}:generateContent`, {
        contents: [{ parts: [{ text: 'x'.repeat(400) }] }],
      });
      assert.equal(response.json().candidates[0].content.parts[0].inlineData.data, data);
      const record = (await get(stack, `/v1/usage/${response.headers.get('x-request-id')}`)).json();
      assert.deepEqual([record.input_tokens, record.output_tokens, record.usage_source], [400, output, source]);
    }
  });
  it('is billed for the size of about a picture if it breaks off within one', async () => {
    const body = JSON.stringify(chunk([{ inlineData: { mimeType: 'image/png', data: 'A'.repeat(4e5) } }]));
    stack.openai.script({ steps: [body.slice(0, 3e5), CUT] });
    const response = await post(stack, `/v1beta/models/${MODEL}:generateContent`, {
      contents: [{ parts: [{ text: 'x' }] }],
    });
    assert.equal(response.status, 502);
    const record = (await get(stack, `/v1/usage/${response.headers.get('x-request-id')}`)).json();
    assert.ok(record.output_tokens > 1290 && record.output_tokens < 1340, record.output_tokens);
  });
  it("is converted to OpenRouter's fields for providers of chat completions", async () => {
    stack.openai.script(openaiChat());
    await google.models.generateContent({
      model: 'gpt-model',
      contents: 'Draw.',
      config: { responseModalities: [Modality.IMAGE, Modality.TEXT], imageConfig: { aspectRatio: '1:1' } },
    });
    const sent = (await stack.openai.request(0)).json();
    assert.deepEqual([sent['modalities'], sent['image_config']], [['image', 'text'], { aspect_ratio: '1:1' }]);
  });
});
