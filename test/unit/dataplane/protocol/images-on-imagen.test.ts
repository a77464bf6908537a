/** OpenAI's generations of images on Imagen. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { imagesOnImagen } from '../../../../dataplane/protocol/images-on-imagen.ts';
import { refusalOf } from './refusal.ts';

const PLAN = {
  upstreamModel: 'imagen-4.0-generate-001',
  maxOutputTokens: undefined,
  outputLimitField: 'max_tokens',
} as const;

function send(fields: object): { readonly path: string; readonly parameters: object; readonly dropped: unknown } {
  const request = { model: 'i', prompt: 'a cat', ...fields };
  const { path, body, dropped } = imagesOnImagen.request(Buffer.from(JSON.stringify(request)), request, PLAN);
  const { instances, parameters } = JSON.parse(Buffer.from(body).toString());
  assert.deepEqual(instances, [{ prompt: 'a cat' }]);
  return { path, parameters, dropped };
}

test.each([
  [{}, { sampleCount: 1 }],
  [{ n: 4, size: 'auto', user: 'u', moderation: 'low', background: 'opaque' }, { sampleCount: 4 }],
  [{ size: '1024x1024' }, { sampleCount: 1, aspectRatio: '1:1' }],
  [{ size: '1536x1024' }, { sampleCount: 1, aspectRatio: '4:3' }],
  [{ size: '1024x1792' }, { sampleCount: 1, aspectRatio: '9:16' }],
  [{ size: '2048x1152' }, { sampleCount: 1, aspectRatio: '16:9', sampleImageSize: '2K' }],
  [{ size: '2k' }, { sampleCount: 1, sampleImageSize: '2K' }],
  [
    { output_format: 'jpeg', output_compression: 60 },
    { sampleCount: 1, outputOptions: { mimeType: 'image/jpeg', compressionQuality: 60 } },
  ],
])('%j becomes %j', (fields, parameters) => {
  const sent = send(fields);
  assert.equal(sent.path, '/v1beta/models/imagen-4.0-generate-001:predict');
  assert.deepEqual(sent.parameters, { ...parameters, includeRaiReason: true });
  assert.equal(sent.dropped, undefined);
});

test('images of no size that was asked for are billed as those that Imagen makes then', () => {
  const served = (fields: object): unknown => {
    const request = { model: 'i', prompt: 'a cat', ...fields };
    const { notes } = imagesOnImagen.request(Buffer.from(JSON.stringify(request)), request, PLAN);
    const context = { id: 'req_1', createdSeconds: 0, nowSeconds: () => 0, estimatedInputTokens: 0 };
    return imagesOnImagen.response(Buffer.from('{}'), { ...context, ...(notes && { notes }) }).meter.served;
  };
  assert.deepEqual([served({}), served({ size: 'auto' })], [{ size: '1K' }, { size: '1K' }]);
  assert.deepEqual([served({ size: '2K' }), served({ size: '1024x1024' })], [undefined, undefined]);
});

test('what Imagen lacks is named', () => {
  assert.deepEqual(send({ quality: 'hd', style: 'vivid' }).dropped, ['quality', 'style']);
  assert.equal(send({ quality: 'standard' }).dropped, undefined);
});

test.each([
  [{ n: 9 }, 'n'],
  [{ size: '4K' }, 'size'],
  [{ size: '512' }, 'size'],
  [{ size: 'large' }, 'size'],
  [{ output_format: 'webp' }, 'output_format'],
  [{ output_compression: 101 }, 'output_compression'],
  [{ stream: true }, 'stream'],
  [{ background: 'transparent' }, 'background'],
  [{ response_format: 'url' }, 'response_format'],
  [{ mask: 'x' }, 'mask'],
  [{ seed: 7 }, 'seed'],
])('%j is refused by name', (fields, param) => {
  assert.equal(refusalOf(() => send(fields)).param, param);
});

test('a response that is none is none', () => {
  const read = (body: string): number | undefined => imagesOnImagen.response(Buffer.from(body)).meter.images;
  assert.equal(read('{}'), 0);
  assert.throws(() => read('{"candidates":[]}'), SyntaxError);
  assert.throws(() => read('{"error":{"code":400,"message":"no"}}'), { name: 'FailedResponse' });
});
