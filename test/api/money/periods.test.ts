/**
 * Daily and Monthly quotas by the calendar in UTC: they roll over once, and a call belongs to the period that it was
 * admitted in.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { chat, get, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { gated, openaiChat } from '../../support/provider-answers.ts';
import { assertBalanced, readBooks } from '../../support/api/books.ts';
import { keyOf, sharedKeys } from '../../support/api/scene.ts';

const DAY_MS = 86_400_000;
/** Keys by name, and their periods; `late` ones spend nothing before the last day of a month. */
const KEYS = {
  daily: 'Daily',
  monthly: 'Monthly',
  never: 'Never',
  'late-daily': 'Daily',
  'late-monthly': 'Monthly',
} as const;
type KeyName = keyof typeof KEYS;
let nowMs = 0;
let stack: TestStack;

beforeAll(async () => {
  nowMs = Date.parse('2026-12-30T12:00:00Z');
  stack = await startTestStack({
    nowMs: () => nowMs,
    files: () => ({
      'periods.yaml': sharedKeys(
        Object.entries(KEYS).map(([name, period]) => ({
          name,
          spec: `quota: {limitUsd: "0.01", period: ${period}, whenShort: Refuse}`,
        })),
        '100',
      ),
    }),
  });
  stack.openai.script(FULL);
});
afterAll(() => (stack as TestStack | undefined)?.stop());
afterEach(() => {
  assert.ok(nothingLeaks(stack));
  assertBalanced(readBooks(stack.gateway.dataDir));
});

/** 0.009 dollars: after such a call, no other one is affordable. */
const FULL = openaiChat({ usage: { prompt_tokens: 4, completion_tokens: 899 } });
const PERIODS = ['daily', 'monthly', 'never'] as const;

const headersOf = (name: KeyName): Record<string, string> => ({ 'x-api-key': keyOf(name) });
const call = (name: KeyName): Promise<Answer> =>
  post(stack, '/v1/chat/completions', chat('gpt-model', { max_tokens: 900 }), headersOf(name));
const keyView = async (name: KeyName): Promise<Json> => (await get(stack, '/v1/key', headersOf(name))).json();
const statuses = async (): Promise<number[]> => (await Promise.all(PERIODS.map(call))).map(({ status }) => status);
const at = (time: string): void => {
  nowMs = Date.parse(time);
};

/** The spending of each key in its period. */
async function spent(): Promise<unknown[]> {
  return Promise.all(PERIODS.map(async (period) => (await keyView(period)).spent_usd));
}

describe('periods', () => {
  it('keep a quota used up until the period ends, which /v1/key reports', async () => {
    assert.deepEqual(await statuses(), [200, 200, 200]);
    assert.deepEqual(await statuses(), [429, 429, 429]);
    assert.deepEqual(await spent(), ['0.009', '0.009', '0.009']);
    const resets = await Promise.all(PERIODS.map(async (period) => (await keyView(period)).quota));
    assert.deepEqual(resets, [
      { limit_usd: '0.01', period: 'Daily', resets_at: '2026-12-31T00:00:00Z' },
      { limit_usd: '0.01', period: 'Monthly', resets_at: '2027-01-01T00:00:00Z' },
      { limit_usd: '0.01', period: 'Never', resets_at: null },
    ]);
    at('2026-12-30T23:59:59.999Z');
    assert.deepEqual(await statuses(), [429, 429, 429]);
  });
  it('start a day at midnight UTC, once', async () => {
    at('2026-12-31T00:00:00Z');
    assert.deepEqual(await spent(), ['0.00', '0.009', '0.009']);
    assert.deepEqual(await statuses(), [200, 429, 429]);
    at('2026-12-31T00:00:00.001Z');
    assert.deepEqual(await statuses(), [429, 429, 429]);
    at('2026-12-31T23:59:59.999Z');
    assert.deepEqual(await statuses(), [429, 429, 429]);
    assert.equal((await keyView('daily')).quota.resets_at, '2027-01-01T00:00:00Z');
  });
  it('start a month on its first day, once, also in another year', async () => {
    at('2027-01-01T00:00:00Z');
    assert.deepEqual(await spent(), ['0.00', '0.00', '0.009']);
    assert.deepEqual(await statuses(), [200, 200, 429]);
    assert.deepEqual(await statuses(), [429, 429, 429]);
    at('2027-01-30T12:00:00Z');
    assert.deepEqual(await statuses(), [200, 429, 429]);
    assert.equal((await keyView('monthly')).quota.resets_at, '2027-02-01T00:00:00Z');
  });
  it('count a call that is settled after the boundary in the period before it', async () => {
    const late = ['late-daily', 'late-monthly'] as const;
    at('2027-01-31T23:59:59.999Z');
    const waiting = gated(FULL);
    stack.openai.script(waiting.reply);
    const running = late.map(call);
    await Promise.all(late.map(holding));
    for (const name of late) assert.equal((await call(name)).status, 429, 'its hold does not count');
    at('2027-02-01T00:00:00Z');
    for (const name of late) {
      const view = await keyView(name);
      assert.deepEqual([view.spent_usd, view.held_usd, view.remaining_usd], ['0.00', '0.00', '0.01']);
    }
    waiting.gate.open();
    const answers = await Promise.all(running);
    for (const [index, answer] of answers.entries()) {
      assert.equal(answer.status, 200);
      // it belongs to the old period, by whose limit it was admitted
      assert.equal(answer.headers.get('x-modelgateway-remaining-usd'), '0.001');
      const usage = (
        await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`, headersOf(late[index]!))
      ).json();
      assert.equal(usage.created_at, '2027-01-31T23:59:59.999Z');
      assert.equal((await keyView(late[index]!)).spent_usd, '0.00', 'the new period was charged');
    }
    stack.openai.script(FULL);
    for (const name of late)
      assert.deepEqual(
        [(await call(name)).status, (await call(name)).status],
        [200, 429],
        'the new period is not whole',
      );
    at('2027-01-31T12:00:00Z');
    for (const name of late) assert.equal((await keyView(name)).spent_usd, '0.009', 'the old period was not charged');
  });
  it('keep many calls over midnight apart, and overspend neither day', async () => {
    at('2027-02-01T23:59:59.999Z');
    stack.openai.script(() => {
      nowMs += 1;
      return FULL;
    });
    const answers: number[] = [];
    // each admitted call advances the clock: the second one is in the next day
    for (let n = 0; n < 4; n++) answers.push((await call('daily')).status);
    assert.deepEqual(answers, [200, 200, 429, 429]);
    stack.openai.script(FULL);
    nowMs += DAY_MS;
    assert.deepEqual(
      (await Promise.all(Array.from({ length: 20 }, () => call('daily')))).filter(({ status }) => status === 200)
        .length,
      1,
    );
  });

  /** Resolves once a call of the key is admitted. */
  async function holding(name: KeyName): Promise<void> {
    while ((await keyView(name)).held_usd === '0.00') await new Promise(setImmediate);
  }
});
