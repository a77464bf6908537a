/** Speech over HTTP: audio and events, by the character and by the token, and what each costs. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { CUT, gate } from '../../support/mock-provider.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { gated, json, openaiError, sseReply } from '../../support/provider-answers.ts';
import { post, spending, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { settledUsage } from '../hostile/route-world.ts';
import { startAudioStack, usageOf } from './audio-stack.ts';

const SPEECH = '/v1/audio/speech';

let stack: TestStack;
beforeAll(async () => {
  stack = await startAudioStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const AUDIO = Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7) % 256));

function audio(...steps: Reply['steps']): Reply {
  return { headers: { 'content-type': 'audio/mpeg' }, steps: steps.length === 0 ? [AUDIO] : steps };
}

const delta = (text: string) => ({ data: { type: 'speech.audio.delta', audio: Buffer.from(text).toString('base64') } });
const done = (usage?: object) => ({ data: { type: 'speech.audio.done', ...(usage && { usage }) } });

function speak(body: object): Promise<Response> {
  return fetch(stack.gateway.url + SPEECH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEYS.main}` },
    body: JSON.stringify(body),
  });
}

describe('speech by the character', () => {
  it('passes through as bytes, with the model renamed, and costs each character of the input', async () => {
    stack.openai.script(audio());
    const response = await speak({ model: 'tts-1', voice: 'alloy', input: 'Grüße 👋', speed: 1.5 });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'audio/mpeg');
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), AUDIO);
    const sent = await stack.openai.request(0);
    assert.equal(sent.path, SPEECH);
    assert.deepEqual(sent.json(), { model: 'speaker', voice: 'alloy', input: 'Grüße 👋', speed: 1.5 });
    const usage = await settledUsage(stack, response.headers.get('x-request-id') ?? '');
    // seven characters, of which one has two units of UTF-16: 7 · 15 / 10⁶
    assert.deepEqual([usage.cost_usd, usage.usage_source, usage.status], ['0.000105', 'Provider', 'Succeeded']);
    assert.deepEqual(
      [usage.lines[0].dimension, usage.lines[0].quantity, usage.lines[0].per, usage.lines[0].rate_usd],
      ['character', 7, 1_000_000, '15'],
    );
  });

  it('counts instructions, and every other text that a provider may speak, and holds what it costs', async () => {
    const { reply, gate: wait } = gated(audio());
    stack.openai.script(reply);
    const answer = speak({ model: 'tts-1', voice: 'alloy', input: 'hello', instructions: 'be kind', text: 'long' });
    await wait.reached;
    const { held } = await spending(stack);
    wait.open();
    const response = await answer;
    await response.arrayBuffer();
    const usage = await settledUsage(stack, response.headers.get('x-request-id') ?? '');
    assert.equal(usage.cost_usd, '0.00024');
    assert.equal(held, 240_000n);
  });

  it('is sent on as it comes, but for its end, which waits for the settlement', async () => {
    const wait = gate();
    stack.openai.script(audio(AUDIO, wait, AUDIO));
    const response = await speak({ model: 'tts-1', voice: 'alloy', input: 'hello' });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    assert.deepEqual(Buffer.from(first?.value ?? []), AUDIO.subarray(0, 5000 - 256));
    wait.open();
    let rest = 0;
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) rest += next.value.length;
    assert.equal(rest, 5000 + 256);
  });

  it('that breaks off closes the connection, and costs its whole input', async () => {
    stack.openai.script(audio(AUDIO, CUT));
    const response = await speak({ model: 'tts-1', voice: 'alloy', input: 'hello' });
    await assert.rejects(response.arrayBuffer());
    const usage = await settledUsage(stack, response.headers.get('x-request-id') ?? '');
    assert.deepEqual([usage.cost_usd, usage.status], ['0.000075', 'ProviderCut']);
  });

  it('that is an error, a page or nothing costs nothing', async () => {
    for (const reply of [
      json({ error: { message: 'no voice', type: 'invalid_request_error' } }),
      openaiError(400, 'invalid_request_error'),
      { headers: { 'content-type': 'text/html' }, steps: ['<html>busy</html>'] },
      audio(''),
    ]) {
      stack.openai.clear();
      stack.openai.script(reply);
      const response = await speak({ model: 'tts-1', voice: 'alloy', input: 'hello' });
      assert.ok(response.status >= 400, String(response.status));
      await response.arrayBuffer();
      assert.equal((await usageOf(stack, response)).cost_usd, '0.00');
    }
  });

  it('goes to a deployment of Azure', async () => {
    stack.openai.script(audio());
    const response = await speak({ model: 'azure-tts', voice: 'alloy', input: 'hello' });
    assert.equal((await response.arrayBuffer()).byteLength, AUDIO.length);
    const { path } = await stack.openai.request(0);
    assert.equal(path, '/openai/deployments/azure-tts/audio/speech?api-version=2025-03-01-preview');
  });
});

describe('speech by the token', () => {
  it('is billed by the audio that comes where events were asked for, and none are sent', async () => {
    for (const [model, cost] of [
      ['tts-1', '0.000075'],
      // two seconds of 21 tokens each, and the input: a token for four bytes
      ['mini-tts', undefined],
    ] as const) {
      stack.openai.clear();
      stack.openai.script(audio(Buffer.alloc(32_000, '\n\nab')));
      const response = await speak({ model, voice: 'alloy', input: 'hello', stream_format: 'sse' });
      assert.equal(response.headers.get('content-type'), 'audio/mpeg');
      assert.equal((await response.arrayBuffer()).byteLength, 32_000);
      const usage = await settledUsage(stack, response.headers.get('x-request-id') ?? '');
      assert.equal(usage.status, 'Succeeded');
      if (cost !== undefined) assert.equal(usage.cost_usd, cost);
      else assert.deepEqual([usage.output_tokens, usage.usage_source], [42, 'Estimated']);
    }
  });

  it('in events counts what has no data as audio, but for pings', async () => {
    const body = { model: 'mini-tts', voice: 'alloy', input: 'hello', stream_format: 'sse' };
    const headers = { 'content-type': 'text/event-stream' };
    // 80,000 bytes are five seconds of MP3
    stack.openai.script({ headers, steps: [': ping\n\n', `${'x'.repeat(79_998)}\n\n`, CUT] });
    const some = await post(stack, SPEECH, body);
    const usage = await settledUsage(stack, some.headers.get('x-request-id') ?? '');
    assert.deepEqual([usage.output_tokens, usage.status], [105, 'ProviderCut']);
    stack.openai.clear();
    stack.openai.script({ headers, steps: [': ping\n\n'] });
    const nothing = await post(stack, SPEECH, body);
    assert.equal((await settledUsage(stack, nothing.headers.get('x-request-id') ?? '')).cost_usd, '0.00');
  });

  it('in events is billed by the usage of the last one, all of whose output is audio', async () => {
    const events = [delta('abc'), delta('def'), done({ input_tokens: 14, output_tokens: 101, total_tokens: 115 })];
    stack.openai.script(sseReply(...events));
    const body = { model: 'mini-tts', voice: 'alloy', input: 'hello', stream_format: 'sse' };
    const response = await post(stack, SPEECH, body);
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.equal(response.text, events.map(({ data }) => `data: ${JSON.stringify(data)}\n\n`).join(''));
    const usage = await settledUsage(stack, response.headers.get('x-request-id') ?? '');
    // 14 · 0.6 / 10⁶ + 101 · 12 / 10⁶
    assert.deepEqual([usage.cost_usd, usage.usage_source], ['0.0012204', 'Provider']);
    assert.deepEqual([usage.input_tokens, usage.output_tokens], [14, 101]);
  });

  it('is held at the output limit of the model, and never costs more', async () => {
    const wait = gate();
    stack.openai.script({
      ...sseReply(delta('abc'), done({ input_tokens: 9, output_tokens: 10 ** 6 })),
      beforeHead: [wait],
    });
    const body = JSON.stringify({ model: 'mini-tts', voice: 'alloy', input: 'hello', stream_format: 'sse' });
    const answer = post(stack, SPEECH, body);
    await wait.reached;
    const { held } = await spending(stack);
    wait.open();
    // every byte of the body, a template of 144 tokens (in the dearest class, cache writes), and 2000 tokens of audio
    assert.equal(held, BigInt(body.length + 144) * 750n + 2000n * 12_000n);
    const usage = await settledUsage(stack, (await answer).headers.get('x-request-id') ?? '');
    assert.deepEqual([usage.cost_usd, usage.usage_source], ['0.0240054', 'Implausible']);
  });

  it('as bytes is estimated by the seconds that the bytes are', async () => {
    // two seconds of PCM at 24 kHz, of 21 tokens each
    stack.openai.script(audio(Buffer.alloc(96_000)));
    const response = await speak({ model: 'mini-tts', voice: 'alloy', input: 'hello', response_format: 'pcm' });
    await response.arrayBuffer();
    const usage = await settledUsage(stack, response.headers.get('x-request-id') ?? '');
    assert.deepEqual([usage.output_tokens, usage.usage_source], [42, 'Estimated']);
    // all output is audio, at its own price: 42 · 12, and the input at 0.6, per million
    assert.equal(usage.cost_usd, String((42 * 12 + usage.input_tokens * 0.6) / 1e6));
  });

  it('that ends with an error in its stream costs what had come, and before anything nothing', async () => {
    const error = { data: { type: 'error', error: { message: 'busy', type: 'server_error' } } };
    stack.openai.script(sseReply(error));
    const body = { model: 'mini-tts', voice: 'alloy', input: 'hello', stream_format: 'sse' };
    const nothing = await post(stack, SPEECH, body);
    assert.equal(nothing.status, 502, nothing.text);
    assert.equal((await settledUsage(stack, nothing.headers.get('x-request-id') ?? '')).cost_usd, '0.00');
    stack.openai.clear();
    stack.openai.script(sseReply(delta('a'.repeat(15_999)), error));
    const some = await post(stack, SPEECH, body);
    assert.match(some.text, /"busy"/);
    const usage = await settledUsage(stack, some.headers.get('x-request-id') ?? '');
    assert.deepEqual([usage.output_tokens, usage.status], [21, 'ProviderCut']);
  });
});

describe('a request for speech', () => {
  it('needs a text, and a stream of a known form', async () => {
    for (const [body, param] of [
      [{ model: 'tts-1' }, 'input'],
      [{ model: 'tts-1', input: '' }, 'input'],
      [{ model: 'tts-1', input: ['a'] }, 'input'],
      [{ model: 'tts-1', input: 'a', stream_format: 'SSE' }, 'stream_format'],
    ] as const) {
      const response = await post(stack, SPEECH, body);
      assert.deepEqual([response.status, response.json().error.param], [400, param]);
    }
  });

  it('is refused with a field that costs more, at another endpoint, and without limits for its tokens', async () => {
    const counted = await post(stack, SPEECH, { model: 'tts-1', input: 'a', n: 3 });
    assert.deepEqual([counted.status, counted.json().error.code], [400, 'not_allowed']);
    const wrong = await post(stack, SPEECH, { model: 'whisper-1', input: 'a' });
    assert.deepEqual([wrong.status, wrong.json().error.code], [400, 'wrong_endpoint']);
    assert.match(wrong.json().error.message, /\/v1\/audio\/transcriptions/);
    const chat = await post(stack, '/v1/chat/completions', {
      model: 'tts-1',
      messages: [{ role: 'user', content: 'a' }],
    });
    assert.match(chat.json().error.message, /POST \/v1\/audio\/speech/);
    const unlimited = await post(stack, SPEECH, { model: 'unlimited', input: 'a' });
    assert.deepEqual([unlimited.status, unlimited.json().error.code], [503, 'model_not_priced']);
    assert.match(unlimited.json().error.message, /contextTokens and maxOutputTokens/);
    assert.equal(stack.openai.requests.length, 0);
  });
});
