/** OpenAI's embeddings on Gemini's models, at the Gemini API and at Vertex. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { embeddingsOnGemini } from '../../../../dataplane/protocol/embeddings-on-gemini.ts';
import { refusalOf } from './refusal.ts';

const planOf = (upstreamModel: string, platform?: 'VertexPublisher') => ({
  upstreamModel,
  maxOutputTokens: undefined,
  outputLimitField: 'max_tokens' as const,
  ...(platform && { platform: { platform, model: upstreamModel, apiVersion: '', stream: false, betas: undefined } }),
});

function send(fields: object, plan = planOf('gemini-embedding-001')) {
  const request = { model: 'e', ...fields };
  const { path, body, notes } = embeddingsOnGemini.request(Buffer.from(JSON.stringify(request)), request, plan);
  const sent: unknown = JSON.parse(Buffer.from(body).toString());
  return { path, sent, notes };
}

test('each text is a request of a batch', () => {
  const { path, sent, notes } = send({ input: ['a', 'b'], dimensions: 256, encoding_format: 'float', user: 'u' });
  const each = { model: 'models/gemini-embedding-001', outputDimensionality: 256 };
  assert.equal(path, '/v1beta/models/gemini-embedding-001:batchEmbedContents');
  assert.deepEqual(sent, {
    requests: [
      { ...each, content: { parts: [{ text: 'a' }] } },
      { ...each, content: { parts: [{ text: 'b' }] } },
    ],
  });
  assert.equal(notes, undefined);
  assert.deepEqual(send({ input: 'a' }).sent, {
    requests: [{ model: 'models/gemini-embedding-001', content: { parts: [{ text: 'a' }] } }],
  });
});

test('Vertex takes texts as instances, and of newer models one content', () => {
  const older = send({ input: ['a', 'b'], dimensions: 8 }, planOf('gemini-embedding-001', 'VertexPublisher'));
  assert.match(older.path, /:predict$/);
  assert.deepEqual(older.sent, {
    instances: [{ content: 'a' }, { content: 'b' }],
    parameters: { outputDimensionality: 8 },
  });
  const newer = planOf('gemini-embedding-2', 'VertexPublisher');
  const { path, sent } = send({ input: 'a' }, newer);
  assert.match(path, /:embedContent$/);
  assert.deepEqual(sent, { content: { parts: [{ text: 'a' }] }, embedContentConfig: {} });
  assert.equal(refusalOf(() => send({ input: ['a', 'b'] }, newer)).param, 'input');
});

test.each([
  [{ input: [1, 2] }, 'input'],
  [{ input: [[1], [2]] }, 'input'],
  [{ input: 'a', encoding_format: 'int8' }, 'encoding_format'],
  [{ input: 'a', dimensions: '8' }, 'dimensions'],
  [{ input: 'a', instruction: 'x' }, 'instruction'],
])('%j is refused by name', (fields, param) => {
  assert.equal(refusalOf(() => send(fields)).param, param);
});

test.each([
  ['{"embeddings":[{"values":[0.5,-2]}],"usageMetadata":{"promptTokenCount":7}}', 7],
  ['{"embeddings":[{"values":[0.5,-2]}]}', undefined],
  ['{"embedding":{"values":[0.5,-2]},"usageMetadata":{"promptTokenCount":0}}', undefined],
  ['{"predictions":[{"embeddings":{"values":[0.5,-2],"statistics":{"token_count":4}}}]}', 4],
])('%s is read with its usage, or an estimate', (body, input) => {
  const context = { id: '', createdSeconds: 0, nowSeconds: () => 0, model: 'e', estimatedInputTokens: 9 };
  const { body: written, meter } = embeddingsOnGemini.response(Buffer.from(body), context);
  const tokens = input ?? 9;
  assert.deepEqual(JSON.parse(Buffer.from(written).toString()), {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.5, -2] }],
    model: 'e',
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
  assert.deepEqual([meter.reported.input, meter.final], [input, input !== undefined]);
});

test('a vector comes in base64 if it was asked for so', () => {
  const { notes } = send({ input: 'a', encoding_format: 'base64' });
  const context = { id: '', createdSeconds: 0, nowSeconds: () => 0, estimatedInputTokens: 0, ...(notes && { notes }) };
  const { body } = embeddingsOnGemini.response(Buffer.from('{"embedding":{"values":[0.5,-2]}}'), context);
  const { data }: { data: readonly { embedding: string }[] } = JSON.parse(Buffer.from(body).toString());
  const floats = Buffer.from(data[0]?.embedding ?? '', 'base64');
  assert.deepEqual([floats.length, floats.readFloatLE(0), floats.readFloatLE(4)], [8, 0.5, -2]);
});

test('what holds no embeddings is a fault', () => {
  for (const wrong of ['x', '{}', '{"embedding":[]}', '{"error":{"code":500}}', '{"candidates":[]}'])
    assert.throws(() => embeddingsOnGemini.response(Buffer.from(wrong)), SyntaxError, wrong);
});
