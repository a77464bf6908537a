/** What is refused before a session and within it, keys of browsers, second models, large messages, and shutdown. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { WebSocket } from 'ws';
import { KEYS } from '../../support/manifests.ts';
import { SESSION, usage } from '../../support/realtime-provider.ts';
import { get, tidyUp } from '../../support/api/test-stack.ts';
import type { Json } from '../../support/api/test-stack.ts';
import { manual, open, recordOf, startRealtimeStack } from './realtime-stack.ts';
import type { RealtimeStack } from './realtime-stack.ts';

let stack: RealtimeStack;
beforeAll(async () => {
  stack = await startRealtimeStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

interface Refusal {
  readonly status: number;
  readonly error: Json;
}

/** Asks for an upgrade, and resolves with the response that refuses it. */
function refused(query: string, headers: Record<string, string>): Promise<Refusal> {
  return new Promise((resolve, reject) => {
    const asked = request(`${stack.gateway.url}/v1/realtime${query}`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        ...headers,
      },
    });
    asked.on('upgrade', () => reject(new Error('it was upgraded')));
    asked.on('error', reject);
    asked.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, error: JSON.parse(String(Buffer.concat(pieces))).error }),
      );
    });
    asked.end();
  });
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

describe('a request for an upgrade is refused as HTTP', () => {
  it('by key, model, endpoint, price and money', async () => {
    const cases: readonly [query: string, headers: Record<string, string>, status: number, code: string][] = [
      ['?model=talker', {}, 401, 'invalid_api_key'],
      ['?model=talker', bearer('sk-unknown-0000000000000000'), 401, 'invalid_api_key'],
      ['?model=talker', bearer(KEYS.disabled), 401, 'invalid_api_key'],
      ['?model=talker', bearer(KEYS.narrow), 404, 'model_not_found'],
      ['?model=nothing', bearer(KEYS.main), 404, 'model_not_found'],
      ['?model=gpt-model', bearer(KEYS.main), 400, 'wrong_endpoint'],
      ['?model=deaf', bearer(KEYS.main), 503, 'model_not_priced'],
      ['?model=flat', bearer(KEYS.main), 503, 'model_not_priced'],
      ['?model=talker', bearer(KEYS.small), 429, 'insufficient_quota'],
      ['?model=talker', bearer(KEYS.poor), 402, 'credit_balance_exhausted'],
      ['', bearer(KEYS.main), 400, 'invalid_value'],
      ['?model=talker&call_id=x', bearer(KEYS.main), 400, 'invalid_value'],
    ];
    for (const [query, headers, status, code] of cases) {
      const refusal = await refused(query, headers);
      assert.deepEqual([refusal.status, refusal.error.code], [status, code], `${query} ${JSON.stringify(headers)}`);
    }
  });

  it('by the provider, whose message is passed on where the request is at fault', async () => {
    stack.provider.refuse({
      status: 400,
      body: { error: { message: 'no such voice', type: 'invalid_request_error' } },
    });
    const refusal = await refused('?model=talker', bearer(KEYS.main));
    assert.deepEqual([refusal.status, refusal.error.message], [400, 'no such voice']);
    stack.provider.refuse({ status: 500, body: {} });
    assert.equal((await refused('?model=talker', bearer(KEYS.main))).error.code, 'upstream_error');
    stack.provider.refuse(undefined);
  });

  it('without a WebSocket, and with one elsewhere', async () => {
    assert.equal((await get(stack, '/v1/realtime?model=talker')).status, 426);
    assert.equal((await get(stack, '/v1/realtime/client_secrets')).status, 404);
    const h2c = await get(stack, '/v1/models', { upgrade: 'h2c' }).catch(() => undefined);
    assert.ok(h2c === undefined || h2c.status === 200);
  });
});

