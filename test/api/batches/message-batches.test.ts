/** Anthropic's message batches: checked request by request, held at the price of a batch, and billed by what succeeded. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { requestsOf, serveMessageBatches } from '../../support/batch-provider.ts';
import type { BatchProvider } from '../../support/batch-provider.ts';
import { KEYS } from '../../support/manifests.ts';
import { get, nothingLeaks, post, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { BATCH_PRICE, batchesManifest } from './batches-manifest.ts';

const LIMIT = 100;

let stack: TestStack;
let provider: BatchProvider;

beforeAll(async () => {
  stack = await startTestStack({ files: (urls) => ({ 'batches.yaml': batchesManifest(urls) }) });
});
afterAll(() => stack.stop());
beforeEach(() => {
  assert.ok(nothingLeaks(stack), 'a hold or a slot was left behind');
  stack.anthropic.clear();
  provider = serveMessageBatches(stack.anthropic);
});

function request(id: string, more: object = {}): object {
  const messages = [{ role: 'user', content: 'hello' }];
  return { custom_id: id, params: { model: 'claude-batch', max_tokens: LIMIT, messages, ...more } };
}

const headersOf = (key: string): Record<string, string> => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' });

function create(body: unknown, key: string = KEYS.main): Promise<Answer> {
  return post(stack, '/v1/messages/batches', body, headersOf(key));
}

interface Made {
  readonly id: string;
  readonly ownId: string;
  readonly callId: string;
}

async function make(requests: readonly object[]): Promise<Made> {
  const answer = await create({ requests });
  assert.equal(answer.status, 200, answer.text);
  return {
    id: answer.json().id,
    ownId: provider.made.at(-1) ?? '',
    callId: answer.headers.get('x-request-id') ?? '',
  };
}

async function call(method: string, path: string, key: string = KEYS.main): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${stack.gateway.url}/v1/messages/batches${path}`, { method, headers: headersOf(key) });
  return { status: response.status, body: await response.json() };
}

const recordOf = async (callId: string): Promise<Json> => (await get(stack, `/v1/usage/${callId}`)).json();
const spent = async (): Promise<bigint> => (await spending(stack)).spent;

function message(input: number, output: number, model = 'claude-upstream-9'): object {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: input, output_tokens: output, service_tier: 'batch' },
  };
}

describe('a batch of messages', () => {
  it('is among the capabilities of models whose channels take it', async () => {
    for (const [model, supported] of [
      ['claude-batch', true],
      ['claude-model', false],
      ['batch-model', false],
    ] as const) {
      const found = await get(stack, `/v1/models/${model}`, headersOf(KEYS.main));
      assert.deepEqual(found.json().capabilities.batch, { supported }, found.text);
    }
  });
  it('is held at the price of a batch, and billed by what succeeded', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make([request('a'), request('b'), request('c')]);
    assert.match(id, /^mgw1_batch_/);
    assert.deepEqual(
      requestsOf(provider.created[0]).map(({ custom_id: name, params }) => [name, (params as Json).model]),
      ['a', 'b', 'c'].map((name) => [name, 'claude-upstream-9']),
    );
    const charged = (await spent()) - before;
    assert.ok(charged >= 3n * BigInt(LIMIT) * BATCH_PRICE, String(charged));
    const running = (await call('GET', `/${id}`)).body;
    assert.deepEqual([running.id, running.processing_status, running.results_url], [id, 'in_progress', null]);
    assert.equal((await call('GET', `/${id}/results`)).status, 400, 'no results yet');

    provider.end(ownId, {
      status: 'completed',
      responses: { a: message(40, 9), c: message(5, 1) },
      errors: { b: 500 },
    });
    const ended = (await call('GET', `/${id}`)).body;
    assert.deepEqual([ended.id, ended.processing_status], [id, 'ended']);
    assert.equal(ended.results_url, `${stack.gateway.url}/v1/messages/batches/${id}/results`);
    assert.equal((await spent()) - before, 55n * BATCH_PRICE);
    const record = await recordOf(callId);
    assert.deepEqual(
      [record.status, record.model, record.input_tokens, record.output_tokens, record.usage_source],
      ['Succeeded', 'claude-batch', 45, 10, 'Provider'],
    );
    const proxied = await get(stack, `/v1/messages/batches/${id}`, {
      ...headersOf(KEYS.main),
      'x-forwarded-proto': 'https, http',
    });
    assert.equal(proxied.json().results_url, ended.results_url.replace('http:', 'https:'));
    const results = await fetch(ended.results_url, { headers: headersOf(KEYS.main) });
    const lines = (await results.text()).trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).custom_id),
      ['a', 'c', 'b'],
    );
    const foreign = await fetch(ended.results_url, { headers: headersOf(KEYS.poor) });
    assert.deepEqual([foreign.status, ((await foreign.json()) as Json).type], [404, 'error']);
  });
  it('for several models of a channel is held and billed by each, and has one record', async () => {
    const before = await spent();
    const dear = { model: 'claude-dear-batch', max_tokens: 2 * LIMIT };
    const { id, ownId, callId } = await make([request('a'), request('b', dear), request('c', dear), request('d')]);
    assert.deepEqual(
      requestsOf(provider.created[0]).map(({ params }) => [(params as Json).model, (params as Json).max_tokens]),
      [
        ['claude-upstream-9', LIMIT],
        ['claude-dear-upstream-9', 2 * LIMIT],
        ['claude-dear-upstream-9', 2 * LIMIT],
        ['claude-upstream-9', LIMIT],
      ],
    );
    const charged = (await spent()) - before;
    assert.ok(charged >= (2n + 3n * 4n) * BigInt(LIMIT) * BATCH_PRICE, String(charged));
    provider.end(ownId, {
      status: 'completed',
      responses: {
        // in any order
        b: message(30, 5, 'claude-dear-upstream-9-20260101'),
        d: message(7, 1),
        c: message(10, 5, 'claude-dear-upstream-9'),
        a: message(40, 9, 'claude-upstream-9-20260101'),
      },
    });
    await call('GET', `/${id}`);
    assert.equal((await spent()) - before, (57n + 3n * 50n) * BATCH_PRICE);
    const record = await recordOf(callId);
    assert.deepEqual(
      [record.status, record.model, record.input_tokens, record.output_tokens],
      ['Succeeded', 'claude-batch', 87, 20],
    );
  });
  it.each(['expired', 'cancelled'] as const)('that %s costs what had ended', async (status) => {
    const before = await spent();
    const { id, ownId } = await make([request('a'), request('b')]);
    provider.end(ownId, { status, responses: { b: message(10, 5) } });
    await call('GET', `/${id}`);
    assert.equal((await spent()) - before, 15n * BATCH_PRICE);
  });
  it('is cancelled, and billed before it is deleted', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make([request('a'), request('b')]);
    const refused = await call('DELETE', `/${id}`);
    assert.equal(refused.status, 400, 'it runs');
    assert.match(refused.body.error.message, /cancel it first/);
    assert.ok(!stack.anthropic.requests.some(({ method }) => method === 'DELETE'), 'it may end before it is deleted');
    assert.equal((await recordOf(callId)).status, 'Running');
    provider.cancelsAs = { status: 'in_progress' };
    assert.equal((await call('POST', `/${id}/cancel`)).body.id, id);
    provider.end(ownId, { status: 'cancelled', responses: { a: message(3, 1) } });
    const deleted = await call('DELETE', `/${id}`);
    assert.deepEqual(deleted.body, { id, type: 'message_batch_deleted' });
    assert.equal((await spent()) - before, 4n * BATCH_PRICE);
    assert.equal((await recordOf(callId)).status, 'ClientClosed');
  });
  it('without any success costs nothing', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make([request('a')]);
    provider.end(ownId, { status: 'completed', errors: { a: 400 } });
    await call('GET', `/${id}`);
    assert.equal(await spent(), before);
    assert.equal((await recordOf(callId)).status, 'Failed');
    const results = await get(stack, `/v1/messages/batches/${id}/results`, headersOf(KEYS.main));
    assert.match(results.text, /"errored"/);
  });
  it('is listed to its own account only, page by page', async () => {
    const own: Made[] = [];
    for (const name of ['a', 'b', 'c']) own.push(await make([request(name)]));
    const other = await create({ requests: [request('x', { max_tokens: 10 })] }, KEYS.poor);
    assert.equal(other.status, 200, other.text);
    const first = (await call('GET', '?limit=2')).body;
    assert.deepEqual([first.data.length, first.has_more, first.last_id], [2, true, first.data[1].id]);
    const rest = (await call('GET', `?limit=2&after_id=${first.last_id}`)).body;
    assert.deepEqual([rest.data.length, rest.has_more], [1, false]);
    assert.equal((await call('GET', `?before_id=${first.last_id}`)).status, 400);
    assert.equal((await call('GET', `/${own[0]?.id}`, KEYS.poor)).body.error.type, 'not_found_error');
    for (const id of provider.made) provider.end(id, { status: 'completed', errors: { x: 400 } });
    for (const { id } of own) await call('GET', `/${id}`);
    await call('GET', `/${other.json().id}`, KEYS.poor);
  });
  it('with requests of any form and number is split, and each is sent', async () => {
    const texts = ['a"}],{"custom_id":"x', 'line\nbreak', '\\', '{[', 'ü\u2028'];
    const requests = texts.map((content, index) => request(String(index), { messages: [{ role: 'user', content }] }));
    const answer = await create(JSON.stringify({ requests }, undefined, 2));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      requestsOf(provider.created[0]).map(({ params }) => (params as Json).messages[0].content),
      texts,
    );
    const many = await create({ requests: Array.from({ length: 2_000 }, (_, index) => request(`request-${index}`)) });
    assert.equal(many.status, 200, many.text);
    assert.equal(requestsOf(provider.created[1]).length, 2_000);
    for (const id of provider.made) provider.end(id, { status: 'completed', errors: { x: 400 } });
    for (const made of [answer, many]) await call('GET', `/${made.json().id}`);
  });
  it('with more JSON values than a single call may have is sent', async () => {
    const requests = Array.from({ length: 12_000 }, (_, index) => request(String(index), { max_tokens: 1 }));
    const made = await create({ requests });
    assert.equal(made.status, 200, made.text);
    assert.equal(requestsOf(provider.created[0]).length, requests.length);
    provider.end(provider.made[0] ?? '', { status: 'completed', errors: { x: 400 } });
    await call('GET', `/${made.json().id}`);
  });
  it.each([
    [
      'with another model that has no batches',
      { requests: [request('a'), request('b', { model: 'claude-model' })] },
      /In request 2 .*takes batches/,
    ],
    [
      'with two names of one model',
      { requests: [request('a'), request('b', { model: 'claude-same-batch' })] },
      /In request 2 .*one model of the provider/,
    ],
    ['with a stream', { requests: [request('a', { stream: true })] }, /not streamed/],
    [
      'with a tool of the provider',
      { requests: [request('a', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] })] },
      /In request 1 /,
    ],
    ['of a model without batches', { requests: [request('a', { model: 'claude-model' })] }, /takes batches/],
    ['of a model of another protocol', { requests: [request('a', { model: 'batch-model' })] }, /protocol Anthropic/],
    ['with nothing', { requests: [] }, /no requests/],
    ['with other fields', { requests: [request('a')], model: 'x' }, /"requests" and no other/],
    ['with no list', { requests: {} }, /"requests" and no other/],
    ['with an unknown field of a request', { requests: [{ ...request('a'), model: 'x' }] }, /unknown field "model"/],
    ['that is no JSON', '{"requests":[{"custom_id":"a"', /"requests" and no other/],
  ] as const)('%s is refused before a byte is sent', async (_what, body, message) => {
    const answer = await create(body);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json().type, 'error');
    assert.match(answer.json().error.message, message);
    assert.equal(stack.anthropic.requests.length, 0);
  });
  it('larger than what is left is refused before it is sent, with the figure', async () => {
    const answer = await create(
      { requests: Array.from({ length: 50 }, (_, index) => request(String(index))) },
      KEYS.poor,
    );
    assert.deepEqual([answer.status, answer.json().error.type], [402, 'billing_error'], answer.text);
    assert.match(
      answer.json().error.message,
      /may cost up to \$0\.0\d+, and \$0\.001 is left|\$0\.00 is left|is left of the balance/,
    );
    assert.equal(stack.anthropic.requests.length, 0);
  });
});
