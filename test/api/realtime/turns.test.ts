/** Turns that the provider begins, money that ends, and ends of sessions by either side. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { usage } from '../../support/realtime-provider.ts';
import { spending, tidyUp } from '../../support/api/test-stack.ts';
import type { Json } from '../../support/api/test-stack.ts';
import { manual, open, recordOf, startRealtimeStack, Talk } from './realtime-stack.ts';
import type { RealtimeStack } from './realtime-stack.ts';

const VOICE_KEY = 'sk-test-voice-000000000000000000000000000000';
const LIMITED_KEY = 'sk-test-limited-0000000000000000000000000000';
const TIGHT_KEY = 'sk-test-tight-000000000000000000000000000000';

let stack: RealtimeStack;
beforeAll(async () => {
  const keys =
    // two responses at their most, and no third
    keyManifest('voice', VOICE_KEY, 'quota: {limitUsd: "0.9"}') +
    keyManifest('limited', LIMITED_KEY, 'rateLimits: {outputTokensPerMinute: 150}') +
    keyManifest('tight', TIGHT_KEY, 'rateLimits: {outputTokensPerMinute: 150}\nmaxConcurrency: 1');
  stack = await startRealtimeStack({ files: () => ({ 'voice.yaml': keys }) });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

/** A second of silence as PCM. */
const SECOND = Buffer.alloc(48_000).toString('base64');
const append = { type: 'input_audio_buffer.append', audio: SECOND };

describe('turns that the provider begins', () => {
  it('are billed by their usage, and the next one is held before it can begin', async () => {
    const { talk, provider } = await open(stack);
    const ahead = (await spending(stack)).held;
    for (let second = 0; second < 3; second++) talk.send(append);
    for (let second = 0; second < 3; second++) await provider.next('input_audio_buffer.append');
    provider.send({ type: 'input_audio_buffer.committed', event_id: 'e', item_id: 'item_1' });
    provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r1', status: 'in_progress' } });
    await talk.next('response.created');
    // one runs, and another one may come
    assert.ok((await spending(stack)).held >= ahead + 4096n * 64_000n);
    provider.send({ type: 'response.output_audio.delta', event_id: 'e', response_id: 'r1', delta: SECOND });
    const details = {
      input_token_details: { text_tokens: 100, audio_tokens: 30, cached_tokens: 0 },
      output_token_details: { text_tokens: 10, audio_tokens: 20 },
    };
    provider.send({ type: 'response.done', event_id: 'e', response: { id: 'r1', usage: usage(130, 30, details) } });
    await talk.next('response.done');
    talk.sdk.close();
    await talk.closed;
    const record = await recordOf(stack, talk);
    const nano = 100 * 4000 + 30 * 32_000 + 10 * 16_000 + 20 * 64_000;
    assert.equal(Number(record.cost_usd) * 1e9, nano);
    assert.deepEqual([record.status, record.usage_source], ['Succeeded', 'Provider']);
  });

  it('hold more before audio is passed on that exceeds what is held', async () => {
    const { talk, provider } = await open(stack);
    const before = (await spending(stack)).held;
    // 5 minutes at 20 tokens a second are more than a slice
    const minute = Buffer.alloc(60 * 48_000).toString('base64');
    for (let count = 0; count < 5; count++) talk.send({ ...append, audio: minute });
    for (let count = 0; count < 5; count++) await provider.next('input_audio_buffer.append');
    assert.equal((await spending(stack)).held - before, 4096n * 32_000n);
    talk.sdk.close();
    await talk.closed;
    assert.equal((await recordOf(stack, talk)).cost_usd, '0.00');
  });

  it('end the session when the money for the next one is not there, with what runs billed', async () => {
    const { talk, provider } = await open(stack, { key: VOICE_KEY });
    provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r1' } });
    await talk.next('response.created');
    provider.send({
      type: 'response.done',
      event_id: 'e',
      response: { id: 'r1', usage: usage(31_000, 4000, AUDIO_ONLY) },
    });
    const error = (await talk.next('error'))['error'] as Json;
    assert.deepEqual([error.type, error.code], ['insufficient_quota', 'insufficient_quota']);
    assert.equal((await talk.closed).code, 4429);
    assert.equal(await provider.closed, 1000);
    assert.equal((await recordOf(stack, talk, VOICE_KEY)).status, 'Succeeded');
    const { spent } = await spending(stack, 'voice');
    assert.ok(spent <= 900_000_000n, String(spent));
  });

  it('are cancelled where a limit of tokens leaves too little for them', async () => {
    const { talk, provider } = await open(stack, { key: TIGHT_KEY });
    provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r1' } });
    await talk.next('response.created');
    provider.send({ type: 'response.done', event_id: 'e', response: { id: 'r1', usage: usage(10, 150) } });
    await talk.next('response.done');
    provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r2' } });
    assert.equal((await provider.next('response.cancel'))['response_id'], 'r2');
    assert.equal(((await talk.next('error'))['error'] as Json).code, 'rate_limit_exceeded');
    provider.send({
      type: 'response.done',
      event_id: 'e',
      response: { id: 'r2', status: 'cancelled', usage: usage(10, 1) },
    });
    await talk.next('response.done');
    talk.sdk.close();
    await talk.closed;
    await recordOf(stack, talk);
  });
});

