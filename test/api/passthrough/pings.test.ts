/** Streams whose provider is silent: pings in the form of each dialect, which official clients ignore. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, afterEach, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { gate } from '../../support/mock-provider.ts';
import type { Reply } from '../../support/mock-provider.ts';
import {
  anthropicStream,
  insertAt,
  json,
  openaiError,
  openaiStream,
  sseReply,
} from '../../support/provider-answers.ts';
import { openaiResponseStream } from '../../support/response-answers.ts';
import { chat, message, spending } from '../../support/api/test-stack.ts';
import { startFourChannels } from '../../support/worlds/four-channels.ts';

const PING_AFTER_MS = 60;
const { stack, providers, script, endTest, stop } = await startFourChannels({ pingAfterMs: PING_AFTER_MS });
afterAll(stop);
afterEach(endTest);

const FORMS = {
  chat: ': ping\n\n',
  messages: 'event: ping\ndata: {"type":"ping"}\n\n',
  responses: 'event: keepalive\ndata: {"type":"keepalive"}\n\n',
  gemini: 'data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0}]}\n\n',
} as const;
type Form = keyof typeof FORMS;

const CALLS: Readonly<Record<Form, readonly [path: string, body: object]>> = {
  chat: ['/v1/chat/completions', chat('four-model', { stream: true })],
  messages: ['/v1/messages', message('messages-model', { stream: true })],
  responses: ['/v1/responses', { model: 'native-model', input: 'hello', stream: true }],
  gemini: [
    '/v1beta/models/four-model:streamGenerateContent?alt=sse',
    { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  ],
};
const STREAMS: Readonly<Record<Form, () => Reply>> = {
  chat: () => openaiStream(['hello']),
  messages: () => anthropicStream(['hello']),
  responses: () => openaiResponseStream(['hello']),
  gemini: () => openaiStream(['hello']),
};

/** Reads a call's stream, and calls back with the text so far. */
async function read(form: Form, onText: (text: string) => void): Promise<{ text: string; headers: Headers }> {
  const [path, body] = CALLS[form];
  const response = await fetch(stack.gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEYS.main}` },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200);
  let text = '';
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    onText(text);
  }
  return { text, headers: response.headers };
}

const afterHello = (text: string): string => (text.includes('hello') ? text.slice(text.indexOf('hello')) : '');
const countOf = (text: string, part: string): number => text.split(part).length - 1;

describe('a provider that says nothing', () => {
  for (const form of Object.keys(FORMS) as Form[]) {
    const before = form === 'responses' ? FORMS.chat : FORMS[form];
    it(`before its response: the stream begins with pings (${form})`, async () => {
      const wait = gate();
      script({ ...STREAMS[form](), beforeHead: [wait] });
      const { text, headers } = await read(form, (so) => {
        if (countOf(so, before) >= 2) wait.open();
      });
      assert.ok(text.startsWith(before + before), text);
      assert.match(text, /hello/);
      assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
      assert.equal(headers.get('x-accel-buffering'), 'no');
      assert.ok(headers.get('x-modelgateway-group'));
    });
    it(`within its response: pings follow what came (${form})`, async () => {
      const wait = gate();
      script(insertAt(STREAMS[form](), -2, wait));
      const { text } = await read(form, (so) => {
        if (countOf(afterHello(so), FORMS[form]) >= 2) wait.open();
      });
      assert.ok(countOf(afterHello(text), FORMS[form]) >= 2, text);
    });
  }

  it('and then fails is followed by the next channel, and the call is billed once', async () => {
    const wait = gate();
    const before = await spending(stack);
    script({ ...openaiError(503), beforeHead: [wait] }, openaiStream(['hello']));
    const { text } = await read('chat', () => wait.open());
    assert.match(text, /^: ping\n\n.*hello.*\[DONE\]\n\n$/s);
    assert.deepEqual(
      providers.map(({ requests }) => requests.length),
      [1, 1, 0, 0],
    );
    assert.ok((await spending(stack)).spent > before.spent);
  });
  for (const [form, event] of [
    ['chat', /^: ping\n\n(: ping\n\n)*data: {"error":{"message":"this is too odd",.*}}\n\n$/],
    [
      'messages',
      /\n\nevent: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"this is too odd"/,
    ],
    ['gemini', /\n\ndata: {"error":{"code":400,"message":"this is too odd"/],
    [
      'responses',
      /^: ping\n\n.*event: response\.created\n.*event: response\.failed\n.*"code":"invalid_prompt","message":"this is too odd"/s,
    ],
  ] as const)
    it(`and then refuses the request ends the stream with an error (${form})`, async () => {
      const wait = gate();
      const before = await spending(stack);
      script({ ...openaiError(400, 'this is too odd'), beforeHead: [wait] });
      const { text } = await read(form, () => wait.open());
      assert.match(text, event);
      assert.deepEqual(await spending(stack), before);
    });
  it('and then does not stream ends the stream with an error', async () => {
    const wait = gate();
    const before = await spending(stack);
    script({ ...json({ choices: [{ message: { role: 'assistant', content: 'x' } }] }), beforeHead: [wait] });
    assert.match((await read('chat', () => wait.open())).text, /does not stream/);
    assert.deepEqual(await spending(stack), before);
  });
});

/** Pings before the response, and within it. */
function silent(reply: Reply): Reply {
  const pause = (): Reply['steps'][number] => ({
    kind: 'gate',
    reached: Promise.resolve(),
    open: () => undefined,
    pass: () => new Promise((resolve) => void setTimeout(resolve, 3 * PING_AFTER_MS)),
  });
  return { ...insertAt(reply, -2, pause()), beforeHead: [pause()] };
}

describe('pings are ignored', () => {
  const base = { apiKey: KEYS.main, maxRetries: 0 };
  it("by OpenAI's client, in chats and responses", async () => {
    const client = new OpenAI({ ...base, baseURL: `${stack.gateway.url}/v1` });
    script(silent(openaiStream(['hel', 'lo'])));
    const completion = await client.chat.completions
      .stream({ model: 'four-model', messages: [{ role: 'user', content: 'hello' }] })
      .finalChatCompletion();
    assert.equal(completion.choices[0]?.message.content, 'hello');
    script(silent(openaiResponseStream(['hel', 'lo'])));
    const response = await client.responses.stream({ model: 'native-model', input: 'hello' }).finalResponse();
    assert.equal(response.status, 'completed');
  });
  it("by Anthropic's client", async () => {
    const client = new Anthropic({ ...base, baseURL: stack.gateway.url });
    script(silent(anthropicStream(['hel', 'lo'])));
    const answer = await client.messages
      .stream({ model: 'messages-model', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] })
      .finalText();
    assert.equal(answer, 'hello');
  });
  it("by Google's client, whose chat keeps the turn", async () => {
    const client = new GoogleGenAI({ apiKey: KEYS.main, httpOptions: { baseUrl: stack.gateway.url } });
    const conversation = client.chats.create({ model: 'google-model' });
    const chunk = (text: string, more = {}): object => ({
      candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
    });
    script(
      silent(sseReply({ data: chunk('hel') }, { data: chunk('l') }, { data: chunk('o', { finishReason: 'STOP' }) })),
    );
    let text = '';
    for await (const { text: piece } of await conversation.sendMessageStream({ message: 'hello' })) text += piece ?? '';
    assert.equal(text, 'hello');
    const history = conversation.getHistory(true).flatMap(({ role, parts }) => (role === 'model' ? (parts ?? []) : []));
    assert.equal(history.map((part) => part.text).join(''), 'hello');
  });
});

describe('a response that is no stream although one was asked for', () => {
  it('gets no ping while its settlement is awaited', async () => {
    script(json({ choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }] }));
    const { ledger } = stack.gateway;
    const settle = ledger.settle.bind(ledger);
    ledger.settle = async (settlement) => {
      await new Promise((resolve) => setTimeout(resolve, 5 * PING_AFTER_MS));
      return settle(settlement);
    };
    try {
      const [path, body] = CALLS.chat;
      const response = await fetch(stack.gateway.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${KEYS.main}` },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.match(text, /hello/);
      assert.doesNotMatch(text, /ping/);
    } finally {
      ledger.settle = settle;
    }
  });
});
