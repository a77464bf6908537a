/**
 * Google's methods besides conversations: embedContent, batchEmbedContents and predict pass through to channels of
 * Google's protocol, and are priced by input or by the image (docs/reference/http.md). Google's official client calls
 * the first.
 */
import assert from 'node:assert/strict';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { formatDecimal } from '#snapshot/decimal.ts';
import { get, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';
import { geminiError } from '../../support/gemini-answers.ts';
import { KEYS } from '../../support/manifests.ts';
import { json, openaiEmbeddings } from '../../support/provider-answers.ts';

const manifest = (url: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: google}
spec:
  models:
  - {name: embedder, endpoints: [Embeddings], contextTokens: 2000, inputs: [Text, Image], imageTokens: 300}
  - {name: blind-embedder, endpoints: [Embeddings], contextTokens: 2000}
  - {name: hearing, endpoints: [Embeddings], contextTokens: 8000, inputs: [Text, Image]}
  - {name: imagen, endpoints: [Images]}
  channels:
  - {name: only, protocol: Gemini, baseUrl: "${url}", models: [{name: embedder, upstreamName: gemini-embedding-2}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: google}
spec:
  models:
  - {name: embedder, vendor: Google, quotaType: Token, usdPerMillion: {input: "0.2", imageInput: "0.45"}}
  - {name: blind-embedder, vendor: Google, quotaType: Token, usdPerMillion: {input: "0.2"}}
  - {name: hearing, vendor: Google, quotaType: Token, usdPerMillion: {input: "0.2", audioInput: "6.5"}}
  - name: imagen
    vendor: Google
    quotaType: Request
    perImage:
    - {size: 1K, usd: "0.04"}
    - {size: 2K, usd: "0.06"}
`;

let stack: TestStack;
let client: GoogleGenAI;
beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'google.yaml': manifest(openaiUrl) }) });
  client = new GoogleGenAI({ apiKey: KEYS.main, httpOptions: { baseUrl: stack.gateway.url } });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const usageOf = async (id: string | null): Promise<Json> => (await get(stack, `/v1/usage/${id}`)).json();
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const text = (content: string): object => ({ parts: [{ text: content }] });
const picture = { inlineData: { mimeType: 'image/png', data: PNG } };

describe("embeddings in Google's protocol", () => {
  it("are those of Google's SDK, under the channel's name of the model", async () => {
    stack.openai.script(
      json({
        embeddings: [{ values: [0.1, 0.2] }, { values: [0.3, 0.4] }],
        usageMetadata: { promptTokenCount: 9, promptTokenDetails: [{ modality: 'TEXT', tokenCount: 9 }] },
      }),
    );
    const { embeddings } = await client.models.embedContent({
      model: 'embedder',
      contents: [text('hello'), text('you')],
      config: { outputDimensionality: 2, taskType: 'RETRIEVAL_QUERY' },
    });
    assert.deepEqual(
      embeddings?.map(({ values }) => values),
      [
        [0.1, 0.2],
        [0.3, 0.4],
      ],
    );
    const sent = await stack.openai.request(0);
    assert.equal(sent.path, '/v1beta/models/gemini-embedding-2:batchEmbedContents');
    const each = { model: 'models/gemini-embedding-2', outputDimensionality: 2, taskType: 'RETRIEVAL_QUERY' };
    assert.deepEqual(sent.json(), {
      requests: [
        { ...each, content: text('hello') },
        { ...each, content: text('you') },
      ],
    });
  });

  it('of one content pass through byte for byte, and are billed by the usage or an estimate', async () => {
    // $0.20 per million tokens, and $0.45 for those of images
    for (const [parts, usage, tokens, nanoUsd] of [
      [[{ text: 'x'.repeat(400) }], { promptTokenCount: 77 }, 77, 77 * 200],
      [[{ text: 'x'.repeat(400) }], undefined, 100, 100 * 200],
      [
        [{ text: 'x'.repeat(40) }, picture],
        { promptTokenCount: 268, promptTokenDetails: [{ modality: 'IMAGE', tokenCount: 258 }] },
        268,
        10 * 200 + 258 * 450,
      ],
      // the name of other methods
      [
        [{ text: 'x'.repeat(40) }, picture],
        { promptTokenCount: 268, promptTokensDetails: [{ modality: 'IMAGE', tokenCount: 258 }] },
        268,
        10 * 200 + 258 * 450,
      ],
      [[{ text: 'x'.repeat(40) }, picture], undefined, 310, 310 * 200],
      // no longer than the model's context
      [[{ text: 'x'.repeat(40_000) }], undefined, 2000, 2000 * 200],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(json({ embedding: { values: [0.5] }, ...(usage && { usageMetadata: usage }) }));
      const body = JSON.stringify({ content: { parts }, output_dimensionality: 256 });
      const response = await post(stack, '/v1beta/models/embedder:embedContent', body);
      assert.equal((await stack.openai.request(0)).body.toString(), body);
      assert.deepEqual(response.json().embedding, { values: [0.5] });
      const record = await usageOf(response.headers.get('x-request-id'));
      assert.deepEqual([record.input_tokens, record.output_tokens], [tokens, 0]);
      assert.equal(record.cost_usd, formatDecimal(BigInt(nanoUsd), 2));
      assert.equal(response.headers.get('x-modelgateway-usage'), usage ? null : 'estimated');
    }
  });

  it('of sound are billed at the price of sound', async () => {
    stack.openai.script(
      json({
        embedding: { values: [0.5] },
        usageMetadata: { promptTokenCount: 2500, promptTokenDetails: [{ modality: 'AUDIO', tokenCount: 2400 }] },
      }),
    );
    const content = { parts: [{ inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } }] };
    const response = await post(stack, '/v1beta/models/hearing:embedContent', { content });
    assert.equal((await usageOf(response.headers.get('x-request-id'))).cost_usd, '0.01562');
  });

  it('name the model within the body as the channel does, also below /v1', async () => {
    stack.openai.script(json({ embedding: { values: [0.5] } }));
    await post(stack, '/v1/models/embedder:embedContent', { model: 'models/other', content: text('a') });
    assert.deepEqual((await stack.openai.request(0)).json(), {
      model: 'models/gemini-embedding-2',
      content: text('a'),
    });
  });

  it("are methods of models at Google's providers, as its SDK lists them", async () => {
    const methods = async (name: string): Promise<unknown> =>
      (await get(stack, `/v1beta/models/${name}`)).json().supportedGenerationMethods;
    assert.deepEqual(await methods('embedder'), ['embedContent', 'batchEmbedContents']);
    assert.deepEqual(await methods('imagen'), ['predict']);
    assert.deepEqual(await methods('embed-model'), ['embedContent', 'batchEmbedContents']);
    assert.deepEqual(await methods('gpt-model'), ['generateContent', 'countTokens']);
    const { models } = (await get(stack, '/v1beta/models')).json();
    const names = models.map(({ name }: Json) => name);
    assert.ok(names.includes('models/embedder') && !names.includes('models/image-model'), String(names));
  });

  it("of models at OpenAI's providers are converted, and billed as OpenAI reports", async () => {
    stack.openai.script(
      openaiEmbeddings(
        [
          [0.5, -2],
          [0.25, 1],
        ],
        9,
      ),
      openaiEmbeddings([[0.5]], 0),
    );
    const { embeddings, usageMetadata } = await client.models.embedContent({
      model: 'embed-model',
      contents: ['a', 'b'],
      config: { outputDimensionality: 2, taskType: 'RETRIEVAL_QUERY' },
    });
    assert.deepEqual(
      [embeddings?.map(({ values }) => values), usageMetadata?.promptTokenCount],
      [
        [
          [0.5, -2],
          [0.25, 1],
        ],
        9,
      ],
    );
    assert.deepEqual((await stack.openai.request(0)).json(), {
      model: 'embed-model',
      input: ['a', 'b'],
      dimensions: 2,
      encoding_format: 'float',
    });
    const one = await post(stack, '/v1beta/models/embed-model:embedContent', {
      content: { parts: [{ text: 'x'.repeat(40) }] },
      task_type: 'CLUSTERING',
    });
    assert.deepEqual(one.json(), { embedding: { values: [0.5] }, usageMetadata: { promptTokenCount: 10 } });
    assert.equal(one.headers.get('x-modelgateway-dropped'), 'taskType');
    const record = await usageOf(one.headers.get('x-request-id'));
    assert.deepEqual([record.input_tokens, record.usage_source], [10, 'Estimated']);
    for (const [body, field] of [
      [
        { requests: [{ content: text('a') }, { content: text('b'), outputDimensionality: 5 }] },
        'requests[1].outputDimensionality',
      ],
      [{ requests: [{ content: { parts: [{ text: 'a' }, { executableCode: {} }] } }] }, 'requests[0].content.parts[1]'],
      [{ requests: [{ content: text('a'), outputDimensionality: '5' }] }, 'requests[0].outputDimensionality'],
    ] as const) {
      const { error } = (await post(stack, '/v1beta/models/embed-model:batchEmbedContents', body)).json();
      assert.equal(error.details[1].fieldViolations[0].field, field);
    }
  });

  it("are OpenAI's for its client, which takes them in base64", async () => {
    stack.openai.script(json({ embeddings: [{ values: [0.5, -2] }, { values: [0.25, 1] }] }));
    const openai = new OpenAI({ apiKey: KEYS.main, baseURL: `${stack.gateway.url}/v1`, maxRetries: 0 });
    const { data, usage } = await openai.embeddings.create({
      model: 'embedder',
      input: ['x'.repeat(400), 'y'.repeat(40)],
      dimensions: 2,
    });
    assert.deepEqual(
      data.map(({ embedding }) => embedding),
      [
        [0.5, -2],
        [0.25, 1],
      ],
    );
    assert.deepEqual(usage, { prompt_tokens: 110, total_tokens: 110 });
    assert.equal((await stack.openai.request(0)).path, '/v1beta/models/gemini-embedding-2:batchEmbedContents');
    const refused = await post(stack, '/v1/embeddings', { model: 'embedder', input: [1, 2, 3] });
    assert.deepEqual([refused.status, refused.json().error.param], [400, 'input']);
  });

  it('are held for each content with the rest of the body, and capped at that', async () => {
    const body = { requests: [{ content: text('a') }, { content: text('bc') }], note: 'y'.repeat(100) };
    const beside = JSON.stringify(body).length - JSON.stringify(body.requests).length;
    const each = body.requests.map((request) => JSON.stringify(request).length + beside + 144);
    stack.openai.script(json({ embeddings: [], usageMetadata: { promptTokenCount: 50_000 } }));
    const response = await post(stack, '/v1beta/models/embedder:batchEmbedContents', body);
    const record = await usageOf(response.headers.get('x-request-id'));
    assert.deepEqual(
      [record.input_tokens, record.usage_source],
      [each.reduce((sum, tokens) => sum + tokens), 'Implausible'],
    );
  });

  it("are refused in Google's format where the body is wrong or the model is not for them", async () => {
    for (const [path, body, reason, field] of [
      ['embedder:embedContent', {}, 'INVALID_VALUE', 'content'],
      ['embedder:embedContent', { content: 'x' }, 'INVALID_VALUE', 'content'],
      ['embedder:embedContent', { content: { parts: 'x' } }, 'INVALID_VALUE', 'content.parts'],
      ['embedder:batchEmbedContents', { requests: [] }, 'INVALID_VALUE', 'requests'],
      ['embedder:batchEmbedContents', { requests: [{}] }, 'INVALID_VALUE', 'requests[0].content'],
      [
        'blind-embedder:embedContent',
        { content: { parts: [picture] } },
        'UNSUPPORTED_IMAGE',
        'content.parts[0].inlineData',
      ],
      [
        'blind-embedder:batchEmbedContents',
        { requests: [{ content: { parts: [{ inline_data: { mime_type: 'image/png', data: PNG } }] } }] },
        'UNSUPPORTED_IMAGE',
        'requests[0].content.parts[0].inlineData',
      ],
      [
        'embedder:embedContent',
        { content: { parts: [{ fileData: { fileUri: 'gs://x' } }] } },
        'NOT_ALLOWED',
        'content.parts[0].fileData',
      ],
      [
        'embedder:embedContent',
        { content: { parts: [{ inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } }] } },
        'NOT_ALLOWED',
        'content.parts[0].inlineData',
      ],
      [
        'embedder:embedContent',
        { content: { parts: [{ inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }] } },
        'NOT_ALLOWED',
        'content.parts[0].inlineData',
      ],
      [
        'blind-embedder:embedContent',
        { content: { parts: [{ inlineData: { mimeType: 'application/pdf', data: 'AAAA' } }] } },
        'UNSUPPORTED_IMAGE',
        'content.parts[0].inlineData',
      ],
      [
        'embedder:embedContent',
        {
          content: {
            parts: [
              {
                fileData: {
                  fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc',
                  mimeType: 'image/png',
                },
              },
            ],
          },
        },
        'NOT_ALLOWED',
        'content.parts[0].fileData',
      ],
      ['gpt-model:embedContent', { content: text('x') }, 'WRONG_ENDPOINT', 'model'],
      ['embed-model:embedContent', { content: text('x'), title: 'y' }, 'UNSUPPORTED_PARAMETER', 'title'],
      ['nobody:embedContent', { content: text('x') }, 'MODEL_NOT_FOUND', 'model'],
    ] as const) {
      const { error } = (await post(stack, `/v1beta/models/${path}`, body)).json();
      const [info, violation] = error.details;
      assert.deepEqual(
        [info.reason, violation.fieldViolations[0].field],
        [reason, field],
        JSON.stringify([path, body]),
      );
    }
    assert.equal(stack.openai.requests.length, 0);
  });

  it('that fail, or are none, are an error and cost nothing', async () => {
    for (const reply of [
      geminiError(400, 'too long'),
      json({ predictions: [] }),
      json({ error: { code: 500, message: 'x' } }),
    ]) {
      stack.openai.clear();
      stack.openai.script(reply);
      const response = await post(stack, '/v1beta/models/embedder:embedContent', { content: text('a') });
      assert.notEqual(response.status, 200);
      const record = await usageOf(response.headers.get('x-request-id'));
      assert.equal(record.cost_usd, '0.00');
    }
  });

  it('of more than 8 MiB have their own usage', async () => {
    const values = Array.from({ length: 1_000_000 }, () => 0.123456789);
    stack.openai.script(json({ embeddings: [{ values }], usageMetadata: { promptTokenCount: 5 } }));
    const response = await post(stack, '/v1beta/models/embedder:batchEmbedContents', {
      requests: [{ content: text('hello') }],
    });
    assert.equal(response.status, 200);
    const record = await usageOf(response.headers.get('x-request-id'));
    assert.deepEqual([record.input_tokens, record.usage_source], [5, 'Provider']);
  });
});

describe("images in Google's protocol", () => {
  const IMAGES = '/v1beta/models/imagen:predict';
  const images = (count: number): object => ({
    predictions: Array.from({ length: count }, () => ({ mimeType: 'image/png', bytesBase64Encoded: PNG })),
  });
  it('pass through and cost what came, at the price of their size', async () => {
    for (const [parameters, response, cost] of [
      [{ sampleCount: 2, sampleImageSize: '1K', aspectRatio: '1:1' }, images(2), '0.08'],
      [{ sampleCount: 2, sampleImageSize: '2K' }, images(1), '0.06'],
      // of what nobody names the highest price counts, and four images are made where no number is said
      [{ sampleCount: 3 }, images(3), '0.18'],
      [{}, images(4), '0.24'],
      [{ sampleCount: 2, sampleImageSize: '1K' }, { predictions: [{ raiFilteredReason: 'no' }] }, '0.00'],
      [{ sampleCount: 2, sampleImageSize: '1K' }, {}, '0.00'],
      // more than was asked for
      [{ sampleCount: 1, sampleImageSize: '1K' }, images(2), '0.04'],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(json(response));
      const body = JSON.stringify({ instances: [{ prompt: 'a cat' }], parameters });
      const answer = await post(stack, IMAGES, body);
      assert.equal(answer.status, 200, answer.text);
      const sent = await stack.openai.request(0);
      assert.deepEqual([sent.path, sent.body.toString()], [IMAGES, body]);
      assert.deepEqual(answer.json(), response);
      assert.equal(answer.headers.get('x-modelgateway-cost-usd'), cost, JSON.stringify(parameters));
    }
  });
  it("are made by OpenAI's endpoint too, and cost what came", async () => {
    const made = { mimeType: 'image/jpeg', bytesBase64Encoded: PNG };
    const better = { ...made, prompt: 'a better cat' };
    for (const [asked, predictions, data, cost] of [
      [
        { n: 2, size: '1024x1024' },
        [better, made],
        [{ b64_json: PNG, revised_prompt: 'a better cat' }, { b64_json: PNG }],
        '0.08',
      ],
      [{ n: 2, size: '2048x2048' }, [made, { raiFilteredReason: 'no' }], [{ b64_json: PNG }], '0.06'],
      [{ n: 3, size: '1K' }, [{ raiFilteredReason: 'A person.' }], [], '0.00'],
      [{ size: '1536x1024' }, [made], [{ b64_json: PNG }], '0.04'],
      // Imagen's own size is 1K
      [{ size: 'auto' }, [made], [{ b64_json: PNG }], '0.04'],
      [{ n: 2 }, [made, made], [{ b64_json: PNG }, { b64_json: PNG }], '0.08'],
      // more than was asked for
      [{ size: '1K' }, [made, made], [{ b64_json: PNG }, { b64_json: PNG }], '0.04'],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(json({ predictions }));
      const answer = await post(stack, '/v1/images/generations', { model: 'imagen', prompt: 'a cat', ...asked });
      assert.equal(answer.status, 200, answer.text);
      const sent = await stack.openai.request(0);
      assert.equal(sent.path, IMAGES);
      assert.deepEqual(Object(sent.json()['parameters'])['sampleCount'], 'n' in asked ? asked.n : 1);
      const { data: got, output_format: format, refusal } = answer.json();
      assert.deepEqual(got, data);
      assert.deepEqual([format, refusal], data.length > 0 ? ['jpeg', undefined] : [undefined, 'A person.']);
      assert.equal(answer.headers.get('x-modelgateway-cost-usd'), cost, JSON.stringify(asked));
    }
    stack.openai.clear();
    const error = { code: 400, message: 'The prompt is no good.', status: 'INVALID_ARGUMENT' };
    stack.openai.script(json({ error }, { status: 400 }), json({ predictions: [made] }));
    const refused = await post(stack, '/v1/images/generations', { model: 'imagen', prompt: 'a cat', size: '1K' });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.json().error.message, /The prompt is no good/);
    // in the other thread
    const long = await post(stack, '/v1/images/generations', {
      model: 'imagen',
      prompt: 'cat '.repeat(80_000),
      size: '1K',
      quality: 'high',
    });
    assert.equal(long.status, 200, long.text);
    assert.equal(long.headers.get('x-modelgateway-dropped'), 'quality');
    assert.equal((await stack.openai.request(1)).path, IMAGES);
  });
  it('of more than 8 MiB are counted as they pass', async () => {
    const large = { mimeType: 'image/png', bytesBase64Encoded: PNG + 'A'.repeat(6 * 1024 * 1024) };
    stack.openai.script(json({ predictions: [large, large] }));
    const body = { instances: [{ prompt: 'a cat' }], parameters: { sampleCount: 3, sampleImageSize: '1K' } };
    const answer = await post(stack, IMAGES, body);
    assert.equal(answer.json().predictions.length, 2);
    assert.equal((await usageOf(answer.headers.get('x-request-id'))).cost_usd, '0.08');
  });
  it("are refused in Google's format where they could cost more than their hold", async () => {
    const instance = { prompt: 'a cat' };
    for (const [body, reason, field] of [
      [{}, 'INVALID_VALUE', 'instances'],
      [{ instances: [instance, instance] }, 'INVALID_VALUE', 'instances'],
      [{ instances: [{}] }, 'INVALID_VALUE', 'instances[0].prompt'],
      [{ instances: [instance], parameters: { sampleCount: 9 } }, 'INVALID_VALUE', 'parameters.sampleCount'],
      // Imagen would make four
      [{ instances: [instance], parameters: { sample_count: 1 } }, 'INVALID_VALUE', 'parameters.sample_count'],
      [{ instances: [instance], parameters: { sampleCount: '4' } }, 'INVALID_VALUE', 'parameters.sampleCount'],
      [{ instances: [instance], parameters: { candidateCount: 4 } }, 'NOT_ALLOWED', 'parameters.candidateCount'],
      [{ instances: [instance], parameters: { sampleImageSize: '4K' } }, 'NOT_ALLOWED', 'size'],
      [{ instances: [instance], parameters: { storageUri: 'gs://x' } }, 'NOT_ALLOWED', 'parameters.storageUri'],
      [{ instances: [{ ...instance, image: { bytesBase64Encoded: PNG } }] }, 'UNSUPPORTED_IMAGE', 'instances[0].image'],
      [{ instances: [{ ...instance, referenceImages: [{}] }] }, 'UNSUPPORTED_IMAGE', 'instances[0].referenceImages'],
    ] as const) {
      const { error } = (await post(stack, IMAGES, body)).json();
      const [info, violation] = error.details;
      assert.deepEqual([info.reason, violation.fieldViolations[0].field], [reason, field], JSON.stringify(body));
    }
    assert.equal(stack.openai.requests.length, 0);
    // refused by its own conversion
    for (const [more, field] of [
      [{ stream: true }, 'stream'],
      [{ n: 9 }, 'n'],
      [{ output_format: 'webp' }, 'output_format'],
      [{ image: `data:image/png;base64,${PNG}` }, 'image'],
    ] as const) {
      const { error } = (
        await post(stack, '/v1/images/generations', { model: 'imagen', prompt: 'a cat', size: '1K', ...more })
      ).json();
      assert.equal(error.param, field, JSON.stringify(error));
    }
    const edit = { model: 'imagen', prompt: 'a cat', size: '1K', image: `data:image/png;base64,${PNG}` };
    const imagen = await post(stack, '/v1/images/edits', edit);
    assert.equal(imagen.status, 404);
    assert.match(imagen.json().error.message, /POST \/v1beta\/models\/imagen:predict/);
    assert.equal(stack.openai.requests.length, 0);
    const other = await post(stack, '/v1beta/models/image-model:predict', { instances: [instance] });
    assert.match(other.json().error.message, /POST \/v1\/images\/generations/);
  });
});
