/** Sessions with the official client: what passes, what each response costs, and how sessions end. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { SESSION, usage } from '../../support/realtime-provider.ts';
import { spending, tidyUp } from '../../support/api/test-stack.ts';
import type { Json } from '../../support/api/test-stack.ts';
import { manual, open, recordOf, startRealtimeStack } from './realtime-stack.ts';
import type { RealtimeStack, Talk } from './realtime-stack.ts';

let stack: RealtimeStack;
beforeAll(async () => {
  stack = await startRealtimeStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

async function end(talk: Talk): Promise<Json> {
  talk.sdk.close();
  await talk.closed;
  return recordOf(stack, talk);
}

const text = (words: string): object => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: words }] },
});

describe('a session', () => {
  it("passes events in both directions, with the model renamed and the channel's own key", async () => {
    const both = await open(stack);
    const { talk, provider } = both;
    assert.equal(provider.path, '/v1/realtime?model=up-realtime');
    assert.equal(provider.headers.authorization, 'Bearer provider-secret-000000001');
    assert.ok(!JSON.stringify(provider.headers).includes(KEYS.main));
    assert.equal(((talk.events[0] ?? {}) as Json).session.model, 'talker');
    await manual(both);
    talk.send(text('hello'));
    assert.deepEqual((await provider.next('conversation.item.create'))['item'], (text('hello') as Json).item);
    talk.send({ type: 'response.create' });
    await provider.next('response.create');
    provider.respond('r1', 'Hi there', usage(100, 20));
    assert.equal((await talk.next('response.output_text.delta'))['delta'], 'Hi there');
    await talk.next('response.done');
    const record = await end(talk);
    // 100 · 4 + 20 · 16 per million
    assert.deepEqual(
      [record.cost_usd, record.usage_source, record.status, record.tokens],
      ['0.00072', 'Provider', 'Succeeded', record.tokens],
    );
  });

  it('costs each response exactly, by text, audio and cached tokens', async () => {
    const both = await open(stack);
    const { talk, provider } = both;
    await manual(both);
    const before = await spending(stack);
    const details = {
      input_token_details: {
        text_tokens: 119,
        audio_tokens: 13,
        image_tokens: 0,
        cached_tokens: 64,
        cached_tokens_details: { text_tokens: 60, audio_tokens: 4 },
      },
      output_token_details: { text_tokens: 30, audio_tokens: 91 },
    };
    for (const id of ['r1', 'r2', 'r3']) {
      talk.send({ type: 'response.create' });
      await provider.next('response.create');
      provider.respond(id, 'x', usage(132, 121, details));
      await talk.next('response.done');
    }
    const record = await end(talk);
    // each: 59 text · 4 + 9 audio · 32 + 64 cached · 0.4 + 30 text · 16 + 91 audio · 64 = 6853.6 per million
    const each = 59 * 4000 + 9 * 32_000 + 64 * 400 + 30 * 16_000 + 91 * 64_000;
    assert.equal((await spending(stack)).spent - before.spent, BigInt(3 * each));
    assert.equal(record.usage_source, 'Provider');
  });

  it('holds what the next response can cost, and no more once the provider begins none by itself', async () => {
    const both = await open(stack);
    const worst = (input: number, output: number): bigint => BigInt(input * 32_000 + output * 64_000);
    const ahead = (await spending(stack)).held;
    assert.ok(ahead >= worst(4096, 4096) && ahead <= worst(4096, 4096) + 2n, String(ahead));
    const { talk, provider } = both;
    talk.send({ type: 'session.update', session: { type: 'realtime', max_output_tokens: 100 } });
    await provider.next('session.update');
    provider.send({ type: 'session.updated', event_id: 'e', session: { ...SESSION, max_output_tokens: 100 } });
    await talk.next('session.updated');
    await manual(both);
    talk.send({ type: 'response.create', response: { max_output_tokens: 50 } });
    await provider.next('response.create');
    provider.respond('r1', 'x', usage(10, 5));
    await talk.next('response.done');
    assert.equal((await spending(stack)).held, 10n * 4000n + 5n * 16_000n);
    await end(talk);
  });
});
