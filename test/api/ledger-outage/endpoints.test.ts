/** A ledger that does not respond, endpoint by endpoint (docs/reference/errors.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { chat, get, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

describe('a ledger that does not respond', () => {
  it('causes 503 with retry-after on every endpoint that needs it, and on no other', async () => {
    const { ledger } = stack.gateway;
    const [admit, readKey, readUsage] = [
      ledger.admit.bind(ledger),
      ledger.readKey.bind(ledger),
      ledger.readUsage.bind(ledger),
    ];
    const unavailable = (): Promise<never> => Promise.reject(new LedgerUnavailable('gone'));
    Object.assign(ledger, { admit: unavailable, readKey: unavailable, readUsage: unavailable });
    try {
      const openai = [
        await post(stack, '/v1/chat/completions', chat()),
        await get(stack, '/v1/key'),
        await get(stack, '/v1/usage/req_1'),
      ];
      for (const answer of openai)
        assert.deepEqual(
          [answer.status, answer.json().error.type, answer.json().error.code],
          [503, 'server_error', 'ledger_unavailable'],
        );
      const anthropic = await post(stack, '/v1/messages', message());
      assert.deepEqual([anthropic.status, anthropic.json().error.type], [503, 'api_error']);
      for (const answer of [...openai, anthropic]) assert.ok(Number(answer.headers.get('retry-after')) >= 1);
      assert.equal(stack.openai.requests.length + stack.anthropic.requests.length, 0);
      assert.equal((await get(stack, '/v1/models')).status, 200);
      assert.equal((await get(stack, '/pricing')).status, 200);
    } finally {
      Object.assign(ledger, { admit, readKey, readUsage });
    }
  });
});