describe('a browser', () => {
  it('sends its key as a subprotocol, which is neither returned nor passed on', async () => {
    const count = stack.provider.count;
    const socket = new WebSocket(`${stack.gateway.url.replace('http', 'ws')}/v1/realtime?model=talker`, [
      'realtime',
      `openai-insecure-api-key.${KEYS.main}`,
    ]);
    await new Promise((resolve) => socket.once('open', resolve));
    assert.equal(socket.protocol, 'realtime');
    const provider = await stack.provider.session(count);
    assert.ok(!JSON.stringify(provider.headers).includes(KEYS.main));
    socket.close();
    await provider.closed;
    for (let tries = 0; tries < 100 && stack.gateway.ledger.gauges().holds > 0; tries++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(!stack.gateway.logs.join('').includes(KEYS.main));
  });
});

describe('within a session', () => {
  it('what can cost more than is held is refused, and the session goes on', async () => {
    const { talk, provider } = await open(stack);
    const session = (more: object): object => ({ type: 'session.update', session: { type: 'realtime', ...more } });
    const cases: readonly [event: object, code: string, param: string][] = [
      [session({ model: 'deaf' }), 'invalid_value', 'session.model'],
      [session({ tools: [{ type: 'mcp', server_url: 'https://x' }] }), 'not_allowed', 'session.tools[0]'],
      [session({ prompt: { id: 'p' } }), 'not_allowed', 'session.prompt'],
      [session({ max_response_output_tokens: 9 }), 'not_allowed', 'session.max_response_output_tokens'],
      [session({ max_output_tokens: -1 }), 'invalid_value', 'session.max_output_tokens'],
      [{ type: 'response.create', response: { n: 4 } }, 'not_allowed', 'response.n'],
      [{ type: 'session.fork' }, 'not_allowed', 'session.fork'],
      [session({ audio: { input: { transcription: { model: 'nobody' } } } }), 'model_not_found', TRANSCRIBER],
    ];
    for (const [event, code, param] of cases) {
      talk.send({ ...event, event_id: param });
      const error = (await talk.next('error'))['error'] as Json;
      assert.deepEqual([error.code, error.param, error.event_id], [code, param, param]);
    }
    talk.sdk.socket.send('{"type": "response.create", "type": "x"}');
    assert.equal(((await talk.next('error'))['error'] as Json).code, 'invalid_value');
    talk.send({ type: 'response.create', event_id: 'mgw_1' });
    assert.equal(((await talk.next('error'))['error'] as Json).param, 'event_id');
    talk.sdk.socket.send('no JSON');
    assert.equal(((await talk.next('error'))['error'] as Json).code, 'invalid_json');
    // the gateway's own one, of the model's limit of output
    assert.deepEqual(
      provider.events.map(({ type }) => type),
      ['session.update'],
    );
    talk.send(session({ model: 'talker' }));
    assert.equal(((await provider.next('session.update'))['session'] as Json).model, 'up-realtime');
    talk.sdk.close();
    await talk.closed;
    assert.equal((await recordOf(stack, talk)).cost_usd, '0.00');
  });

  it('a function is called, and its result read', async () => {
    const both = await open(stack);
    const { talk, provider } = both;
    await manual(both);
    const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }];
    talk.send({ type: 'session.update', session: { type: 'realtime', tools } });
    await provider.next('session.update');
    talk.send({ type: 'response.create' });
    await provider.next('response.create');
    provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r1' } });
    const delta = { event_id: 'e', response_id: 'r1', call_id: 'c1', delta: '{"city":"Bonn"}' };
    provider.send({ type: 'response.function_call_arguments.delta', ...delta });
    provider.send({ type: 'response.done', event_id: 'e', response: { id: 'r1', usage: usage(80, 12) } });
    assert.equal((await talk.next('response.function_call_arguments.delta'))['delta'], '{"city":"Bonn"}');
    await talk.next('response.done');
    const item = { type: 'function_call_output', call_id: 'c1', output: 'sun' };
    talk.send({ type: 'conversation.item.create', item });
    assert.deepEqual((await provider.next('conversation.item.create'))['item'], item);
    talk.sdk.close();
    await talk.closed;
    assert.equal((await recordOf(stack, talk)).cost_usd, '0.000512');
  });

  it('transcriptions of a second model are billed by their tokens or their seconds', async () => {
    for (const [model, used, cost] of [
      ['writer', TOKENS_USED, '0.0001145'],
      ['minutes', { type: 'duration', seconds: 9 }, '0.0009'],
    ] as const) {
      const { talk, provider } = await open(stack);
      const audio = { input: { transcription: { model }, turn_detection: null } };
      talk.send({ type: 'session.update', session: { type: 'realtime', audio } });
      await provider.next('session.update');
      provider.send({ type: 'session.updated', event_id: 'e', session: { ...SESSION, audio } });
      await talk.next('session.updated');
      talk.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(9 * 48_000).toString('base64') });
      talk.send({ type: 'input_audio_buffer.commit' });
      await provider.next('input_audio_buffer.commit');
      provider.send({ type: 'input_audio_buffer.committed', event_id: 'e', item_id: 'i1' });
      const done = { event_id: 'e', item_id: 'i1', content_index: 0, transcript: 'hello', usage: used };
      provider.send({ type: 'conversation.item.input_audio_transcription.completed', ...done });
      await talk.next('conversation.item.input_audio_transcription.completed');
      talk.sdk.close();
      await talk.closed;
      assert.equal((await recordOf(stack, talk)).cost_usd, cost);
    }
  });

  it('a message that is too large ends it', async () => {
    const { talk } = await open(stack);
    talk.sdk.socket.send(`{"type":"x","y":"${'z'.repeat(17 * 1024 * 1024)}"}`);
    assert.equal((await talk.closed).code, 1009);
    await recordOf(stack, talk);
    const line = stack.gateway.logs.find((each) => each.includes(talk.requestId) && each.includes('error_code'));
    assert.match(line ?? '', /"error_code":"request_too_large"/);
  });

  it("a provider's message that is too large ends it, and is told as that", async () => {
    const { talk, provider } = await open(stack);
    provider.send({ type: 'response.output_text.delta', response_id: 'r1', delta: 'z'.repeat(17 * 1024 * 1024) });
    const error = (await talk.next('error'))['error'] as Json;
    assert.equal(error.message, 'The provider sent an event larger than 16 MiB, which the gateway does not pass on.');
    assert.equal((await talk.closed).code, 4502);
    assert.equal((await recordOf(stack, talk)).cost_usd, '0.00');
  });

  it("the provider's credential is masked where it repeats it", async () => {
    const { talk, provider } = await open(stack);
    provider.send({ type: 'error', event_id: 'e', error: { message: 'bad key provider-secret-000000001', code: 'x' } });
    assert.ok(!JSON.stringify(await talk.next('error')).includes('provider-secret-000000001'));
    talk.sdk.close();
    await talk.closed;
    await recordOf(stack, talk);
  });
});

const TRANSCRIBER = 'session.audio.input.transcription.model';
// 1 text · 2.5 + 12 audio · 6 + 4 output · 10 per million
const TOKENS_USED = {
  type: 'tokens',
  input_tokens: 13,
  output_tokens: 4,
  total_tokens: 17,
  input_token_details: { text_tokens: 1, audio_tokens: 12 },
};

describe('a gateway that shuts down', () => {
  it('ends sessions with 1001 once no response runs', async () => {
    const other = await startRealtimeStack();
    try {
      const both = await open(other);
      const { talk, provider } = both;
      await manual(both);
      talk.send({ type: 'response.create' });
      await provider.next('response.create');
      provider.send({ type: 'response.created', event_id: 'e', response: { id: 'r1' } });
      await talk.next('response.created');
      const drained = other.gateway.dataplane.drain();
      provider.send({ type: 'response.done', event_id: 'e', response: { id: 'r1', usage: usage(10, 5) } });
      await talk.next('response.done');
      assert.equal((await talk.closed).code, 1001);
      await drained;
      const { spentNanoUsd } = await other.gateway.ledger.readKey('team/main', 'Never');
      assert.equal(spentNanoUsd, 120_000n);
    } finally {
      await other.stop();
    }
  });
});
