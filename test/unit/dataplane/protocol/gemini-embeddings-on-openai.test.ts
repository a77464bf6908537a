/** Google's embeddings on models of OpenAI's protocol. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  batchEmbedOnOpenai,
  embedContentOnOpenai,
} from '../../../../dataplane/protocol/gemini-embeddings-on-openai.ts';
import type { Converter } from '../../../../dataplane/protocol/converter.ts';
import { refusalOf } from './refusal.ts';

const PLAN = { upstreamModel: 'up', maxOutputTokens: undefined, outputLimitField: 'max_tokens' } as const;

function send(converter: Converter, request: Readonly<Record<string, unknown>>) {
  const { path, body, dropped } = converter.request(Buffer.from(JSON.stringify(request)), request, PLAN);
  const sent: unknown = JSON.parse(Buffer.from(body).toString());
  return { path, sent, dropped };
}
const text = (content: string): object => ({ parts: [{ text: content }] });

test('a content is a text', () => {
  const request = {
    content: { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
    model: 'models/x',
    embed_content_config: { output_dimensionality: 8, task_type: 'CLUSTERING', auto_truncate: true },
  };
  assert.deepEqual(send(embedContentOnOpenai, request), {
    path: '/embeddings',
    sent: { model: 'up', input: ['ab'], dimensions: 8, encoding_format: 'float' },
    dropped: ['embedContentConfig.taskType'],
  });
});

test('the requests of a batch are one call, of vectors of one length', () => {
  const requests = [
    { content: text('a'), outputDimensionality: 8 },
    { content: text('b'), outputDimensionality: 8 },
  ];
  assert.deepEqual(send(batchEmbedOnOpenai, { requests }).sent, {
    model: 'up',
    input: ['a', 'b'],
    dimensions: 8,
    encoding_format: 'float',
  });
});

test.each([
  [{ content: text('a'), title: 'x' }, 'title'],
  [{ content: text('a'), other: 1 }, 'other'],
  [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }] } }, 'content.parts[0]'],
  [{ content: text('a'), outputDimensionality: '8' }, 'outputDimensionality'],
  [{ content: text('a'), embedContentConfig: 'x' }, 'embedContentConfig'],
  [{ content: text('a'), embedContentConfig: { documentOcr: true } }, 'embedContentConfig.documentOcr'],
])('%j is refused by name, alone and in a batch', (request, param) => {
  assert.equal(refusalOf(() => send(embedContentOnOpenai, request)).param, param);
  assert.equal(refusalOf(() => send(batchEmbedOnOpenai, { requests: [request] })).param, `requests[0].${param}`);
});

test('vectors come back in their form, with the usage or its estimate', () => {
  const context = { id: '', createdSeconds: 0, nowSeconds: () => 0, estimatedInputTokens: 9 };
  const body = (usage: object): Buffer =>
    Buffer.from(JSON.stringify({ data: [{ embedding: [0.5] }, { embedding: [1] }], usage }));
  const read = (converter: Converter, usage: object): unknown =>
    JSON.parse(Buffer.from(converter.response(body(usage), context).body).toString());
  assert.deepEqual(read(batchEmbedOnOpenai, { prompt_tokens: 7 }), {
    embeddings: [{ values: [0.5] }, { values: [1] }],
    usageMetadata: { promptTokenCount: 7 },
  });
  assert.deepEqual(read(embedContentOnOpenai, {}), {
    embedding: { values: [0.5] },
    usageMetadata: { promptTokenCount: 9 },
  });
  assert.throws(() => embedContentOnOpenai.response(Buffer.from('{"embeddings":[]}'), context), SyntaxError);
});
