/** Audio that is written down and translated, over HTTP: each format, streams, and what each costs. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { mp3File, mp4File, wavFile } from '../../support/audio-files.ts';
import { CUT } from '../../support/mock-provider.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { gated, json, sse, sseReply } from '../../support/provider-answers.ts';
import { post, spending, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { settledUsage } from '../hostile/route-world.ts';
import { formOf, sendForm, startAudioStack, usageOf } from './audio-stack.ts';
import type { AudioFields } from './audio-stack.ts';

const [TRANSCRIPTIONS, TRANSLATIONS] = ['/v1/audio/transcriptions', '/v1/audio/translations'];

let stack: TestStack;
beforeAll(async () => {
  stack = await startAudioStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const FORM: AudioFields = { model: 'whisper-1', file: wavFile(61) };
const TOKENS: AudioFields = { model: 'transcribe', file: wavFile(10) };

function transcribe(more: AudioFields = {}, path = TRANSCRIPTIONS): Promise<Answer> {
  return sendForm(stack, path, { ...FORM, ...more });
}

function text(body: string): Reply {
  return { headers: { 'content-type': 'text/plain; charset=utf-8' }, steps: [body] };
}

async function billed(answer: Answer): Promise<Json> {
  assert.equal(answer.status, 200, answer.text);
  return usageOf(stack, answer);
}

/** The hold of a call while it is at the provider. */
async function held(fields: AudioFields): Promise<bigint> {
  const { reply, gate } = gated(json({ text: 'hi' }));
  stack.openai.clear();
  stack.openai.script(reply);
  const answer = sendForm(stack, TRANSCRIPTIONS, fields);
  await gate.reached;
  const { held: amount } = await spending(stack);
  gate.open();
  assert.equal((await answer).status, 200);
  return amount;
}

