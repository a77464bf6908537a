/** A call longer than the model's context: each dialect's clients get the words by which agents shorten it. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, describe, it } from 'vitest';
import { anthropicError, anthropicStream, breakAt, json, openaiStream, sse } from '../../support/provider-answers.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { chat, message, post } from '../../support/api/test-stack.ts';
import type { Answer, Json } from '../../support/api/test-stack.ts';
import { startFourChannels } from '../../support/worlds/four-channels.ts';

const { stack, providers, script, endTest, stop } = await startFourChannels();
afterAll(stop);
afterEach(endTest);

const error = (body: object, status = 400): Reply => json({ error: body }, { status });
/** What providers say, and the figures in it. */
const SAID: readonly (readonly [text: string, figures?: string])[] = [
  [
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens.",
    '150000 tokens > 128000 maximum',
  ],
  [
    "This endpoint's maximum context length is 1048576 tokens. However, you requested about 1293741 tokens",
    '1293741 tokens > 1048576 maximum',
  ],
  ['Your input exceeds the context window of this model. Please adjust your input and try again.'],
  ['the request exceeds the available context size, try increasing it'],
  ['Please reduce the length of the messages or completion.'],
  [
    'Trying to keep the first 9000 tokens when context the overflows. However, the model is greater than the context length',
  ],
  ['Input is too long for requested model.'],
  [
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    '140000 tokens > 131072 maximum',
  ],
];

const MODELS = { chats: 'four-model', messages: 'messages-model', google: 'google-model' } as const;
const contents = [{ role: 'user', parts: [{ text: 'hello' }] }];
const CLIENTS = {
  chat: (model: string, stream = false) => post(stack, '/v1/chat/completions', chat(model, { stream })),
  responses: (model: string, stream = false) => post(stack, '/v1/responses', { model, input: 'hello', stream }),
  messages: (model: string, stream = false) => post(stack, '/v1/messages', message(model, { stream })),
  gemini: (model: string, stream = false) =>
    post(stack, `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`, {
      contents,
    }),
} satisfies Record<string, (model: string, stream?: boolean) => Promise<Answer>>;

describe('a context that is exceeded', () => {
  for (const [text, figures] of SAID)
    it(`is said in each dialect's words: ${text}`, async () => {
      for (const model of Object.values(MODELS)) {
        const refusal = error({ message: text, type: 'invalid_request_error', code: 400, status: 'INVALID_ARGUMENT' });
        script(refusal);
        const toAnthropic = await CLIENTS.messages(model);
        assert.deepEqual([toAnthropic.status, toAnthropic.json().error.type], [400, 'invalid_request_error']);
        assert.equal(toAnthropic.json().error.message, `prompt is too long: ${figures ?? text}`);
        for (const call of [CLIENTS.chat, CLIENTS.responses]) {
          script(refusal);
          const answer = await call(model);
          const told: Json = answer.json().error;
          assert.deepEqual(
            [answer.status, told.type, told.code],
            [400, 'invalid_request_error', 'context_length_exceeded'],
          );
          assert.match(told.message, /context (length|window)/);
        }
        script(refusal);
        const toGoogle = (await CLIENTS.gemini(model)).json().error;
        assert.deepEqual([toGoogle.code, toGoogle.status], [400, 'INVALID_ARGUMENT']);
        assert.match(toGoogle.message, /input token count.*exceeds the maximum number of tokens allowed/);
      }
      assert.equal(providers[1]?.requests.length, 0);
    });

  it("keeps Anthropic's and Google's own words", async () => {
    const own = 'prompt is too long: 210000 tokens > 200000 maximum';
    script(anthropicError(400, 'invalid_request_error', own));
    assert.equal((await CLIENTS.messages(MODELS.messages)).json().error.message, own);
    const google = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).';
    script(error({ code: 400, message: google, status: 'INVALID_ARGUMENT' }));
    assert.equal((await CLIENTS.gemini(MODELS.google)).json().error.message, google);
    script(error({ code: 400, message: google, status: 'INVALID_ARGUMENT' }));
    assert.equal(
      (await CLIENTS.messages(MODELS.google)).json().error.message,
      'prompt is too long: 1200000 tokens > 1048576 maximum',
    );
  });
  it('is 400 also where the provider says it with 500', async () => {
    script(error({ message: 'the request exceeds the available context size', type: 'server_error' }, 500));
    assert.equal((await CLIENTS.chat(MODELS.chats)).status, 400);
    assert.equal(providers[1]?.requests.length, 0);
  });
  it('is told apart from a limit of tokens per minute', async () => {
    const limit = error(
      { message: 'Request too large: reduce the length of the messages. Limit 30000 tokens per minute' },
      429,
    );
    script(limit, limit, limit);
    assert.equal((await CLIENTS.chat(MODELS.chats)).status, 429);
  });
  it('is said so within a stream', async () => {
    const [[text]] = SAID as readonly [readonly [string]];
    const event = sse({ data: { error: { message: text, type: 'invalid_request_error', code: null } } });
    script(breakAt(openaiStream(['x', 'y']), 2, event));
    assert.match(
      (await CLIENTS.messages(MODELS.chats, true)).text,
      /"message":"prompt is too long: 150000 tokens > 128000/,
    );
    script(breakAt(openaiStream(['x', 'y']), 2, event));
    assert.match((await CLIENTS.chat(MODELS.chats, true)).text, /"code":"context_length_exceeded"/);
    script(breakAt(openaiStream(['x', 'y']), 2, event));
    assert.match(
      (await CLIENTS.responses(MODELS.chats, true)).text,
      /response.failed.*"code":"context_length_exceeded"/s,
    );
    script(breakAt(openaiStream(['x', 'y']), 2, event));
    assert.match((await CLIENTS.gemini(MODELS.chats, true)).text, /input token count \(150000\) exceeds/);
    const own = sse({
      event: 'error',
      data: {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
      },
    });
    script(breakAt(anthropicStream(['x', 'y']), 3, own));
    assert.match((await CLIENTS.chat(MODELS.messages, true)).text, /"code":"context_length_exceeded"/);
  });
});
