/**
 * Several channels that fail in different ways: what is retried, and which error the client gets
 * (docs/reference/errors.md).
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, describe, it } from 'vitest';
import { anthropicError, json, openaiChat, openaiError, openaiStream } from '../../support/provider-answers.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { message, post, spending } from '../../support/api/test-stack.ts';
import { startFourChannels } from '../../support/worlds/four-channels.ts';

const { stack, providers, script, call, endTest, stop } = await startFourChannels();
afterAll(stop);
afterEach(endTest);
const asked = (): number[] => providers.map(({ requests }) => requests.length);
const limited = (seconds?: number): Reply =>
  json(
    { error: { message: 'slow down' } },
    {
      status: 429,
      headers: seconds === undefined ? {} : { 'retry-after': String(seconds) },
    },
  );

describe('retries', () => {
  it('go to two further channels by default, and to none twice', async () => {
    script(openaiError(500), openaiError(503), openaiError(502), openaiChat());
    assert.equal((await call()).status, 502);
    assert.deepEqual(asked(), [1, 1, 1, 0]);
  });
  it('also apply to streams before the first byte, and the call is billed once', async () => {
    const before = await spending(stack);
    script(openaiError(500), openaiStream(['hi'], { usage: { prompt_tokens: 100, completion_tokens: 1 } }));
    const answer = await call({ stream: true });
    assert.match(answer.text, /"hi".*\[DONE\]/s);
    assert.equal((await spending(stack)).spent - before.spent, 202_000n);
  });
});

describe('the error that the client gets', () => {
  it("is an overload only if the last channel reported one: 503, in Anthropic's dialect 529", async () => {
    script(openaiError(500), openaiError(529), openaiError(529));
    assert.equal((await call()).status, 503);
    script(openaiError(529), openaiError(529), openaiError(500));
    assert.equal((await call()).status, 502);
    script(anthropicError(500), anthropicError(500), anthropicError(529, 'overloaded_error'));
    const answer = await post(stack, '/v1/messages', message('messages-model'));
    assert.deepEqual([answer.status, answer.json().error.type], [529, 'overloaded_error']);
  });
  it('is a rate limit only if every channel reported one, with the shortest retry-after', async () => {
    script(limited(30), limited(7), limited(90));
    const answer = await call();
    assert.deepEqual(
      [answer.status, answer.headers.get('retry-after'), answer.json().error.code],
      [429, '7', 'rate_limit_exceeded'],
    );
    script(limited(30), openaiError(500), limited(30));
    assert.deepEqual([(await call()).status], [502]);
  });
  it("is the provider's refusal of the request, and ends the retries", async () => {
    script(openaiError(500), openaiError(400, 'this is too odd', { code: 'odd_request' }));
    const answer = await call();
    assert.deepEqual(
      [answer.status, answer.json().error.message, answer.json().error.code],
      [400, 'this is too odd', 'odd_request'],
    );
    assert.deepEqual(asked(), [1, 1, 0, 0]);
  });
  it("contains no provider's address or key", async () => {
    const refusal = openaiError(401, `bad key sk-1234567890abcdefghij at ${providers[0]?.url}`);
    script(refusal, refusal, refusal);
    const answer = await call();
    assert.equal(answer.status, 502);
    assert.ok(!/sk-1234|127\.0\.0\.1/.test(answer.text), answer.text);
  });
});