describe('a transcription by the minute', () => {
  it('is a form, written anew with the model renamed, and costs the seconds that the response reports', async () => {
    stack.openai.script(json({ text: 'hello', usage: { type: 'duration', seconds: 9 } }));
    const answer = await transcribe({ language: 'en', 'timestamp_granularities[]': 'word' });
    const usage = await billed(answer);
    // 9 · 0.006 / 60
    assert.deepEqual([usage.cost_usd, usage.usage_source], ['0.0009', 'Provider']);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.0009');
    assert.deepEqual(
      [usage.lines[0].dimension, usage.lines[0].quantity, usage.lines[0].per, usage.lines[0].amount_usd],
      ['audioSecond', 9, 60, '0.0009'],
    );
    const { path, headers, body } = await stack.openai.request(0);
    assert.equal(path, TRANSCRIPTIONS);
    const sent = await new Response(new Uint8Array(body), {
      headers: { 'content-type': headers['content-type'] ?? '' },
    }).formData();
    assert.deepEqual(
      [sent.get('model'), sent.get('language'), sent.get('timestamp_granularities[]')],
      ['up', 'en', 'word'],
    );
    assert.equal((sent.get('file') as File).size, wavFile(61).length);
  });

  it('is held for the length of the file, whatever it claims, and costs no more', async () => {
    assert.equal(await held(FORM), 6_100_000n);
    const claim = wavFile(61);
    claim.writeUInt32LE(10 ** 9, 28);
    assert.equal(await held({ ...FORM, file: claim }), 6_100_000n);
    assert.equal(await held({ ...FORM, file: mp3File(383) }), 1_100_000n);
    // 4 kbit/s: 40,000 bytes are 80 seconds
    assert.equal(await held({ ...FORM, file: Buffer.alloc(40_000, 0x55) }), 8_000_000n);
    // a second file is audio too
    assert.equal(await held({ ...FORM, other: wavFile(10) }), 7_100_000n);
    stack.openai.clear();
    stack.openai.script(json({ text: 'hello', usage: { type: 'duration', seconds: 600 } }));
    const usage = await billed(await transcribe());
    assert.deepEqual([usage.cost_usd, usage.usage_source, usage.unbilled_usd], ['0.0061', 'Implausible', '0.00']);
  });

  it('reads the duration of the long form, and takes the length of the file where there is none', async () => {
    for (const [reply, fields, cost, source] of [
      [json({ text: 'a', duration: 8.47, segments: [] }), { response_format: 'verbose_json' }, '0.0009', 'Provider'],
      [json({ text: 'a', duration: '8.47' }), { response_format: 'verbose_json' }, '0.0009', 'Provider'],
      [json({ text: 'a' }), {}, '0.0061', 'Estimated'],
      [json({ text: 'a', usage: { type: 'duration', seconds: 0 } }), {}, '0.0061', 'Estimated'],
      [text('hello\n'), { response_format: 'text' }, '0.0061', 'Estimated'],
      [text('1\n00:00:00,000 --> 00:00:01,000\nhi\n'), { response_format: 'srt' }, '0.0061', 'Estimated'],
      [text('WEBVTT\n\n'), { response_format: 'vtt' }, '0.0061', 'Estimated'],
      [text('{braces} are words too'), { response_format: 'text' }, '0.0061', 'Estimated'],
      [text('0\t1000\thi\n'), { response_format: 'tsv' }, '0.0061', 'Estimated'],
      [text('[00:00.00]hi\n'), { response_format: 'lrc' }, '0.0061', 'Estimated'],
      [text('hello'), {}, '0.0061', 'Estimated'],
      [text('{"text":"hello","usage":{"seconds":9}}'), {}, '0.0009', 'Provider'],
      // 40,000 bytes of an unknown kind are likely 10 seconds, at 32 kbit/s
      [text('hello'), { response_format: 'text', file: Buffer.alloc(40_000, 0x55) }, '0.001', 'Estimated'],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(reply);
      const answer = await transcribe(fields);
      const usage = await billed(answer);
      assert.deepEqual([usage.cost_usd, usage.usage_source], [cost, source], JSON.stringify(fields));
      const [step] = reply.steps;
      assert.equal(answer.text, typeof step === 'string' ? step : Object(step).bytes);
    }
  });

  it('that is an error, a page or no transcript costs nothing', async () => {
    for (const [reply, fields] of [
      [json({ error: { message: 'bad audio', type: 'invalid_request_error' } }), {}],
      [json({ error: { message: 'bad audio' } }), { response_format: 'text' }],
      [text('<!DOCTYPE html><title>busy</title>'), { response_format: 'srt' }],
      [json({ data: [] }), {}],
      [{ ...text('hello'), headers: { 'content-type': 'application/json' } }, {}],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(reply);
      const answer = await transcribe(fields);
      assert.ok(answer.status >= 400, answer.text);
      assert.equal((await usageOf(stack, answer)).cost_usd, '0.00');
    }
  });

  it('is whole where the model ignores that a stream is asked for', async () => {
    for (const [reply, fields] of [
      [json({ text: 'hello', usage: { type: 'duration', seconds: 9 } }), {}],
      [text('hello\n'), { response_format: 'text' }],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(reply);
      const answer = await transcribe({ ...fields, stream: 'true' });
      assert.match(answer.text, /hello/);
      assert.notEqual((await billed(answer)).cost_usd, '0.00');
    }
  });

  it('at a price per request costs one', async () => {
    stack.openai.script(json({ text: 'hello' }));
    const usage = await billed(await transcribe({ model: 'flat-whisper' }));
    assert.deepEqual([usage.cost_usd, usage.usage_source], ['0.000000007', 'Provider']);
  });

  it('of a large file is read in the thread for large bodies', async () => {
    stack.openai.script(json({ text: 'hello' }));
    const usage = await billed(await transcribe({ file: wavFile(600) }));
    assert.equal(usage.cost_usd, '0.06');
    assert.ok((await stack.openai.request(0)).body.length > 19_000_000);
  });
});

describe('a translation', () => {
  it('costs what a transcription does, of a channel of Azure too', async () => {
    stack.openai.script(json({ text: 'hello', usage: { type: 'duration', seconds: 9 } }));
    assert.equal((await billed(await transcribe({}, TRANSLATIONS))).cost_usd, '0.0009');
    assert.equal((await stack.openai.request(0)).path, TRANSLATIONS);
    assert.equal((await billed(await transcribe({ model: 'azure-whisper' }, TRANSLATIONS))).cost_usd, '0.0009');
    const { path } = await stack.openai.request(1);
    assert.equal(path, '/openai/deployments/azure-whisper/audio/translations?api-version=2025-03-01-preview');
  });
});

describe('a transcription by the token', () => {
  const USAGE = {
    type: 'tokens',
    input_tokens: 114,
    input_token_details: { text_tokens: 14, audio_tokens: 100 },
    output_tokens: 45,
    total_tokens: 159,
  };
  // 14 · 2.5 + 100 · 6 + 45 · 10, per million
  const COST = '0.001085';

  it('costs its audio, its prompt and its text', async () => {
    stack.openai.script(json({ text: 'hello', usage: USAGE }));
    const usage = await billed(await sendForm(stack, TRANSCRIPTIONS, { ...TOKENS, prompt: 'names: Ada' }));
    assert.deepEqual([usage.cost_usd, usage.usage_source], [COST, 'Provider']);
    assert.deepEqual([usage.input_tokens, usage.output_tokens], [114, 45]);
    stack.openai.clear();
    const { input_token_details: _details, ...plain } = USAGE;
    stack.openai.script(json({ text: 'hello', usage: plain }));
    // without details all of it is audio: 114 · 6 + 45 · 10
    assert.equal((await billed(await sendForm(stack, TRANSCRIPTIONS, TOKENS))).cost_usd, '0.001134');
  });

  it('is streamed until its last event, which has the usage', async () => {
    const events = [
      { data: { type: 'transcript.text.delta', delta: 'hel' } },
      { data: { type: 'transcript.text.segment', id: 'seg_0', text: 'hello', speaker: 'A', start: 0, end: 1 } },
      { data: { type: 'transcript.text.delta', delta: 'lo' } },
      { data: { type: 'transcript.text.done', text: 'hello', usage: USAGE } },
    ];
    stack.openai.script(sseReply(...events));
    const answer = await sendForm(stack, TRANSCRIPTIONS, { ...TOKENS, stream: 'true' });
    assert.equal(answer.text, events.map(sse).join(''));
    const usage = await settledUsage(stack, answer.headers.get('x-request-id') ?? '');
    assert.deepEqual([usage.cost_usd, usage.usage_source, usage.status], [COST, 'Provider', 'Succeeded']);
  });

  it('that breaks off costs its likely input and the text received until then', async () => {
    const delta = { data: { type: 'transcript.text.delta', delta: 'hello world, hello!!' } };
    stack.openai.script(sseReply(delta, CUT));
    const answer = await sendForm(stack, TRANSCRIPTIONS, { ...TOKENS, stream: 'true' });
    assert.match(answer.text, /error/);
    const usage = await settledUsage(stack, answer.headers.get('x-request-id') ?? '');
    // ten tokens a second, a token for four bytes of the fields ("transcribe" and "true"), and of 20 bytes
    assert.deepEqual([usage.input_tokens, usage.output_tokens, usage.usage_source], [104, 5, 'Partial']);
    // 104 · 6 + 5 · 10, per million: what is not told is audio
    assert.equal(usage.cost_usd, '0.000674');
  });

  it('that breaks off costs its segments where they are more than its deltas', async () => {
    const delta = { data: { type: 'transcript.text.delta', delta: 'hi' } };
    const segment = { data: { type: 'transcript.text.segment', id: 'a', text: 'hello world, hello!!', speaker: 'A' } };
    stack.openai.script(sseReply(delta, segment, CUT));
    const answer = await sendForm(stack, TRANSCRIPTIONS, { ...TOKENS, stream: 'true' });
    const usage = await settledUsage(stack, answer.headers.get('x-request-id') ?? '');
    assert.deepEqual([usage.output_tokens, usage.usage_source], [5, 'Partial']);
  });

  it('is held for each chunk that the provider may make, with prompt and speakers', async () => {
    const bytes = 'transcribe'.length + 144;
    // 50 tokens a second, the fields and a template, and the output limit, all at the price of audio or output
    assert.equal(await held(TOKENS), BigInt(500 + bytes) * 6000n + 2000n * 10_000n);
    const chunked = { ...TOKENS, file: wavFile(61), 'chunking_strategy[type]': 'server_vad' };
    const each = BigInt('transcribe'.length + 'server_vad'.length + 144);
    assert.equal(await held(chunked), (3050n + 3n * each) * 6000n + 6000n * 10_000n);
    const speaker = `data:audio/wav;base64,${wavFile(2).toString('base64')}`;
    const spoken = await held({ ...TOKENS, 'known_speaker_references[]': speaker });
    // the bytes of the reference at 4 kbit/s are more than its two seconds
    const spokenSeconds = Math.ceil(speaker.length / 500);
    assert.equal(spoken, BigInt(500 + bytes + spokenSeconds * 50) * 6000n + 2000n * 10_000n);
    const prompt = `data:,${'x'.repeat(1000)}`;
    assert.equal(await held({ ...TOKENS, prompt }), BigInt(500 + bytes + prompt.length) * 6000n + 2000n * 10_000n);
  });

  it('is estimated where the provider reports seconds or nothing', async () => {
    stack.openai.script(json({ text: 'hello world, hello!!', usage: { type: 'duration', seconds: 10 } }));
    const usage = await billed(await sendForm(stack, TRANSCRIPTIONS, TOKENS));
    assert.deepEqual([usage.input_tokens, usage.output_tokens, usage.usage_source], [103, 5, 'Estimated']);
  });
});

describe('a form of audio', () => {
  it('must have one file of this name, and no field that is read in two ways', async () => {
    for (const [fields, param] of [
      [{ file: 'hello' }, 'file'],
      [{ 'file[]': wavFile(1) }, 'file[]'],
      [{ 'model[]': 'x' }, 'model[]'],
      [{ stream: 'yes' }, 'stream'],
      [{ 'known_speaker_references[]': 'data:audio/wav;base64,QUJD=QUJDQUJD' }, 'known_speaker_references[]'],
      [{ 'known_speaker_references[]': 'data:audio/wav,QUJD' }, 'known_speaker_references[]'],
      [{ 'known_speaker_references[]': 'https://x.example/a.wav' }, 'known_speaker_references[]'],
      [{ 'response_format[x]': 'json' }, 'response_format[x]'],
    ] as const) {
      const answer = await transcribe(fields);
      assert.deepEqual([answer.status, answer.json().error.param], [400, param], answer.text);
    }
    const asJson = await post(stack, TRANSCRIPTIONS, { model: 'whisper-1', file: 'x' });
    assert.deepEqual([asJson.status, asJson.json().error.code], [400, 'invalid_value']);
    assert.match(asJson.json().error.message, /multipart\/form-data/);
    assert.equal(stack.openai.requests.length, 0);
  });

  it('is refused with a file of which no count is sure, small or large', async () => {
    for (const frames of [155, 100_000]) {
      const file = mp4File(frames);
      file.write('dinf', file.indexOf('minf'));
      const answer = await transcribe({ file });
      assert.deepEqual([answer.status, answer.json().error.param], [400, 'file'], answer.text);
      assert.match(answer.json().error.message, /Encode it anew/);
    }
    assert.equal(stack.openai.requests.length, 0);
  });

  it('is refused with audio elsewhere, settings as a text, and fields that cost more, unless they are allowed', async () => {
    for (const param of [
      'url',
      'audio_url',
      'options[url]',
      'audio_base64',
      'youtubeUrl',
      'input[content]',
      'n',
      'best_of',
      'extra_body',
      'parameters[n]',
    ]) {
      const answer = await transcribe({ [param]: '7' });
      assert.deepEqual(
        [answer.status, answer.json().error.code, answer.json().error.param],
        [400, 'not_allowed', param],
      );
    }
    const stored = await transcribe({ file_id: 'file_1' });
    assert.deepEqual([stored.status, stored.json().error.param], [400, 'file_id']);
    stack.openai.script(json({ text: 'hello', usage: { type: 'duration', seconds: 9 } }));
    const allowed = await transcribe({ model: 'fetching-whisper', url: 'https://x.example/a.mp3' });
    assert.equal((await billed(allowed)).cost_usd, '0.0009');
  });

  it('is not taken by models and providers that do not transcribe', async () => {
    const speaker = await transcribe({ model: 'tts-1' });
    assert.deepEqual([speaker.status, speaker.json().error.code], [400, 'wrong_endpoint']);
    const claude = await transcribe({ model: 'claude-whisper' });
    assert.deepEqual([claude.status, claude.json().error.code], [404, 'model_not_found']);
  });

  it('may be compressed', async () => {
    const noise = wavFile(61).map((byte, at) => (at < 44 ? byte : (at * 7919) >> 5));
    const { headers, body } = await formOf({ ...FORM, file: noise });
    const zipped = await new Response(
      new Blob([new Uint8Array(body)]).stream().pipeThrough(new CompressionStream('gzip')),
    ).arrayBuffer();
    stack.openai.script(json({ text: 'hello' }));
    const answer = await post(stack, TRANSCRIPTIONS, new Uint8Array(zipped), {
      ...headers,
      'content-encoding': 'gzip',
    });
    assert.equal((await billed(answer)).cost_usd, '0.0061');
  });
});
