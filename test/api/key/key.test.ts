/** GET /v1/key: a key's description of itself (docs/reference/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { gated, openaiChat } from '../../support/provider-answers.ts';
import { chat, get, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const KEY = (name: string): string => `sk-test-${name}-`.padEnd(43, '0');
const as = (name: string): Record<string, string> => ({ 'x-api-key': KEY(name) });
/** A Tuesday afternoon, UTC. */
const NOW = Date.parse('2026-03-31T15:00:00Z');
let nowMs = NOW;
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    nowMs: () => nowMs,
    files: () => ({
      'monthly.yaml': keyManifest(
        'monthly',
        KEY('monthly'),
        `quota: {limitUsd: "5.5", period: Monthly}
expirationTime: "2027-01-01T00:00:00Z"
models: [text-model, gpt-model]
rateLimits: {requestsPerMinute: 60, inputTokensPerMinute: 100000}`,
      ),
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => {
  nowMs = NOW;
  tidyUp(stack);
});

/** A body of at most 1000 tokens. */
const LONG = [{ role: 'user', content: 'x'.repeat(1000) }];

describe('GET /v1/key', () => {
  it('describes the calling key, with its hold while a call runs', async () => {
    const waiting = gated(openaiChat({ usage: { prompt_tokens: 1000, completion_tokens: 100 } }));
    stack.openai.script(waiting.reply);
    const call = post(
      stack,
      '/v1/chat/completions',
      chat('text-model', { max_tokens: 100, messages: LONG }),
      as('monthly'),
    );
    await waiting.gate.reached;
    const running = (await get(stack, '/v1/key', as('monthly'))).json();
    assert.ok(Number(running.held_usd) >= 0.001, running.held_usd);
    assert.deepEqual(
      [running.spent_usd, running.remaining_usd],
      ['0.00', '5.50'],
      'remaining is limit less spent, whatever is held',
    );
    waiting.gate.open();
    await call;
    const { balance_usd: balance, ...rest } = (await get(stack, '/v1/key', as('monthly'))).json();
    assert.match(balance, /^999\.9\d+$/);
    assert.deepEqual(rest, {
      object: 'key',
      namespace: 'team',
      name: 'monthly',
      key_prefix: KEY('monthly').slice(0, 8),
      account: 'team',
      group: 'Main',
      enabled: true,
      models: ['gpt-model', 'text-model'],
      quota: { limit_usd: '5.50', period: 'Monthly', resets_at: '2026-04-01T00:00:00Z' },
      spent_usd: '0.0035',
      held_usd: '0.00',
      remaining_usd: '5.4965',
      rate_limits: { requests_per_minute: 60, input_tokens_per_minute: 100_000, output_tokens_per_minute: null },
      expires_at: '2027-01-01T00:00:00Z',
    });
  });
  it('refuses a key from the moment it expires', async () => {
    stack.openai.script(openaiChat());
    nowMs = Date.parse('2026-12-31T23:59:59.999Z');
    assert.equal((await post(stack, '/v1/chat/completions', chat(), as('monthly'))).status, 200);
    nowMs = Date.parse('2027-01-01T00:00:00Z');
    const answer = await post(stack, '/v1/chat/completions', chat(), as('monthly'));
    assert.equal(answer.status, 401);
    assert.match(answer.json().error.message, /expired/);
  });
});