const AUDIO_ONLY = {
  input_token_details: { text_tokens: 0, audio_tokens: 31_000, cached_tokens: 0 },
  output_token_details: { text_tokens: 0, audio_tokens: 4000 },
};

describe('responses that the client asks for', () => {
  it('are refused where a limit of tokens leaves too little, and the session goes on', async () => {
    const both = await open(stack, { key: LIMITED_KEY });
    const { talk, provider } = both;
    await manual(both);
    talk.send({ type: 'response.create', event_id: 'first', response: { max_output_tokens: 100 } });
    await provider.next('response.create');
    talk.send({ type: 'response.create', event_id: 'second', response: { max_output_tokens: 100 } });
    const refused = (await talk.next('error'))['error'] as Json;
    assert.deepEqual([refused.code, refused.event_id], ['rate_limit_exceeded', 'second']);
    provider.respond('r1', 'x', usage(10, 5));
    await talk.next('response.done');
    talk.send({ type: 'response.create', response: { max_output_tokens: 100 } });
    await provider.next('response.create');
    provider.respond('r2', 'x', usage(10, 5));
    await talk.next('response.done');
    talk.sdk.close();
    await talk.closed;
    await recordOf(stack, talk);
  });

  it('give back what they hold when the provider refuses them, with errors as it wrote them', async () => {
    const both = await open(stack);
    const { talk, provider } = both;
    await manual(both);
    for (const eventId of [undefined, 'mine']) {
      talk.send({ type: 'response.create', ...(eventId !== undefined && { event_id: eventId }) });
      const asked = await provider.next('response.create');
      const error = { type: 'invalid_request_error', code: 'busy', message: 'no', event_id: asked['event_id'] };
      provider.send({ type: 'error', event_id: 'e', error });
      const told = (await talk.next('error'))['error'] as Json;
      assert.deepEqual([told.code, told.event_id], ['busy', eventId ?? null]);
    }
    // the next step of the hold needs no more than was needed before
    talk.send({ type: 'response.create' });
    await provider.next('response.create');
    provider.respond('r1', '', usage(0, 0));
    await talk.next('response.done');
    assert.equal((await spending(stack)).held, 0n);
    talk.sdk.close();
    await talk.closed;
    await recordOf(stack, talk);
  });

  it('need a session, which a key without money gets none of', async () => {
    // the key has spent what it had
    await assert.rejects(new Talk(stack, { key: VOICE_KEY }).opened());
  });
});

