/** Failures that providers report with the status 200: the error's own code decides, and another channel is tried. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, describe, it } from 'vitest';
import type { Reply } from '../../support/mock-provider.ts';
import {
  anthropicMessage,
  anthropicStream,
  breakAt,
  json,
  openaiChat,
  openaiStream,
  sse,
  sseReply,
} from '../../support/provider-answers.ts';
import { openaiResponse, openaiResponseStream } from '../../support/response-answers.ts';
import { chat, message, post, spending } from '../../support/api/test-stack.ts';
import type { Answer } from '../../support/api/test-stack.ts';
import { startFourChannels } from '../../support/worlds/four-channels.ts';

const { stack, providers, script, endTest, stop } = await startFourChannels();
afterAll(stop);
afterEach(endTest);
const asked = (): number[] => providers.map(({ requests }) => requests.length);

const contents = [{ role: 'user', parts: [{ text: 'hello' }] }];
const gemini = { candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP' }] };

interface Pair {
  readonly name: string;
  readonly call: (stream: boolean) => Promise<Answer>;
  readonly whole: () => Reply;
  readonly stream: () => Reply;
}

/** Each protocol that passes through, and a conversion. */
const PAIRS: readonly Pair[] = [
  {
    name: 'chat completions',
    call: (stream) => post(stack, '/v1/chat/completions', chat('four-model', { stream })),
    whole: () => openaiChat(),
    stream: () => openaiStream(['hello']),
  },
  {
    name: 'messages',
    call: (stream) => post(stack, '/v1/messages', message('messages-model', { stream })),
    whole: () => anthropicMessage(),
    stream: () => anthropicStream(['hello']),
  },
  {
    name: 'responses',
    call: (stream) => post(stack, '/v1/responses', { model: 'native-model', input: 'hello', stream }),
    whole: () => openaiResponse(),
    stream: () => openaiResponseStream(['hello']),
  },
  {
    name: 'Gemini',
    call: (stream) =>
      post(stack, `/v1beta/models/google-model:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`, {
        contents,
      }),
    whole: () => json(gemini),
    stream: () => sseReply({ data: gemini }),
  },
  {
    name: 'messages on chat completions',
    call: (stream) => post(stack, '/v1/messages', message('four-model', { stream })),
    whole: () => openaiChat(),
    stream: () => openaiStream(['hello']),
  },
];

const LIMITED = { message: 'Provider returned error: slow down', code: 429 };
const FORMS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'an error with a number': { error: LIMITED },
  'an error beside empty content': { error: LIMITED, choices: [], content: [], candidates: [] },
  "vLLM's object": { object: 'error', message: 'slow down', code: 429 },
  "Anthropic's error": { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } },
  'a text': { error: 'slow down' },
};

describe('a response of 200', () => {
  for (const { name, call, whole, stream } of PAIRS) {
    for (const [form, error] of Object.entries(FORMS))
      it(`that is ${form} is followed by the next channel: ${name}`, async () => {
        script(json(error), whole());
        const answer = await call(false);
        assert.equal(answer.status, 200, answer.text);
        script(sseReply({ data: error }), stream());
        const streamed = await call(true);
        assert.equal(streamed.status, 200, streamed.text);
        assert.match(streamed.text, /hello/);
        assert.doesNotMatch(streamed.text, /slow down/);
        assert.deepEqual(asked(), [2, 2, 0, 0]);
      });
    it(`that is a page, or empty, is followed by the next channel: ${name}`, async () => {
      for (const text of ['<html>Bad gateway</html>', '']) {
        script({ headers: { 'content-type': 'text/html' }, steps: [text] }, whole());
        assert.equal((await call(false)).status, 200);
        script({ headers: { 'content-type': 'text/html' }, steps: [text] }, stream());
        assert.match((await call(true)).text, /hello/);
      }
      assert.deepEqual(asked(), [4, 4, 0, 0]);
    });
  }

  it('that is an error for every channel is the status of the error, with its words, and costs nothing', async () => {
    const { spent } = await spending(stack);
    const limited = json({ error: LIMITED });
    script(limited, limited, limited);
    const answer = await PAIRS[0]!.call(false);
    assert.deepEqual([answer.status, answer.json().error.code], [429, 'rate_limit_exceeded']);
    assert.match(answer.json().error.message, /Provider returned error: slow down/);
    const overloaded = json({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
    script(overloaded, overloaded, overloaded);
    const messages = await PAIRS[1]!.call(false);
    assert.deepEqual([messages.status, messages.json().error.type], [529, 'overloaded_error']);
    assert.match(messages.json().error.message, /Overloaded/);
    assert.equal((await spending(stack)).spent, spent);
  });
  it('that refuses the request ends the call with 400', async () => {
    script(json({ error: { message: 'this is too odd', type: 'invalid_request_error', code: 'odd_request' } }));
    const answer = await PAIRS[0]!.call(false);
    assert.deepEqual(
      [answer.status, answer.json().error.message, answer.json().error.code],
      [400, 'this is too odd', 'odd_request'],
    );
    assert.deepEqual(asked(), [1, 0, 0, 0]);
  });
  it('that is no response is told from one that is not JSON', async () => {
    const odd = json({ hello: 'world' });
    script(odd, odd, odd);
    assert.match((await PAIRS[0]!.call(false)).json().error.message, /answered something that is no response/);
  });
  it('that is empty is told as nothing, whole and in a stream', async () => {
    const empty = { status: 200, headers: {}, steps: [] };
    script(empty, empty, empty);
    assert.match((await PAIRS[0]!.call(false)).json().error.message, /answered nothing/);
    const silent = sseReply(': ping\n\n');
    script(silent, silent, silent);
    assert.match((await PAIRS[0]!.call(true)).json().error.message, /answered nothing/);
  });
  it('whose error refuses the credential says nothing of it to the client', async () => {
    const refusal = json({ error: { message: 'Your balance is 0', code: 'insufficient_quota' } });
    script(refusal, refusal, refusal);
    const answer = await PAIRS[0]!.call(false);
    assert.equal(answer.status, 502);
    assert.doesNotMatch(answer.text, /balance/);
    assert.deepEqual(asked(), [1, 1, 1, 0]);
  });
});

describe('a stream', () => {
  it('of which nothing but pings was read is followed by the next channel', async () => {
    script(
      sseReply(': OPENROUTER PROCESSING\n\n', ': OPENROUTER PROCESSING\n\n', { data: { error: LIMITED } }),
      openaiStream(['hello']),
    );
    const answer = await PAIRS[0]!.call(true);
    assert.match(answer.text, /hello.*\[DONE\]/s);
    assert.doesNotMatch(answer.text, /error/);
  });
  it('that fails after its first text ends with the error', async () => {
    script(breakAt(openaiStream(['hello', 'world']), 2, sse({ data: { error: LIMITED } })));
    const answer = await PAIRS[0]!.call(true);
    assert.match(answer.text, /hello.*slow down/s);
    assert.deepEqual(asked(), [1, 0, 0, 0]);
  });
});

it('attempts that failed in a response of 200 are counted as errors', async () => {
  script(json({ error: LIMITED }), openaiChat());
  await PAIRS[0]!.call(false);
  const line = stack.gateway.logs.findLast((text) => text.includes('"attempts"')) ?? '';
  assert.deepEqual(
    JSON.parse(line).attempts.map(({ outcome }: { outcome: string }) => outcome),
    ['error', 'ok'],
  );
});
