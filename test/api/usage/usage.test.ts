/** GET /v1/usage/{id}: the record of a call (docs/reference/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { breakAt, openaiChat, openaiError, openaiStream, anthropicMessage } from '../../support/provider-answers.ts';
import { CUT } from '../../support/mock-provider.ts';
import { chat, get, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ nowMs: () => Date.parse('2026-03-31T15:00:00Z') });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const usageOf = async (id: string | null): Promise<Json> => (await get(stack, `/v1/usage/${id}`)).json();

describe('GET /v1/usage/{id}', () => {
  it('returns every call that had a hold, however it ended', async () => {
    const status = async (answer: Answer): Promise<unknown> => {
      const { status: ended, cost_usd: cost, usage_source: source } = await usageOf(answer.headers.get('x-request-id'));
      return [ended, Number(cost) > 0, source];
    };
    stack.openai.script(openaiChat());
    assert.deepEqual(await status(await post(stack, '/v1/chat/completions', chat())), ['Succeeded', true, 'Provider']);
    stack.openai.script(openaiError(500));
    assert.deepEqual(await status(await post(stack, '/v1/chat/completions', chat())), ['Failed', false, 'Provider']);
    stack.openai.script(breakAt(openaiStream(['a', 'b']), 2, CUT));
    assert.deepEqual(await status(await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }))), [
      'ProviderCut',
      true,
      'Partial',
    ]);
  });
  it('has exactly the documented fields', async () => {
    stack.anthropic.script(
      anthropicMessage({
        usage: { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 },
      }),
    );
    const answer = await post(stack, '/v1/messages', message());
    const { duration_ms: duration, ...rest } = await usageOf(answer.headers.get('x-request-id'));
    assert.equal(typeof duration, 'number');
    assert.deepEqual(rest, {
      object: 'usage',
      id: answer.headers.get('x-request-id'),
      created_at: '2026-03-31T15:00:00Z',
      model: 'claude-model',
      group: 'Main',
      member: null,
      channel: 'anthropic/direct',
      status: 'Succeeded',
      input_tokens: 5,
      cached_tokens: 3,
      cache_write_tokens: 4,
      cache_write_5m_tokens: 4,
      cache_write_1h_tokens: 0,
      output_tokens: 2,
      usage_source: 'Provider',
      cost_usd: answer.headers.get('x-modelgateway-cost-usd'),
      unbilled_usd: '0.00',
      lines: [
        ['input', 5, '3', '0.000015'],
        ['cacheRead', 3, '0.3', '0.0000009'],
        ['cacheWrite5m', 4, '3.75', '0.000015'],
        ['output', 2, '15', '0.00003'],
      ].map(([dimension, quantity, rate, amount]) => ({
        dimension,
        quantity,
        per: 1_000_000,
        rate_usd: rate,
        amount_usd: amount,
        service_tier: null,
        context_above: null,
        region: null,
        model: null,
      })),
    });
  });
  it('names the session that an agent says it is in', async () => {
    for (const [header, session] of [
      ['x-claude-code-session-id', 'claude-1'],
      ['session-id', 'codex-1'],
      ['session_id', 'codex-2'],
    ] as const) {
      stack.anthropic.script(anthropicMessage());
      const answer = await post(stack, '/v1/messages', message(), { [header]: session });
      assert.equal((await usageOf(answer.headers.get('x-request-id'))).session, session);
    }
  });
  it('returns 404 not_found for an unknown call', async () => {
    const answer = await get(stack, '/v1/usage/req_00000000000000000000000000000000');
    assert.deepEqual([answer.status, answer.json().error.code], [404, 'not_found']);
  });
});