describe('a session that is broken off', () => {
  it('by its client is billed by the figures that come for the cancelled response', async () => {
    const both = await open(stack);
    const { talk, provider } = both;
    await manual(both);
    talk.send({ type: 'response.create' });
    await provider.next('response.create');
    provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r1' } });
    await talk.next('response.created');
    talk.sdk.socket.terminate();
    assert.equal((await provider.next('response.cancel'))['response_id'], 'r1');
    provider.send({
      type: 'response.done',
      event_id: 'e',
      response: { id: 'r1', status: 'cancelled', usage: usage(50, 7) },
    });
    const record = await recordOf(stack, talk);
    assert.deepEqual([record.cost_usd, record.status, record.usage_source], ['0.000312', 'ClientClosed', 'Provider']);
  });

  it('by its client without such figures is billed by what has come', async () => {
    const both = await open(stack);
    const { talk, provider } = both;
    await manual(both);
    talk.send({ type: 'response.create' });
    await provider.next('response.create');
    provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r1' } });
    provider.send({ type: 'response.output_text.delta', event_id: 'e', response_id: 'r1', delta: 'x'.repeat(400) });
    await talk.next('response.output_text.delta');
    talk.sdk.socket.terminate();
    const record = await recordOf(stack, talk);
    assert.deepEqual([record.status, record.usage_source, record.output_tokens], ['ClientClosed', 'Partial', 100]);
  });

  it('by its provider tells the client, and is billed by what has come', async () => {
    const both = await open(stack);
    const { talk, provider } = both;
    await manual(both);
    talk.send({ type: 'response.create' });
    await provider.next('response.create');
    provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r1' } });
    provider.send({ type: 'response.output_text.delta', event_id: 'e', response_id: 'r1', delta: 'x'.repeat(400) });
    await talk.next('response.output_text.delta');
    provider.terminate();
    assert.equal(((await talk.next('error'))['error'] as Json).code, 'upstream_error');
    assert.equal((await talk.closed).code, 4502);
    const record = await recordOf(stack, talk);
    assert.deepEqual([record.status, record.usage_source, record.output_tokens], ['ProviderCut', 'Partial', 100]);
  });

  it('by its provider in good order passes on the code and the reason', async () => {
    const { talk, provider } = await open(stack);
    provider.close(1001, 'session expired');
    assert.deepEqual(await talk.closed, { code: 1001, reason: 'session expired' });
    assert.equal((await recordOf(stack, talk)).status, 'Succeeded');
  });
});

describe('a key that may have one call', () => {
  it('has no second session until the first one ends', async () => {
    const { talk } = await open(stack, { key: TIGHT_KEY });
    const second = new Talk(stack, { key: TIGHT_KEY });
    await assert.rejects(second.opened());
    talk.sdk.close();
    await talk.closed;
    await recordOf(stack, talk);
    const third = await open(stack, { key: TIGHT_KEY });
    third.talk.sdk.close();
    await third.talk.closed;
    await recordOf(stack, third.talk);
  });
});

describe('a slow reader', () => {
  it('slows its provider down, and gets everything', async () => {
    const both = await open(stack);
    const { talk, provider } = both;
    provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r1' } });
    await talk.next('response.created');
    talk.sdk.socket.pause();
    const delta = 'A'.repeat(256 * 1024);
    for (let count = 0; count < 200; count++)
      provider.send({ type: 'response.output_audio.delta', event_id: `e${count}`, response_id: 'r1', delta });
    provider.send({ type: 'response.done', event_id: 'e', response: { id: 'r1', usage: usage(10, 5) } });
    // 50 MiB do not fit into the buffers of two connections
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.ok(provider.socket.bufferedAmount > 20 * 1024 * 1024, String(provider.socket.bufferedAmount));
    talk.sdk.socket.resume();
    await talk.next('response.done');
    assert.equal(talk.events.filter(({ type }) => type === 'response.output_audio.delta').length, 200);
    talk.sdk.close();
    await talk.closed;
    assert.equal((await recordOf(stack, talk)).cost_usd, '0.00012');
  });
});
