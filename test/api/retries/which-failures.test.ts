/** Failures of a channel after which another channel is tried, and others (docs/concepts/routing.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, describe, it } from 'vitest';
import { RESET, STALL } from '../../support/mock-provider.ts';
import { openaiError, openaiStream } from '../../support/provider-answers.ts';
import { chat, post } from '../../support/api/test-stack.ts';
import type { Answer } from '../../support/api/test-stack.ts';
import { okSaying, said, startRouting } from '../../support/worlds/routing.ts';

const { stack, providers, endTest, stop } = await startRouting();
afterAll(stop);
afterEach(endTest);

const call = (
  model: string,
  headers: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Promise<Answer> => post(stack, '/v1/chat/completions', chat(model, more), headers);

describe('channels', () => {
  for (const status of [408, 429, 500, 502, 503, 529])
    it(`that respond with ${status} are followed by the next`, async () => {
      providers.first.script(openaiError(status));
      providers.second.script(openaiError(status));
      providers.third.script(okSaying('c'));
      const answer = await call('tiers-model');
      assert.equal(said(answer), 'c');
      assert.deepEqual(
        [providers.first, providers.second, providers.third].map(({ requests }) => requests.length),
        [1, 1, 1],
        'one was tried twice',
      );
    });
  for (const status of [400, 404, 422])
    it(`that respond with ${status} are not followed by the next`, async () => {
      providers.first.script(openaiError(status));
      assert.notEqual((await call('tiers-model')).status, 200);
      assert.equal(providers.second.requests.length, 0);
    });
  it('that cannot be reached, or reset the connection, are followed by the next', async () => {
    providers.second.script(okSaying('b'));
    assert.equal(said(await call('dead-model')), 'b');
    providers.first.script({ beforeHead: [RESET], steps: [] });
    assert.equal(said(await call('tiers-model')), 'b');
  });
  it('that cut a stream off before its first byte are not followed by the next', async () => {
    providers.first.script({ ...openaiStream(['lost']), steps: [RESET] });
    const answer = await call('tiers-model', {}, { stream: true });
    assert.equal(answer.status, 502);
    assert.match(answer.json().error.message, /cannot be reached, or broke off/);
    assert.equal(providers.second.requests.length, 0);
  });
  it('that time out after the request was sent are not followed by the next', async () => {
    providers.first.script({ beforeHead: [STALL], steps: [] });
    const answer = await call('slow-model');
    assert.equal(answer.status, 502);
    assert.match(answer.json().error.message, /in time/);
    assert.equal((await call('slow-model', {}, { stream: true })).status, 502);
    assert.equal(providers.second.requests.length, 0);
  });
  it('are not changed after the client has got a byte', async () => {
    const { breakAt } = await import('../../support/provider-answers.ts');
    providers.first.script(breakAt(openaiStream(['hello', 'world']), 2, RESET));
    const answer = await call('tiers-model', {}, { stream: true });
    assert.equal(answer.status, 200);
    assert.match(answer.text, /hello.*"error"/s);
    assert.equal(providers.second.requests.length, 0);
  });
  it('are tried once if retry says so', async () => {
    providers.first.script(openaiError(500));
    providers.second.script(okSaying('b'));
    assert.equal((await call('once-model')).status, 502);
    assert.equal(providers.second.requests.length, 0);
  });
});
