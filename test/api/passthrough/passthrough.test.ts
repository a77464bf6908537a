/** The same protocol on both sides: requests and responses are equal byte for byte, except for necessary changes. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { valueOfAccount } from '../../../dataplane/sealing/account-value.ts';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS, PROVIDER_KEYS } from '../../support/manifests.ts';
import {
  anthropicMessage,
  anthropicStream,
  json,
  openaiChat,
  openaiStream,
  sse,
} from '../../support/provider-answers.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { chat, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

/** A body that a re-encoder would change: spaces, escapes, big and precise numbers, unknown and nested fields. */
const ODD_CHAT =
  '{ "model":"gpt-model",\n "unknown_field": {"deep": [1.0, 1e2, 12345678901234567890, ' +
  '0.1000000000000000055]},' +
  ' "max_completion_tokens": 4000, "messages":[{"role":"user","content":"caf\\u00e9 \\/ ' +
  '\\ud83d\\ude00","name":"x"}], "metadata":{"a":"b"}}';
const ODD_MESSAGE =
  '{"max_tokens":77, "model" : "claude-model", ' +
  '"metadata":{"user_id":"u"},"thinking":{"type":"disabled"},' +
  '"messages":[{"role":"user","content":[{"type":"text","text":"h\\u00e9",' +
  '"cache_control":{"type":"ephemeral"},"new_field":1.50}]}],"top_k":5}';

describe('requests', () => {
  it('reach the provider byte for byte where nothing must change', async () => {
    stack.openai.script(openaiChat());
    stack.anthropic.script(anthropicMessage());
    await post(stack, '/v1/chat/completions', ODD_CHAT);
    await post(stack, '/v1/messages', ODD_MESSAGE);
    assert.equal((await stack.openai.request(0)).body.toString(), ODD_CHAT);
    assert.equal((await stack.anthropic.request(0)).body.toString(), ODD_MESSAGE);
    assert.equal((await stack.openai.request(0)).path, '/v1/chat/completions');
    assert.equal((await stack.anthropic.request(0)).path, '/v1/messages');
  });
  it("change only the model's name, the output limit and the request for usage", async () => {
    stack.openai.script(openaiStream());
    await post(
      stack,
      '/v1/chat/completions',
      '{"stream":true, "messages":[{"role":"user","content":"1.0"}] ,"model":"renamed-model","x":1.0}',
    );
    const sent = (await stack.openai.request(0)).body.toString();
    assert.ok(
      sent.startsWith(
        '{"stream":true, "messages":[{"role":"user","content":"1.0"}] ,"model":"upstream-name-7","x":1.0',
      ),
      sent,
    );
    assert.deepEqual(
      { ...JSON.parse(sent), messages: 0 },
      {
        stream: true,
        messages: 0,
        model: 'upstream-name-7',
        x: 1,
        max_completion_tokens: 4000,
        stream_options: { include_usage: true },
      },
    );
  });
  it("have the provider's credential and only the protocol's client headers", async () => {
    stack.openai.script(openaiChat());
    stack.anthropic.script(anthropicMessage());
    const headers = {
      cookie: 'session=1',
      'x-forwarded-for': '10.0.0.1',
      'openai-organization': 'org-x',
      'x-custom': 'stays',
      'idempotency-key': 'kept',
      'anthropic-beta': 'some-beta-2025',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    await post(stack, '/v1/chat/completions', chat(), headers);
    await post(stack, '/v1/messages', message(), { ...headers, 'x-api-key': KEYS.main });
    const openai = (await stack.openai.request(0)).headers;
    const anthropic = (await stack.anthropic.request(0)).headers;
    assert.equal(openai.authorization, `Bearer ${PROVIDER_KEYS.openai}`);
    assert.equal(anthropic['x-api-key'], PROVIDER_KEYS.anthropic);
    assert.equal(anthropic.authorization, undefined);
    assert.equal(anthropic['anthropic-version'], '2023-06-01');
    assert.equal(anthropic['anthropic-beta'], 'some-beta-2025');
    for (const got of [openai, anthropic]) {
      assert.equal(got['idempotency-key'], valueOfAccount('team/team', 'kept'));
      for (const name of ['cookie', 'x-forwarded-for', 'openai-organization', 'x-custom'])
        assert.equal(got[name], undefined, name);
      assert.ok(!JSON.stringify(got).includes(KEYS.main));
    }
  });
});

describe('responses that do not stream', () => {
  it("reach the client byte for byte, with the gateway's ids and without the provider's account", async () => {
    const body =
      '{"id":"chatcmpl-1" , "object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",' +
      '"content":"caf\\u00e9"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2},' +
      '"unknown":12345678901234567890}';
    const reply: Reply = {
      steps: [body],
      headers: {
        'x-request-id': 'req_of_provider',
        'openai-organization': 'org-secret',
        'set-cookie': 'a=b',
        'x-ratelimit-remaining-requests': '9',
        'x-provider-says': 'hello',
      },
    };
    stack.openai.script(reply);
    const answer = await post(stack, '/v1/chat/completions', chat());
    assert.equal(answer.text, body);
    assert.equal(answer.headers.get('x-provider-says'), 'hello');
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/);
    for (const name of ['openai-organization', 'set-cookie', 'x-ratelimit-remaining-requests'])
      assert.equal(answer.headers.get(name), null, name);
  });
  it('are decompressed if the provider compresses them unasked', async () => {
    const body = '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}';
    stack.openai.script({ steps: [gzipSync(body)], headers: { 'content-encoding': 'gzip' } });
    const answer = await post(stack, '/v1/chat/completions', chat());
    assert.equal(answer.text, body);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.0000275');
  });
  it('of 50 MB pass through, billed by the usage at their end', async () => {
    const body = `{"choices":[{"index":0,"message":{"role":"assistant","content":"${'x'.repeat(50_000_000)}"}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`;
    stack.openai.script({ steps: [body] });
    const answer = await post(stack, '/v1/chat/completions', chat());
    assert.equal(answer.text.length, body.length);
    assert.ok(answer.text === body);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), null);
    const usage = (await (
      await fetch(`${stack.gateway.url}/v1/usage/${answer.headers.get('x-request-id')}`, {
        headers: { 'x-api-key': KEYS.main },
      })
    ).json()) as { cost_usd: string; usage_source: string };
    assert.deepEqual([usage.cost_usd, usage.usage_source], ['0.0000275', 'Provider']);
  });
  it("keep the model's name of the provider", async () => {
    stack.openai.script(openaiChat({ model: 'upstream-name-7-2026' }));
    assert.equal(
      (await post(stack, '/v1/chat/completions', chat('renamed-model'))).json().model,
      'upstream-name-7-2026',
    );
  });
});

