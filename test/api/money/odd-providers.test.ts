/** Providers that break off, report no usage or never close: the cost of the call. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { CUT, STALL } from '../../support/mock-provider.ts';
import { json, openaiChat, openaiStream, sseReply } from '../../support/provider-answers.ts';
import { chat, get, message, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

describe('a provider', () => {
  it('that sends only a busy event before it breaks off has produced nothing', async () => {
    const before = await spending(stack);
    stack.openai.script({
      headers: { 'content-type': 'text/event-stream' },
      steps: [': PROCESSING\n\n', ': PROCESSING\n\n', CUT],
    });
    const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    assert.match(answer.text, /"error"/);
    assert.deepEqual(await spending(stack), before);
  });
  it('that reports no usage is not billed above the output limit', async () => {
    stack.openai.script(openaiChat({ content: 'x'.repeat(2100), usage: null }));
    const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', { max_tokens: 300 }));
    const usage = (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`)).json();
    assert.deepEqual([usage.usage_source, usage.output_tokens], ['Estimated', 300]);
  });
  it('that does not close a finished stream is disconnected', async () => {
    stack.openai.script({ ...openaiStream(['hi']), steps: [...openaiStream(['hi']).steps, STALL] });
    const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    assert.ok(answer.text.endsWith('data: [DONE]\n\n'));
    const request = await stack.openai.request(0);
    await request.over;
    assert.equal(request.clientGone, true);
  });
  it('that is overloaded in its first event still determines the status', async () => {
    stack.anthropic.script(
      sseReply({
        event: 'error',
        data: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      }),
    );
    const answer = await post(stack, '/v1/messages', message('claude-model', { stream: true }));
    assert.equal(answer.status, 529);
    assert.equal(answer.json().error.type, 'overloaded_error');
  });
});

describe('a header', () => {
  it('cannot raise the context that bounds the price', async () => {
    stack.anthropic.script(json({}));
    const answer = await post(stack, '/v1/messages', message(), {
      'x-api-key': KEYS.main,
      'anthropic-beta': 'token-efficient-tools-2025-02-19, context-1m-2025-08-07',
    });
    assert.equal(answer.status, 400);
    assert.match(answer.json().error.message, /anthropic-beta/);
    assert.equal(stack.anthropic.requests.length, 0);
  });
});
