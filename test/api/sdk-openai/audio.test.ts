/** The official OpenAI client speaks, transcribes and translates. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import OpenAI, { toFile } from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { wavFile } from '../../support/audio-files.ts';
import { Books, collect, free, openaiClient, paid } from '../../support/api/sdk.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { json, sseReply } from '../../support/provider-answers.ts';
import { startAudioStack } from '../audio/audio-stack.ts';

let stack: TestStack;
let client: OpenAI;
let books: Books;
let file: Awaited<ReturnType<typeof toFile>>;

beforeAll(async () => {
  stack = await startAudioStack();
  client = openaiClient(stack);
  books = new Books(stack);
  file = await toFile(wavFile(10), 'speech.wav', { type: 'audio/wav' });
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const AUDIO = Buffer.alloc(3000, 7);
const USAGE = {
  type: 'tokens',
  input_tokens: 114,
  input_token_details: { text_tokens: 14, audio_tokens: 100 },
  output_tokens: 45,
  total_tokens: 159,
};
/** $0.006 a minute, in nano-dollars a second. */
const SECOND = 100_000n;

describe('speech', () => {
  it('is audio, whole or in pieces, at the price of its characters', async () => {
    stack.openai.script({ headers: { 'content-type': 'audio/mpeg' }, steps: [AUDIO, AUDIO] });
    const request = { model: 'tts-1', voice: 'alloy', input: 'hello' } as const;
    const whole = await client.audio.speech.create(request);
    assert.equal((await whole.arrayBuffer()).byteLength, 6000);
    const streamed = await client.audio.speech.create({ ...request, response_format: 'opus' });
    let bytes = 0;
    for await (const piece of streamed.body ?? []) bytes += piece.length;
    assert.equal(bytes, 6000);
    await books.check(paid(75_000n), paid(75_000n));
  });

  it('is events with usage', async () => {
    const done = { type: 'speech.audio.done', usage: { input_tokens: 14, output_tokens: 101, total_tokens: 115 } };
    stack.openai.script(sseReply({ data: { type: 'speech.audio.delta', audio: 'AAAA' } }, { data: done }));
    const speech = await client.audio.speech.create({
      model: 'mini-tts',
      voice: { id: 'voice_1' },
      input: 'hello',
      instructions: 'calmly',
      stream_format: 'sse',
    });
    assert.match(await speech.text(), /speech\.audio\.done/);
    await books.check(paid(14n * 600n + 101n * 12_000n));
  });

  it('that the provider refuses is an error of the client', async () => {
    stack.openai.script(json({ error: { message: 'no such voice', type: 'invalid_request_error' } }, { status: 400 }));
    await assert.rejects(
      client.audio.speech.create({ model: 'tts-1', voice: 'nobody', input: 'hello' }),
      OpenAI.BadRequestError,
    );
    await books.check(free(400));
  });
});

describe('a transcription', () => {
  it('is an object, with words and their times if they are asked for', async () => {
    stack.openai.script(
      json({ text: 'hello', usage: { type: 'duration', seconds: 9 } }),
      json({ text: 'hello', duration: 9.5, language: 'english', words: [{ word: 'hello', start: 0, end: 1 }] }),
    );
    const short = await client.audio.transcriptions.create({ model: 'whisper-1', file });
    assert.deepEqual([short.text, short.usage], ['hello', { type: 'duration', seconds: 9 }]);
    const long = await client.audio.transcriptions.create({
      model: 'whisper-1',
      file,
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    });
    assert.equal(long.words?.[0]?.word, 'hello');
    await books.check(paid(9n * SECOND), paid(10n * SECOND));
  });

  it('is a text at the length of the file', async () => {
    stack.openai.script({ headers: { 'content-type': 'text/plain' }, steps: ['hello\n'] });
    const text: unknown = await client.audio.transcriptions.create({
      model: 'whisper-1',
      file,
      response_format: 'text',
    });
    assert.equal(text, 'hello\n');
    await books.check({ ...paid(10n * SECOND), source: 'Estimated' });
  });

  it('is streamed, with speakers', async () => {
    stack.openai.script(
      sseReply(
        { data: { type: 'transcript.text.delta', delta: 'hello' } },
        { data: { type: 'transcript.text.segment', id: 'seg_0', start: 0, end: 1, text: 'hello', speaker: 'Ada' } },
        { data: { type: 'transcript.text.done', text: 'hello', usage: USAGE } },
      ),
    );
    const stream = await client.audio.transcriptions.create({
      model: 'transcribe',
      file,
      stream: true,
      response_format: 'diarized_json',
      chunking_strategy: { type: 'server_vad', threshold: 0.5 },
      known_speaker_names: ['Ada'],
      known_speaker_references: [`data:audio/wav;base64,${wavFile(2).toString('base64')}`],
      include: ['logprobs'],
    });
    const types = (await collect(stream)).map(({ type }) => type);
    assert.deepEqual(types, ['transcript.text.delta', 'transcript.text.segment', 'transcript.text.done']);
    await books.check(paid(14n * 2500n + 100n * 6000n + 45n * 10_000n));
  });

  it('is translated', async () => {
    stack.openai.script(json({ text: 'hello', usage: { type: 'duration', seconds: 9 } }));
    const { text } = await client.audio.translations.create({ model: 'whisper-1', file, prompt: 'names' });
    assert.equal(text, 'hello');
    await books.check(paid(9n * SECOND));
  });
});
