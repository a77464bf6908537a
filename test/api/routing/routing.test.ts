/** The choice of the channel: priorities, weights, thresholds, Automatic groups. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, describe, it } from 'vitest';
import { gated, openaiError, openaiStream } from '../../support/provider-answers.ts';
import { chat, get, post, spending } from '../../support/api/test-stack.ts';
import type { Answer } from '../../support/api/test-stack.ts';
import { keyOf, okSaying, said, startRouting } from '../../support/worlds/routing.ts';

const { stack, providers, endTest, stop } = await startRouting();
afterAll(stop);
afterEach(endTest);
const header = (name: string): Record<string, string> => ({ 'x-api-key': keyOf(name) });

/** A body of at most 1000 tokens. */
const LONG = [{ role: 'user', content: 'x'.repeat(1000) }];
const call = (
  model: string,
  headers: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Promise<Answer> => post(stack, '/v1/chat/completions', chat(model, { messages: LONG, ...more }), headers);

describe('channels', () => {
  it('with a lower priority number are used first', async () => {
    providers.first.script(okSaying('a'));
    for (let n = 0; n < 5; n++) assert.equal(said(await call('tiers-model')), 'a');
    assert.equal(providers.second.requests.length, 0);
  });
  it('of equal priority share conversations by weight, or calls if the route says so', async () => {
    for (const [model, conversation] of [
      ['weights', (n: number) => `${n}`],
      ['drawn', () => 'the same'],
    ] as const) {
      providers.first.script(okSaying('a'));
      providers.second.script(okSaying('b'));
      for (let n = 0; n < 80; n++)
        await call(`${model}-model`, {}, { messages: [{ role: 'user', content: conversation(n) }] });
      const share = providers.first.requests.length;
      // 60 expected; either bound is 5 standard deviations away
      assert.ok(share > 40 && share < 76, `${model}: ${share} of 80`);
      for (const provider of Object.values(providers)) provider.clear();
    }
  });
  it('that are full are skipped; if all are, the call gets 429', async () => {
    const a = gated(okSaying('a'));
    const b = gated(okSaying('b'));
    providers.first.script(a.reply);
    providers.second.script(b.reply);
    const one = call('limited-model');
    await a.gate.reached;
    const two = call('limited-model');
    await b.gate.reached;
    const three = await call('limited-model');
    assert.equal(three.status, 429);
    assert.ok(three.headers.get('retry-after'));
    a.gate.open();
    b.gate.open();
    assert.deepEqual([said(await one), said(await two)], ['a', 'b']);
    assert.deepEqual([providers.first.mostInFlight, providers.second.mostInFlight], [1, 1]);
  });
  it("apply a group's own threshold, whatever other groups do", async () => {
    const waiting = gated(okSaying('a'));
    providers.first.script(waiting.reply, okSaying('a'));
    const mine = call('tiers-model', header('capped'));
    await waiting.gate.reached;
    assert.equal((await call('tiers-model', header('capped'))).status, 429);
    assert.equal((await call('tiers-model')).status, 200);
    waiting.gate.open();
    assert.equal((await mine).status, 200);
  });
});

describe('an Automatic group', () => {
  // 1000 tokens in and 1000 out at $2 a million each are $0.004 at ratio 1
  it("is served by its first member, at that member's ratio times its own", async () => {
    providers.first.script(okSaying('a'));
    const answer = await call('tiers-model', header('smart'));
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.012');
    const usage = (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`, header('smart'))).json();
    assert.deepEqual([usage.group, usage.member], ['Smart · 智能', 'VIP']);
  });
  it('is named in headers by its displayName with the serving member, also for streams', async () => {
    const smart = 'Smart %C2%B7 %E6%99%BA%E8%83%BD';
    providers.first.script(okSaying('a'), openaiStream(['a']));
    const named = async (body: Record<string, unknown>, key: string): Promise<readonly unknown[]> => {
      const { headers } = await post(stack, '/v1/chat/completions', body, header(key));
      return [headers.get('x-modelgateway-group'), headers.get('x-modelgateway-member')];
    };
    assert.deepEqual(await named(chat('tiers-model'), 'smart'), [smart, 'VIP']);
    assert.deepEqual(await named(chat('tiers-model', { stream: true }), 'smart'), [smart, 'VIP']);
    providers.first.script(okSaying('a'));
    assert.deepEqual(await named(chat('tiers-model'), 'vip'), ['VIP', null]);
    assert.equal((await get(stack, '/v1/key', header('smart'))).json().group, 'Smart · 智能');
  });
  it('uses the next member if the first has no free slot', async () => {
    const waiting = gated(okSaying('a'));
    providers.first.script(waiting.reply);
    providers.second.script(okSaying('b'));
    const first = call('limited-model', header('smart'));
    await waiting.gate.reached;
    const second = await call('limited-model', header('smart'));
    assert.equal(said(second), 'b');
    assert.equal(second.headers.get('x-modelgateway-cost-usd'), '0.006');
    waiting.gate.open();
    assert.equal((await first).headers.get('x-modelgateway-cost-usd'), '0.012');
  });
  it('uses the next member if the first fails, and bills the member that served', async () => {
    providers.first.script(openaiError(503));
    providers.second.script(okSaying('b'));
    const answer = await call('tiers-model', header('smart'));
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.006');
    const { held } = await spending(stack, 'smart');
    assert.equal(held, 0n);
  });
});
