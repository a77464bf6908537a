/** OpenAI's other endpoints. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { embeddingsConverter, readEmbeddingsFacts } from '../../../../dataplane/protocol/openai/embeddings.ts';
import {
  findFormatFields,
  readImageEditFacts,
  readImagesFacts,
  readImageVariationFacts,
} from '../../../../dataplane/protocol/openai/image-facts.ts';
import {
  imageEditsConverter,
  imagesConverter,
  imageVariationsConverter,
} from '../../../../dataplane/protocol/openai/images.ts';
import { boundInputs, estimateInputs } from '../../../../dataplane/protocol/openai/token-inputs.ts';
import { refusalOf } from './refusal.ts';
import { byteByByte, replay, STREAM_REQUEST } from './replay.ts';

const PLAN = { upstreamModel: 'up', maxOutputTokens: undefined, outputLimitField: 'max_tokens' } as const;
const faultParam = (read: () => unknown): string | undefined => refusalOf(read).param;

const readEmbeddings = (fields: object, body = '') => readEmbeddingsFacts(Buffer.from(body), { model: 'e', ...fields });

test('embeddings: a text has at most as many tokens as bytes, and a template; tokens are counted', () => {
  const bound = (input: unknown, contextTokens = 8192): number =>
    boundInputs(readEmbeddings({ input }), { contextTokens, imageTokens: 0 });
  const template = bound([1]) - 1;
  assert.equal(template, 144);
  assert.equal(bound('grün'), 5 + template);
  assert.equal(bound(['a', 'bc']), 3 + 2 * template);
  assert.equal(bound([5, 6, 7]), 3 + template);
  assert.equal(bound([[5, 6], [7]]), 3 + 2 * template);
  assert.equal(bound(['x'.repeat(10_000), 'y'.repeat(10_000)], 100), 200);
  assert.equal(readEmbeddings({ input: ['x'.repeat(9), [1, 2]] }).estimatedTokens, 5);
});

test('embeddings: each input is held and estimated with the rest of the body, and an image fills the context', () => {
  const limits = { contextTokens: 1000, imageTokens: 30 };
  const fields = { model: 'e', input: ['four', 'x'], encoding_format: 'float', instruction: 'y'.repeat(40) };
  const counted = readEmbeddings(fields, JSON.stringify(fields));
  const beside = JSON.stringify(fields).length - '["four","x"]'.length;
  assert.equal(boundInputs(counted, limits), 5 + 2 * (beside + 144));
  assert.equal(estimateInputs(counted, limits), 2 + 2 * 10);
  const chat = readEmbeddings({ input: ['a', 'b'], messages: [{ content: [{ type: 'image_url', image_url: 'x' }] }] });
  assert.equal(chat.imageParam, 'messages');
  assert.equal(boundInputs(chat, limits), 2000);
  assert.equal(readEmbeddings({ input: ['a', 'iVBORw0KGgoAAAA'] }).imageParam, 'input');
});

test('embeddings: other input is refused by name', () => {
  for (const [input, param] of [
    [undefined, 'input'],
    [null, 'input'],
    [[], 'input'],
    [5, 'input'],
    [{}, 'input'],
    [['a', 5], 'input[1]'],
    [['a', null], 'input[1]'],
    [[[1], ['a']], 'input[1]'],
    [[{ image: 'x' }], 'input[0]'],
  ] as const)
    assert.equal(
      faultParam(() => readEmbeddings({ input })),
      param,
      JSON.stringify(input),
    );
  assert.equal(
    faultParam(() => readEmbeddingsFacts(Buffer.from(''), { input: 'x' })),
    'model',
  );
});

test('embeddings pass through, renamed and metered', () => {
  const body = Buffer.from('{"model":"e","input":"x","dimensions":256.0}');
  const sent = embeddingsConverter.request(body, { model: 'e', input: 'x' }, PLAN);
  assert.deepEqual(
    [sent.path, Buffer.from(sent.body).toString()],
    ['/embeddings', '{"model":"up","input":"x","dimensions":256.0}'],
  );
  assert.equal(embeddingsConverter.request(body, { model: 'e' }, { ...PLAN, upstreamModel: 'e' }).body, body);
  const answer = Buffer.from(
    '{"object":"list","data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":8,"total_tokens":8}}',
  );
  const { body: same, meter } = embeddingsConverter.response(answer);
  assert.equal(same, answer);
  assert.deepEqual([meter.final, meter.reported.input, meter.outputBytes], [true, 8, 0]);
  assert.equal(embeddingsConverter.response(Buffer.from('{"data":[]}')).meter.final, false);
  for (const wrong of ['x', '[]', '{"error":{}}'])
    assert.throws(() => embeddingsConverter.response(Buffer.from(wrong)), SyntaxError);
});

test('images: the requested number is billed', () => {
  assert.deepEqual(readImagesFacts({ model: 'i', prompt: 'a cat', n: 3, stream: true }), {
    model: 'i',
    stream: true,
    promptBytes: 5,
    generations: 3,
    imageParam: undefined,
    unbounded: [],
    made: { size: undefined, quality: undefined },
  });
  assert.deepEqual(readImagesFacts({ model: 'i', prompt: 'a cat', n: null }), {
    model: 'i',
    stream: false,
    promptBytes: 5,
    generations: 1,
    imageParam: undefined,
    unbounded: [],
    made: { size: undefined, quality: undefined },
  });
  for (const [fields, param] of [
    [{ n: 0 }, 'n'],
    [{ n: 11 }, 'n'],
    [{ n: 1.5 }, 'n'],
    [{ n: '2' }, 'n'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: 5 }, 'prompt'],
    [{ model: 1 }, 'model'],
    [{ stream: 'x' }, 'stream'],
  ] as const)
    assert.equal(
      faultParam(() => readImagesFacts({ model: 'i', prompt: 'x', ...fields })),
      param,
    );
});

test('images pass through, with usage if there is any', () => {
  const plain = Buffer.from('{"created":1,"data":[{"url":"https://x/1.png"}]}');
  const { body, meter } = imagesConverter.response(plain);
  assert.equal(body, plain);
  assert.deepEqual([meter.final, meter.reported.input, meter.reported.output], [true, 0, 0]);
  const counted = imagesConverter.response(
    Buffer.from(
      '{"created":1,"data":[{"b64_json":"AAAA"}],"usage":{"input_tokens":50,"output_tokens":4160,' +
        '"total_tokens":4210,"input_tokens_details":{"text_tokens":50,"image_tokens":0}}}',
    ),
  );
  assert.deepEqual([counted.meter.reported.input, counted.meter.reported.output], [50, 4160]);
  assert.throws(() => imagesConverter.response(Buffer.from('{"error":"x"}')), SyntaxError);
});

test('a stream of images holds the latest whole image back until its end', () => {
  const partial =
    'event: image_generation.partial_image\ndata: ' +
    '{"type":"image_generation.partial_image","partial_image_index":0,"b64_json":"AA"}\n\n';
  const completed = (image: string): string =>
    `event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"${image}",` +
    '"usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}\n\n';
  const bytes = Buffer.from(partial + completed('AAA') + partial + completed('BBB'));
  const open = () => imagesConverter.stream(STREAM_REQUEST);
  const whole = replay(open(), [bytes]);
  assert.deepEqual(
    [whole.outcome, whole.sent, whole.last],
    ['Complete', partial + completed('AAA') + partial, completed('BBB')],
  );
  assert.deepEqual([whole.meter.final, whole.meter.reported.input, whole.meter.reported.output], [true, 5, 7]);
  assert.deepEqual(replay(open(), byteByByte(bytes)), whole);
  assert.equal(replay(open(), [Buffer.from(partial)]).outcome, 'Cut');
  assert.equal(replay(open(), [Buffer.from(completed('A') + partial)]).outcome, 'Cut');
  assert.equal(replay(open(), [Buffer.from(`${completed('A')}: ping\n\n`)]).last, `${completed('A')}: ping\n\n`);
  assert.equal(
    replay(open(), [Buffer.from(`${completed('A')}data: [DONE]\n\n`)]).last,
    `${completed('A')}data: [DONE]\n\n`,
  );
  assert.equal(
    replay(open(), [Buffer.from(`${partial}data: {"type":"error","error":{"message":"moderated"}}\n\n`)]).outcome,
    'Failed',
  );
  assert.equal(
    replay(open(), [Buffer.from(`${completed('A')}data: {"error":{"message":"broke"}}\n\n`)]).sent,
    completed('A'),
  );
});

test.each([
  [{ parameters: { size: '4096x4096' } }, undefined, 'low'],
  [{ input: [{ output_size: '4k' }] }, undefined, 'low'],
  [{ options: { imageWidth: 4096 } }, undefined, 'low'],
  [{ 'parameters[size]': '4096x4096' }, undefined, 'low'],
  [{ config: { image_quality: 'high' } }, '256x256', undefined],
  [{ extra_body: {} }, undefined, undefined],
  [{ style: { mood: 'calm' } }, '256x256', 'low'],
])('the size and quality of an image are not known beside %j', (more, size, quality) => {
  const { made } = readImagesFacts({ model: 'm', prompt: 'p', size: '256x256', quality: 'low', ...more });
  assert.deepEqual([made.size, made.quality], [size, quality]);
});

test('images: edits and variations begin with a picture', () => {
  const file = { filename: 'a.png', contentType: 'image/png', bytes: 3 };
  const facts = readImageEditFacts({ model: 'i', prompt: 'a hat', n: 2, stream: true, 'image[]': file, mask: file });
  assert.deepEqual(facts, {
    model: 'i',
    stream: true,
    promptBytes: 5,
    generations: 2,
    imageParam: 'image[]',
    unbounded: [],
    made: { size: undefined, quality: undefined },
  });
  const url = [{ image_url: 'data:image/png;base64,AAAA' }];
  assert.equal(readImageEditFacts({ model: 'i', prompt: 'x', images: url }).imageParam, 'images');
  assert.equal(readImageVariationFacts({ model: 'i', image: file, size: '256x256' }).made.size, '256x256');
  for (const [read, param] of [
    [() => readImageEditFacts({ model: 'i', prompt: 'x' }), 'image'],
    [() => readImageEditFacts({ model: 'i', prompt: 'x', images: [] }), 'image'],
    [() => readImageEditFacts({ model: 'i', image: file }), 'prompt'],
    [() => readImageEditFacts({ model: 'i', prompt: file, image: file }), 'prompt'],
    [() => readImageEditFacts({ prompt: 'x', image: file }), 'model'],
    [() => readImageVariationFacts({ model: 'i' }), 'image'],
    [() => readImageVariationFacts({ model: 'i', image: file, n: file }), 'n'],
  ] as const)
    assert.equal(faultParam(read), param);
});

test.each([
  [{ images: [{ image_url: 'https://x/a.png' }, { file_id: 'file_1' }] }, 'images.1.file_id'],
  [{ image: 'x', mask: { fileId: 'file_1' } }, 'mask.fileId'],
  [{ 'image[file_id]': 'file_1' }, 'image[file_id]'],
  [{ 'images[0].file_id': 'file_1' }, 'images[0].file_id'],
])('images: a file that the provider stores is found in %j', (more, param) => {
  assert.deepEqual(readImageEditFacts({ model: 'm', prompt: 'p', ...more }).unbounded, [
    { feature: 'FileReferences', param },
  ]);
});

test('edits and variations pass through as JSON, and as forms that are written anew', () => {
  const type = 'multipart/form-data; boundary=e';
  const form = '--e\r\nContent-Disposition: form-data; name="model"\r\n\r\ni\r\n--e--\r\n';
  for (const [converter, path] of [
    [imageEditsConverter, '/images/edits'],
    [imageVariationsConverter, '/images/variations'],
  ] as const) {
    const json = converter(undefined).request(Buffer.from('{"model": "i", "n": 1.0}'), { model: 'i', n: 1 }, PLAN);
    assert.deepEqual(
      [json.path, Buffer.from(json.body).toString(), json.contentType],
      [path, '{"model": "up", "n": 1.0}', undefined],
    );
    const sent = converter(type).request(Buffer.from(form), { model: 'i' }, PLAN);
    const written = Buffer.from(sent.body).toString();
    assert.equal(sent.path, path);
    assert.match(sent.contentType ?? '', /^multipart\/form-data; boundary=modelgateway-[0-9a-f]{48}$/);
    assert.equal(written.replaceAll(/modelgateway-[0-9a-f]+/g, 'e'), form.replace('\r\ni\r\n', '\r\nup\r\n'));
    assert.equal(converter(type).response(Buffer.from('{"data":[{"b64_json":"AA"},{}]}')).meter.images, 1);
  }
});

test.each([
  [{ output_format: 'svg', svg: { model: 'gpt-5.2', reasoning: 'high' } }, ['output_format', 'svg']],
  [{ output_format: 'GIF' }, ['output_format']],
  [{ frame_count: 16 }, ['frame_count']],
  [{ extra: { frameCount: 2 } }, ['extra.frameCount']],
  [{ svg: {}, frame_count: 2 }, ['svg', 'frame_count']],
  [{ outputFormat: 'gif' }, ['outputFormat']],
  [{ 'output-format': 'svg' }, ['output-format']],
  [{ extra_body: { output_format: 'svg' } }, ['extra_body.output_format']],
  [{ parameters: [{ output_format: 'gif' }] }, ['parameters.0.output_format']],
  [{ output_format: 'png', 'parameters[output_format]': 'gif' }, ['parameters[output_format]']],
  [{ 'output_format[]': 'gif' }, ['output_format[]']],
  [{ output_format: 'image/svg+xml' }, ['output_format']],
  [{ output_format: 'gif ' }, ['output_format']],
  [{ output_format: ['gif'] }, ['output_format']],
  [{ output_format: 'apng' }, ['output_format']],
  [{ output_format: ' image/PNG', outputFormat: 'Jpeg', options: { output_format: 'jpg' } }, []],
  [{ output_format: 'webp', svg: null, frame_count: null, background: 'opaque' }, []],
])('images: a format that costs more than a picture is found in %j', (fields, found) => {
  assert.deepEqual(findFormatFields(fields), found);
});
