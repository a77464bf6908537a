/** OpenAI's image endpoints on Gemini's models: what is sent, and what comes back, whole and streamed. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { RequestFault } from '../../../../../dataplane/protocol/call-facts.ts';
import type { Converter } from '../../../../../dataplane/protocol/converter.ts';
import { endpointOf, providerOf } from '../../../../../dataplane/protocol/providers.ts';
import { refusalOf } from '../refusal.ts';
import { byteByByte, replay, STREAM_REQUEST } from '../replay.ts';

const images = endpointOf('Gemini', 'images');
const edits = endpointOf('Gemini', 'imageEdits');
const PNG = 'iVBORw0KGgo=';
const planOf = (upstreamModel: string, stream = false) =>
  ({ upstreamModel, stream, maxOutputTokens: 3000, outputLimitField: 'max_tokens' }) as const;
const PLAN = planOf('gemini-3-pro-image-preview');
const OLDER = planOf('gemini-2.5-flash-image');

interface Sent {
  readonly contents: readonly { readonly parts: readonly unknown[] }[];
  readonly generationConfig: object;
}

function send(converter: Converter, fields: object, plan: Parameters<Converter['request']>[2] = PLAN) {
  const request = { model: 'm', prompt: 'a cat', ...fields };
  const { path, body, dropped } = converter.request(Buffer.from(JSON.stringify(request)), request, plan);
  const sent: Sent = JSON.parse(Buffer.from(body).toString());
  return { path, sent, dropped };
}

test('a prompt asks for a picture', () => {
  const { path, sent, dropped } = send(images, {
    n: 1,
    response_format: 'b64_json',
    background: 'auto',
    quality: 'auto',
  });
  assert.equal(path, '/v1beta/models/gemini-3-pro-image-preview:generateContent');
  assert.deepEqual(sent, {
    contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
    generationConfig: { responseModalities: ['IMAGE'], maxOutputTokens: 3000 },
  });
  assert.equal(dropped, undefined);
  // a route that states no limit
  assert.deepEqual(send(images, {}, { ...PLAN, maxOutputTokens: 0 }).sent.generationConfig, {
    responseModalities: ['IMAGE'],
  });
});

test.each([
  ['1024x1024', { aspectRatio: '1:1', imageSize: '1K' }],
  ['1536x1024', { aspectRatio: '3:2', imageSize: '1K' }],
  ['1024x1792', { aspectRatio: '9:16', imageSize: '1K' }],
  ['2048x2048', { aspectRatio: '1:1', imageSize: '2K' }],
  ['3840x2160', { aspectRatio: '16:9', imageSize: '4K' }],
  ['2560x1080', { aspectRatio: '21:9', imageSize: '2K' }],
  ['4k', { imageSize: '4K' }],
  ['auto', undefined],
])('the size %s is a shape and a resolution', (size, imageConfig) => {
  const { sent } = send(images, { size });
  assert.deepEqual(Object.entries(sent.generationConfig).find(([name]) => name === 'imageConfig')?.[1], imageConfig);
});

test('models before Gemini 3 take no resolution', () => {
  const config = (size: string) => send(images, { size }, OLDER).sent.generationConfig;
  assert.deepEqual(config('1024x1536'), {
    responseModalities: ['IMAGE'],
    imageConfig: { aspectRatio: '2:3' },
    maxOutputTokens: 3000,
  });
  assert.deepEqual(config('1K'), { responseModalities: ['IMAGE'], maxOutputTokens: 3000 });
  assert.equal(refusalOf(() => config('2048x2048')).param, 'size');
});

test('pictures of a JSON body follow the prompt', () => {
  const url = `data:image/png;base64,${PNG}`;
  for (const given of [{ image: url }, { image: [url] }, { images: [{ image_url: url }] }])
    assert.deepEqual(send(edits(undefined), given).sent.contents[0]?.parts, [
      { text: 'a cat' },
      { inlineData: { mimeType: 'image/png', data: PNG } },
    ]);
});

test('files of a form follow the prompt, in their order', () => {
  const type = 'multipart/form-data; boundary=xx';
  const part = (name: string, content: string, file = ''): string =>
    `--xx\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${content}\r\n`;
  const file = '; filename="a"\r\nContent-Type: image/jpeg';
  const form = (...parts: readonly string[]): Buffer => Buffer.from(`${parts.join('')}--xx--\r\n`);
  const several = form(
    part('model', 'm'),
    part('image[]', 'one', file),
    part('prompt', 'a hat'),
    part('size', '1024x1024'),
    part('image[]', 'two', file),
    part('n', '1'),
    part('stream', 'true'),
  );
  const data = (text: string) => ({
    inlineData: { mimeType: 'image/jpeg', data: Buffer.from(text).toString('base64') },
  });
  const sent = edits(type).request(several, {}, planOf('gemini-3-pro-image-preview', true));
  assert.equal(sent.contentType, undefined);
  assert.match(sent.path, /:streamGenerateContent\?alt=sse$/);
  const { contents }: Sent = JSON.parse(Buffer.from(sent.body).toString());
  assert.deepEqual(contents[0]?.parts, [{ text: 'a hat' }, data('one'), data('two')]);
  const masked = form(part('model', 'm'), part('prompt', 'x'), part('image', 'one', file), part('mask', 'm', file));
  assert.equal(refusalOf(() => edits(type).request(masked, {}, PLAN)).param, 'mask');
});

test.each([
  [{ n: 2 }, 'n'],
  [{ background: 'transparent' }, 'background'],
  [{ response_format: 'url' }, 'response_format'],
  [{ image: 'https:nothing' }, 'image'],
  [{ images: [{ file_id: 'file-1' }] }, 'images[0].file_id'],
  [{ size: 'large' }, 'size'],
  [{ size: '0x0' }, 'size'],
  [{ unknown: 1 }, 'unknown'],
])('%j is refused by name', (fields, param) => {
  assert.equal(refusalOf(() => send(images, fields)).param, param);
});

test('what the model has no setting for is left out and named', () => {
  const given = {
    quality: 'high',
    output_format: 'webp',
    output_compression: 50,
    partial_images: 2,
    moderation: 'low',
  };
  assert.deepEqual(send(images, given).dropped?.toSorted(), [
    'output_compression',
    'output_format',
    'partial_images',
    'quality',
  ]);
});

const USAGE = {
  promptTokenCount: 10,
  candidatesTokenCount: 1295,
  thoughtsTokenCount: 200,
  candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
};
const picture = { inlineData: { mimeType: 'image/png', data: PNG } };
const answer = (
  parts: readonly object[],
  finishReason: string | undefined = 'STOP',
  usage: object = USAGE,
): object => ({
  candidates: [{ content: { parts }, ...(finishReason !== '' && { finishReason }) }],
  usageMetadata: usage,
});
const bytesOf = (value: object): Buffer => Buffer.from(JSON.stringify(value));

test('pictures come back as data with their usage, without drafts', () => {
  const draft = { ...picture, thought: true };
  const response = bytesOf(answer([{ text: 'Look:' }, draft, picture]));
  const { body, meter } = images.response(response, {
    id: 'x',
    createdSeconds: 5,
    nowSeconds: () => 5,
    estimatedInputTokens: 0,
  });
  assert.deepEqual(JSON.parse(Buffer.from(body).toString()), {
    created: 5,
    data: [{ b64_json: PNG }],
    output_format: 'png',
    usage: {
      input_tokens: 10,
      input_tokens_details: { image_tokens: 0, text_tokens: 10 },
      output_tokens: 1495,
      output_tokens_details: { image_tokens: 1290, text_tokens: 205 },
      total_tokens: 1505,
    },
  });
  assert.deepEqual([meter.images, meter.final, meter.reported.output], [1, true, 1495]);
});

test('without a picture the response says why, and has been made', () => {
  for (const [parts, reason, refusal] of [
    [[], 'IMAGE_SAFETY', "Google's filter has stopped the answer (IMAGE_SAFETY)."],
    [[{ text: 'I cannot.' }], 'STOP', undefined],
  ] as const) {
    const { body, meter } = images.response(bytesOf(answer(parts, reason)));
    const { data, refusal: said }: { data: unknown; refusal?: string } = JSON.parse(Buffer.from(body).toString());
    assert.deepEqual([data, said, meter.images], [[], refusal, 0]);
  }
});

const chunk = (...given: Parameters<typeof answer>): string => `data: ${JSON.stringify(answer(...given))}\n\n`;

test('a streamed picture waits for the usage, and comes as the last event', () => {
  const stream = Buffer.from(chunk([picture], '', {}) + chunk([{ text: '' }]));
  const open = () => images.stream({ ...STREAM_REQUEST, createdSeconds: 5 });
  const whole = replay(open(), [stream]);
  assert.deepEqual(replay(open(), byteByByte(stream)).last, whole.last);
  assert.equal(whole.sent, '');
  const [event = '', data = ''] = whole.last.trim().split('\n');
  assert.equal(event, 'event: image_generation.completed');
  const { usage, ...rest }: { usage: { output_tokens: number } } = JSON.parse(data.slice('data: '.length));
  assert.deepEqual(rest, {
    type: 'image_generation.completed',
    b64_json: PNG,
    created_at: 5,
    output_format: 'png',
  });
  assert.equal(usage.output_tokens, 1495);
  assert.equal(whole.meter.images, 1);
  const edited = replay(edits(undefined).stream(STREAM_REQUEST), [stream]);
  assert.match(edited.last, /^event: image_edit\.completed\n/);
});

test('a stream without a picture ends with the reason, and one that is cut off has no picture', () => {
  const refused = replay(images.stream(STREAM_REQUEST), [Buffer.from(chunk([], 'IMAGE_SAFETY'))]);
  assert.match(refused.last, /^event: error\n.*"code":"no_image","message":"Google's filter/);
  assert.equal(refused.meter.images, 0);
  const cut = replay(images.stream(STREAM_REQUEST), [Buffer.from(chunk([picture], '', {}))]);
  assert.deepEqual([cut.outcome, cut.sent], ['Cut', '']);
  assert.deepEqual([cut.meter.images, cut.meter.outputBytes], [0, 0]);
});

test('of several pictures those before the last one are sent at once, and count if the stream breaks off', () => {
  const first = chunk([picture, picture, { ...picture, thought: true }], '', {});
  const cut = replay(images.stream(STREAM_REQUEST), [Buffer.from(first + chunk([picture], '', {}))]);
  assert.equal(cut.outcome, 'Cut');
  assert.equal(cut.sent.match(/event: image_generation\.completed/g)?.length, 2);
  // each about 1,290 tokens, because the usage comes with the end
  assert.deepEqual([cut.meter.images, cut.meter.outputBytes, cut.meter.reported.output], [2, 2 * 1290 * 4, undefined]);
  const whole = replay(images.stream(STREAM_REQUEST), [Buffer.from(first + chunk([{ text: '' }]))]);
  assert.deepEqual([whole.meter.images, whole.meter.reported.output], [2, 1495]);
});

test('reasons of Google for no picture are a refusal in calls for images, and an error in chats', () => {
  for (const reason of ['NO_IMAGE', 'IMAGE_OTHER', 'IMAGE_NEWER']) {
    const body = bytesOf(answer([], reason));
    const written: { data: unknown; refusal: unknown } = JSON.parse(Buffer.from(images.response(body).body).toString());
    assert.deepEqual([written.data, written.refusal], [[], `The model has made no image (${reason}).`]);
    const streamed = replay(images.stream(STREAM_REQUEST), [Buffer.from(chunk([], reason))]);
    assert.match(streamed.last, new RegExp(`"code":"no_image","message":"The model has made no image \\(${reason}\\)`));
    assert.throws(() => providerOf('Gemini').chat.OpenAI?.response(body), { name: 'FailedResponse' });
  }
  assert.throws(() => images.response(bytesOf(answer([], 'MALFORMED_FUNCTION_CALL'))), { name: 'FailedResponse' });
});

test('odd values are refused by name, or taken; nothing else is thrown', () => {
  const odd = fc.oneof(
    fc.anything({ maxDepth: 2 }),
    fc.constantFrom('1024x1024', '1K', 'auto', '99999x1', `data:image/png;base64,${PNG}`, 'https://x/a.png', 1, 2, ''),
  );
  const fields = fc.dictionary(
    fc.constantFrom(
      'prompt',
      'image',
      'image[]',
      'images',
      'size',
      'n',
      'stream',
      'background',
      'quality',
      'mask',
      'x',
    ),
    odd,
  );
  fc.assert(
    fc.property(fields, fc.constantFrom(PLAN, OLDER), (given, plan) => {
      try {
        const { sent } = send(images, given, plan);
        // one call is one turn with a prompt
        assert.equal(sent.contents.length, 1);
      } catch (error) {
        assert.ok(error instanceof RequestFault, String(error));
      }
    }),
  );
});