describe('streams', () => {
  const bytesOf = (reply: Reply): string =>
    reply.steps
      .map((step) => (typeof step === 'string' ? step : 'bytes' in step ? step.bytes.toString() : ''))
      .join('');

  it('of Anthropic pass byte for byte, unknown events and pings included', async () => {
    const reply = anthropicStream(['h\u00e9l', 'lo']);
    const steps = [
      ...reply.steps.slice(0, 2),
      'event: ping\ndata: {"type": "ping"}\n\n',
      'event: brand_new\ndata: {"type":"brand_new","x":1.0}\n\n',
      ...reply.steps.slice(2),
    ];
    stack.anthropic.script({ ...reply, steps });
    const answer = await post(stack, '/v1/messages', message('claude-model', { stream: true }));
    assert.equal(answer.text, bytesOf({ steps }));
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
  });
  it('of OpenAI pass byte for byte when the client asked for usage itself', async () => {
    const chunk = (fields: object): string => sse({ data: { id: 'c', object: 'chat.completion.chunk', ...fields } });
    const steps = [
      ': a comment\n\n',
      chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }], usage: null }),
      chunk({ choices: [{ index: 0, delta: { content: 'hi' }, unknown: 1 }], usage: null }),
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null }),
      chunk({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } }),
      'data: [DONE]\n\n',
    ];
    stack.openai.script({ headers: { 'content-type': 'text/event-stream' }, steps });
    const answer = await post(
      stack,
      '/v1/chat/completions',
      chat('gpt-model', { stream: true, stream_options: { include_usage: true } }),
    );
    assert.equal(answer.text, steps.join(''));
  });
  it('of OpenAI lose the usage that only the gateway asked for', async () => {
    stack.openai.script(openaiStream(['hel', 'lo']));
    const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    assert.ok(!answer.text.includes('usage'), answer.text);
    assert.ok(answer.text.includes('"hel"') && answer.text.endsWith('data: [DONE]\n\n'));
    assert.deepEqual((await stack.openai.request(0)).json()['stream_options'], { include_usage: true });
  });
  it('arrive as they are produced, not only at the end', async () => {
    const { gate } = await import('../../support/mock-provider.ts');
    const { insertAt } = await import('../../support/provider-answers.ts');
    const waiting = gate();
    stack.openai.script(insertAt(openaiStream(['first', 'second']), 2, waiting));
    const response = await fetch(`${stack.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-api-key': KEYS.main },
      body: JSON.stringify(chat('gpt-model', { stream: true })),
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    while (!seen.includes('first')) seen += (await reader.read()).value;
    assert.ok(!seen.includes('second'));
    waiting.open();
    for (let next = await reader.read(); !next.done; next = await reader.read()) seen += next.value;
    assert.ok(seen.includes('second'));
  });
  it("end with the provider's own error", async () => {
    const reply = anthropicStream(['hello']);
    stack.anthropic.script({
      ...reply,
      steps: [
        ...reply.steps.slice(0, 3),
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      ],
    });
    const answer = await post(stack, '/v1/messages', message('claude-model', { stream: true }));
    assert.match(answer.text, /event: error\ndata: \{"type":"error"/);
    assert.ok(!answer.text.includes('message_stop'));
    stack.openai.script({
      headers: { 'content-type': 'text/event-stream' },
      steps: [sse({ data: { error: { message: 'it broke', type: 'server_error', code: null, param: null } } })],
    });
    const other = await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    assert.match(other.text, /it broke/);
    assert.equal(other.status, 502, 'nothing had been sent, so that the status can still tell');
  });
  it('may be answered by the provider as a whole JSON response', async () => {
    stack.openai.script(
      json({
        choices: [{ index: 0, message: { content: 'hi' } }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      }),
    );
    const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    assert.equal(answer.json().choices[0].message.content, 'hi');
  });
});
