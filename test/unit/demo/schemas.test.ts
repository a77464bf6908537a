/** The demo provider follows JSON schemas, streams images and counts tools, so that every snippet of the docs works. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import Ajv from 'ajv';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { exampleOf } from '../../../demo/example.ts';
import { startDemoProvider } from '../../../demo/provider.ts';
import type { DemoProvider } from '../../../demo/provider.ts';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'age', 'tags', 'owner', 'parent'],
  properties: {
    name: { type: 'string', minLength: 9 },
    age: { type: 'integer', minimum: 18, maximum: 20 },
    tags: { type: 'array', minItems: 2, items: { enum: ['a', 'b'] } },
    owner: { $ref: '#/$defs/person' },
    parent: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
    email: { type: 'string', format: 'email' },
    kind: { const: 'k' },
  },
  $defs: { person: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
};
const ajv = new Ajv.default({ strict: false, formats: { email: /@/ } });
const fits = ajv.compile(SCHEMA);
const HELLO = [{ role: 'user' as const, content: 'hello' }];

let provider: DemoProvider;
let openai: OpenAI;
let anthropic: Anthropic;
beforeAll(async () => {
  provider = await startDemoProvider({ host: '127.0.0.1', port: 0, tokenMs: 0, slowTokenMs: 0 });
  openai = new OpenAI({ apiKey: 'x', baseURL: `${provider.url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'x', baseURL: provider.url, maxRetries: 0 });
});
afterAll(() => provider.stop());

describe('an answer of a schema', () => {
  const assertFits = (text: string | null | undefined): void =>
    assert.ok(fits(JSON.parse(text ?? '')), ajv.errorsText(fits.errors));

  it('matches it, in all three protocols', async () => {
    const schema = { name: 'a', schema: SCHEMA };
    const chat = await openai.chat.completions.create({
      model: 'm',
      messages: HELLO,
      response_format: { type: 'json_schema', json_schema: schema },
    });
    assertFits(chat.choices[0]?.message.content);
    const response = await openai.responses.create({
      model: 'm',
      input: 'hello',
      text: { format: { type: 'json_schema', ...schema } },
    });
    assertFits(response.output_text);
    const message = await anthropic.messages.create({
      model: 'm',
      max_tokens: 2000,
      messages: HELLO,
      output_config: { format: { type: 'json_schema', schema: SCHEMA } },
    });
    assertFits(message.content[0]?.type === 'text' ? message.content[0].text : '');
  });

  it('is an object in JSON mode', async () => {
    const { choices } = await openai.chat.completions.create({
      model: 'm',
      messages: HELLO,
      response_format: { type: 'json_object' },
    });
    assert.deepEqual(JSON.parse(choices[0]?.message.content ?? ''), { answer: 'example' });
  });

  it('ends even if the schema is recursive', () => {
    const node = { type: 'object', properties: { next: { $ref: '#' } } };
    assert.ok(JSON.stringify(exampleOf(node)).length < 1000);
    assert.deepEqual(exampleOf({ allOf: [{ properties: { a: { type: 'null' } } }, { properties: { b: {} } }] }), {
      a: null,
      b: {},
    });
  });
});

describe('images', () => {
  it('can be streamed, partial ones first', async () => {
    const stream = await openai.images.generate({ model: 'm', prompt: 'a river', stream: true, partial_images: 2 });
    const events = await Array.fromAsync(stream);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['image_generation.partial_image', 'image_generation.partial_image', 'image_generation.completed'],
    );
    const whole = await openai.images.generate({ model: 'm', prompt: 'a river' });
    assert.equal(events[2]?.b64_json, whole.data?.[0]?.b64_json);
  });
  it('can be edited and varied, from forms and JSON', async () => {
    const file = await toFile(Buffer.from('PNG'), 'a.png', { type: 'image/png' });
    const edited = await openai.images.edit({ model: 'm', prompt: 'a hat', image: [file, file], n: 2 });
    const varied = await openai.images.createVariation({ model: 'm', image: file, n: 3 });
    assert.deepEqual([edited.data?.length, varied.data?.length], [2, 3]);
    const stream = await openai.images.edit({
      model: 'm',
      prompt: 'a hat',
      image: file,
      stream: true,
      partial_images: 1,
    });
    const events = await Array.fromAsync(stream);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['image_edit.partial_image', 'image_edit.completed'],
    );
    const body = { prompt: 'a hat', images: [{ image_url: 'https://example.com/a.png' }] };
    const json = await openai.post<OpenAI.ImagesResponse>('/images/edits', { body });
    assert.equal(json.data?.[0]?.b64_json, edited.data?.[0]?.b64_json);
    await assert.rejects(openai.post('/images/edits', { body: { prompt: 'a hat' } }), OpenAI.BadRequestError);
  });
});

describe('audio and texts', () => {
  const WAV = 'RIFF';

  it('speaks as bytes and as events, which have usage', async () => {
    const speech = await openai.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: 'hello' });
    const bytes = Buffer.from(await speech.arrayBuffer());
    // 0.06 s of 16-bit samples at 24 kHz for each letter
    assert.deepEqual([bytes.toString('latin1', 0, 4), bytes.length], [WAV, 44 + 5 * 1440 * 2]);
    const events = await openai.audio.speech.create({
      model: 'tts-1',
      voice: 'alloy',
      input: 'hello',
      response_format: 'pcm',
      stream_format: 'sse',
    });
    assert.match(await events.text(), /"speech\.audio\.delta".*"speech\.audio\.done","usage":\{"input_tokens":\d+/s);
    const refused = openai.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: 'fail 503' });
    await assert.rejects(refused, OpenAI.InternalServerError);
  });

  it('writes down how long it has listened, in every format, and streams where the model does', async () => {
    const speech = await openai.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: 'a'.repeat(50) });
    const file = await toFile(Buffer.from(await speech.arrayBuffer()), 'speech.wav');
    const said = 'You sent 3 seconds of audio.';
    const json = await openai.audio.transcriptions.create({ model: 'whisper-1', file });
    assert.deepEqual([json.text, json.usage], [said, { type: 'duration', seconds: 3 }]);
    const long = await openai.audio.transcriptions.create({
      model: 'whisper-1',
      file,
      response_format: 'verbose_json',
    });
    assert.deepEqual([long.duration, long.segments?.[0]?.text], [3, said]);
    for (const format of ['text', 'srt', 'vtt'] as const) {
      const text: unknown = await openai.audio.transcriptions.create({
        model: 'whisper-1',
        file,
        response_format: format,
      });
      assert.match(String(text), /You sent 3 seconds/, format);
    }
    const stream = await openai.audio.transcriptions.create({ model: 'gpt-4o-transcribe', file, stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    assert.deepEqual([types[0], types.at(-1)], ['transcript.text.delta', 'transcript.text.done']);
    const translated = await openai.audio.translations.create({ model: 'whisper-1', file });
    assert.equal(translated.text, said);
    await assert.rejects(openai.post('/audio/transcriptions', { body: { model: 'whisper-1' } }));
  });

  it('completes prompts, moderates and ranks', async () => {
    const completion = await openai.completions.create({ model: 'm', prompt: ['say: one', 'say: two'], echo: true });
    assert.deepEqual(
      completion.choices.map(({ index, text }) => [index, text]),
      [
        [0, 'say: oneone'],
        [1, 'say: twotwo'],
      ],
    );
    const stream = await openai.completions.create({
      model: 'm',
      prompt: 'long 40',
      max_tokens: 5,
      stream: true,
      stream_options: { include_usage: true },
    });
    let [text, tokens] = ['', 0];
    for await (const { choices, usage } of stream) {
      text += choices[0]?.text ?? '';
      tokens = usage?.completion_tokens ?? tokens;
    }
    assert.deepEqual([text, tokens], ['one more word and another', 5]);
    const { results } = await openai.moderations.create({ input: ['hello', 'I will kill time'] });
    assert.deepEqual(
      results.map(({ flagged }) => flagged),
      [false, true],
    );
    const body = { model: 'm', query: 'red fish', documents: ['blue', { text: 'red fish' }], top_n: 1 };
    const ranked = await openai.post<{ results: readonly { index: number }[]; usage: object }>('/rerank', { body });
    assert.deepEqual([ranked.results.map(({ index }) => index), Object.keys(ranked.usage)], [[1], ['total_tokens']]);
    await assert.rejects(openai.post('/rerank', { body: { model: 'm', query: 'q' } }), OpenAI.BadRequestError);
    await assert.rejects(openai.moderations.create({ input: '' }), OpenAI.BadRequestError);
  });
});

describe('tools', () => {
  it('count as input', async () => {
    const tools = [{ name: 'look', description: 'one two three four', input_schema: { type: 'object' as const } }];
    const request = { model: 'm', messages: HELLO };
    const [bare, tooled] = [
      await anthropic.messages.countTokens(request),
      await anthropic.messages.countTokens({ ...request, tools }),
    ];
    assert.ok(tooled.input_tokens > bare.input_tokens + 4);
    const message = await anthropic.messages.create({ ...request, tools, max_tokens: 100 });
    assert.equal(message.usage.input_tokens, tooled.input_tokens);
  });
});
