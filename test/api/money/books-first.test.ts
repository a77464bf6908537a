/** The end of a response is sent only once its settlement is in the ledger. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { chat, get, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { openaiChat, openaiStream } from '../../support/provider-answers.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

/** Runs the work while settlements wait; `asked` resolves at the first of them. */
async function withSettlementsHeld(work: (asked: Promise<void>, release: () => void) => Promise<void>): Promise<void> {
  const { ledger } = stack.gateway;
  const settle = ledger.settle.bind(ledger);
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  ledger.settle = async (settlement) => {
    asked.resolve();
    await released.promise;
    return settle(settlement);
  };
  try {
    await work(asked.promise, () => released.resolve());
  } finally {
    ledger.settle = settle;
    released.resolve();
  }
}

describe('before its settlement is in the ledger', () => {
  it('the end of a stream is not sent', () =>
    withSettlementsHeld(async (asked, release) => {
      stack.openai.script(openaiStream(['hel', 'lo']));
      const response = await fetch(`${stack.gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEYS.main}` },
        body: JSON.stringify(chat('gpt-model', { stream: true })),
      });
      let text = '';
      const reading = (async () => {
        for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) text += piece;
      })();
      await asked;
      assert.ok(!text.includes('[DONE]'));
      release();
      await reading;
      assert.ok(text.includes('"lo"') && text.endsWith('data: [DONE]\n\n'));
    }));

  for (const [what, size] of [
    ['that is not a stream', 10],
    ['over 8 MiB', 9 * 2 ** 20],
  ] as const)
    it(`an answer ${what} is not completed`, () =>
      withSettlementsHeld(async (asked, release) => {
        stack.openai.script(openaiChat({ content: 'x'.repeat(size) }));
        let whole = false;
        const running = post(stack, '/v1/chat/completions', chat()).then((answer) => {
          whole = true;
          return answer;
        });
        await asked;
        // everything that was sent before has arrived by the time another call on this machine has ended
        await get(stack, '/v1/models');
        assert.equal(whole, false);
        release();
        const answer = await running;
        assert.equal(answer.json().choices[0].message.content.length, size);
        assert.equal(answer.headers.has('x-modelgateway-cost-usd'), size < 8 * 2 ** 20);
      }));
});
