/** Google's embedContent, batchEmbedContents and predict: what they are held for, and what is sent. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  boundEmbedInput,
  estimateEmbedInput,
  readBatchEmbedFacts,
  readEmbedFacts,
} from '../../../../dataplane/protocol/gemini/embed-facts.ts';
import { canonicalNames } from '../../../../dataplane/protocol/gemini/names.ts';
import { readPredictFacts } from '../../../../dataplane/protocol/gemini/predict-facts.ts';
import { batchEmbedContents, embedContent } from '../../../../dataplane/protocol/providers/gemini/embed-passthrough.ts';
import { predict } from '../../../../dataplane/protocol/providers/gemini/predict-passthrough.ts';
import { refusalOf } from './refusal.ts';

const LIMITS = { contextTokens: 1000, imageTokens: 30 };
const TEMPLATE = 144;
const PNG = 'iVBORw0KGgo=';
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const PLAN = { upstreamModel: 'up', maxOutputTokens: undefined, outputLimitField: 'max_tokens' } as const;
const VERTEX = {
  ...PLAN,
  platform: { platform: 'VertexPublisher', model: 'up', apiVersion: '', stream: false, betas: undefined },
} as const;

test('a content is held for its bytes, its images and a template, and a file for the context', () => {
  const counted = (request: object): readonly [number, number] => {
    const facts = readEmbedFacts(bytesOf(request), canonicalNames({ ...request }));
    return [boundEmbedInput(facts, LIMITS), estimateEmbedInput(facts, LIMITS)];
  };
  const text = { content: { parts: [{ text: 'grün' }, { text: 'four' }] }, title: 'x'.repeat(8) };
  assert.deepEqual(counted(text), [bytesOf(text).length + TEMPLATE, 5]);
  const picture = { content: { parts: [{ inline_data: { mime_type: 'image/png', data: PNG } }] } };
  assert.deepEqual(counted(picture), [bytesOf(picture).length - PNG.length + TEMPLATE + 30, 30]);
  for (const part of [
    { inlineData: { mimeType: 'video/mp4', data: 'AAAA' } },
    { fileData: { fileUri: 'gs://a/b', mimeType: 'video/mp4' } },
    { unknown: 1 },
  ])
    assert.deepEqual(counted({ content: { parts: [part] } }), [1000, 30], JSON.stringify(part));
  const pdf = { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } };
  assert.deepEqual(counted({ content: { parts: [pdf] } }), [1000, 60]);
  assert.deepEqual(counted({ content: { parts: [{ text: 'x'.repeat(9000) }] } }), [1000, 1000]);
});

test('a PDF is for models that take images, and files without a price need an allowance', () => {
  for (const [part, image, unbounded] of [
    [{ inlineData: { mimeType: 'application/pdf', data: 'AAAA' } }, 'content.parts[0].inlineData', []],
    [{ inlineData: { mimeType: 'text/plain', data: 'AAAA' } }, undefined, []],
    [{ inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } }, undefined, ['Audio']],
    [{ inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }, undefined, ['FileReferences']],
    [{ inlineData: { data: 'AAAA' } }, undefined, ['FileReferences']],
    [
      { functionResponse: { parts: [{ inline_data: { mime_type: 'video/mp4', data: 'AAAA' } }] } },
      undefined,
      ['FileReferences'],
    ],
    [
      { fileData: { fileUri: 'gs://a/b', mimeType: 'application/pdf' } },
      'content.parts[0].fileData',
      ['FileReferences'],
    ],
    [{ fileData: { fileUri: 'https://example.com/a.png', mimeType: 'image/png' } }, 'content.parts[0].fileData', []],
    ...[
      'https://generativelanguage.googleapis.com/v1beta/files/abc',
      'HTTPS://GenerativeLanguage.googleapis.com.:443/v1beta/%66iles/abc',
      'https://generativelanguage.mtls.googleapis.com/download/v1beta/files/abc:download',
      'https://user@generativelanguage.googleapis.com/v1/files/abc',
    ].map(
      (fileUri) =>
        [{ fileData: { fileUri, mimeType: 'image/png' } }, 'content.parts[0].fileData', ['FileReferences']] as const,
    ),
  ] as const) {
    const request = { content: { parts: [part] } };
    const facts = readEmbedFacts(bytesOf(request), canonicalNames(request));
    const features = facts.unbounded.map(({ feature }) => feature);
    assert.deepEqual([facts.imageParam, features], [image, unbounded], JSON.stringify(part));
  }
});

test('each content of a batch is held with what is beside the requests', () => {
  const requests = [{ content: { parts: [{ text: 'a' }] } }, { content: { parts: [{ text: 'x'.repeat(5000) }] } }];
  const body = { requests, more: 'y'.repeat(50) };
  const facts = readBatchEmbedFacts(bytesOf(body), canonicalNames(body));
  const beside = bytesOf(body).length - bytesOf(requests).length;
  assert.equal(boundEmbedInput(facts, LIMITS), bytesOf(requests[0]).length + beside + TEMPLATE + 1000);
  assert.equal(estimateEmbedInput(facts, LIMITS), 1 + 1250);
});

test('names are read in both spellings, and refused in others', () => {
  const read = (request: object) => readEmbedFacts(bytesOf(request), canonicalNames({ ...request }));
  const file = { file_data: { file_uri: 'gs://a/b', mime_type: 'image/png' } };
  assert.deepEqual(
    read({ content: { parts: [file] } }).unbounded.map(({ param }) => param),
    ['content.parts[0].fileData'],
  );
  for (const part of [{ InlineData: {} }, { inlinedata: {} }])
    assert.match(refusalOf(() => read({ content: { parts: [part] } })).message, /inlineData/);
});

test('the model within the body is the one of the channel, and nothing else changes', () => {
  const sent = (converter: typeof embedContent, body: string, plan: object = PLAN): string =>
    Buffer.from(converter.request(Buffer.from(body), JSON.parse(body), plan as typeof PLAN).body).toString();
  const plain = '{"content": {"parts":[{"text":"caf\\u00e9"}]}, "outputDimensionality":256.0}';
  assert.equal(sent(embedContent, plain), plain);
  assert.equal(sent(embedContent, '{"model":"models/mine","content":{}}'), '{"model":"models/up","content":{}}');
  // Vertex knows no such member
  assert.equal(sent(embedContent, '{"model":"models/mine","content":{}}', VERTEX), '{"content":{}}');
  const batch = '{"requests": [{"model":"models/up","content":{},"outputDimensionality":1.0}]}';
  assert.equal(sent(batchEmbedContents, batch), batch);
  assert.equal(
    sent(
      batchEmbedContents,
      '{"x":1, "requests":[{"content":{"parts":[]},"outputDimensionality":12345678901234567890}]}',
    ),
    '{"x":1, "requests":[{"content":{"parts":[]},"outputDimensionality":12345678901234567890,"model":"models/up"}]}',
  );
});

test('responses that are none are faults, and usage of no input is none', () => {
  for (const wrong of ['x', '[]', '{}', '{"embedding":[]}', '{"error":{"code":500}}'])
    assert.throws(() => embedContent.response(Buffer.from(wrong)), SyntaxError, wrong);
  assert.throws(() => batchEmbedContents.response(Buffer.from('{"embedding":{}}')), SyntaxError);
  const { meter } = embedContent.response(Buffer.from('{"embedding":{},"usageMetadata":{"promptTokenCount":0}}'));
  assert.deepEqual([meter.final, meter.reported.input], [false, undefined]);
  assert.throws(() => predict.response(Buffer.from('{"error":{"code":500}}')), SyntaxError);
  assert.throws(() => predict.response(Buffer.from('{"embeddings":[]}')), SyntaxError);
  assert.equal(predict.response(Buffer.from('{}')).meter.images, 0);
});

test('images are counted as asked for, and have a size only where its field says it', () => {
  const read = (parameters: object) =>
    readPredictFacts(canonicalNames({ instances: [{ prompt: 'a cat' }], parameters }));
  assert.equal(read({}).generations, 4);
  assert.equal(read({ sampleCount: 2 }).generations, 2);
  assert.deepEqual(read({ sampleImageSize: '2K', aspectRatio: '1:1' }).made, { size: '2K' });
  assert.deepEqual(read({ sampleImageSize: '2K', mode: 'upscale' }).made, {});
  assert.deepEqual(read({ sampleImageSize: 2 }).made, {});
  assert.deepEqual(read({ options: { n: 3 }, batch_size: 2, sampleCount: 1 }).costFields.toSorted(), [
    'parameters.batch_size',
    'parameters.options.n',
  ]);
  assert.equal(refusalOf(() => read({ aspectRatio: {} })).param, 'parameters.aspectRatio');
  for (const name of ['sample_count', 'samplecount', 'SampleCount', 'sample-image-size', 'storage_uri', 'Mode'])
    assert.equal(refusalOf(() => read({ [name]: 1 })).param, `parameters.${name}`);
  const instance = { prompt: 'a cat', PROMPT: 'two' };
  const misspelt = refusalOf(() => readPredictFacts(canonicalNames({ instances: [instance] })));
  assert.equal(misspelt.param, 'instances[0].PROMPT');
});
