/** OpenAI's files and batches: checked line by line, held at the price of a batch, and billed by what ended. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { serveBatches } from '../../support/batch-provider.ts';
import type { BatchProvider } from '../../support/batch-provider.ts';
import { KEYS } from '../../support/manifests.ts';
import { openaiError } from '../../support/provider-answers.ts';
import { get, nothingLeaks, post, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { BATCH_PRICE, batchesManifest, STANDARD_PRICE } from './batches-manifest.ts';

const LIMIT = 100;

let stack: TestStack;
let provider: BatchProvider;
let nowMs = Date.parse('2026-11-27T12:00:00Z');
let tick: () => void = () => undefined;

beforeAll(async () => {
  stack = await startTestStack({
    files: (urls) => ({ 'batches.yaml': batchesManifest(urls) }),
    nowMs: () => nowMs,
    timers: {
      every: (_ms, each) => {
        tick = each;
        return () => {
          tick = () => undefined;
        };
      },
    },
  });
});
afterAll(() => stack.stop());
beforeEach(() => {
  assert.ok(nothingLeaks(stack), 'a hold or a slot was left behind');
  stack.openai.clear();
  provider = serveBatches(stack.openai);
});

/** A line that asks batch-model something. */
function line(id: string, more: object = {}, url = '/v1/chat/completions'): string {
  const body = { model: 'batch-model', messages: [{ role: 'user', content: 'hello' }], max_tokens: LIMIT, ...more };
  return JSON.stringify({ custom_id: id, method: 'POST', url, body });
}

interface Upload {
  readonly key?: string;
  readonly purpose?: string;
}

async function upload(content: string, { key = KEYS.main, purpose = 'batch' }: Upload = {}): Promise<Answer> {
  const form = new FormData();
  form.set('purpose', purpose);
  form.set('file', new Blob([content]), 'requests.jsonl');
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${stack.gateway.url}/v1/files`, { method: 'POST', headers, body: form });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
}

async function call(method: string, path: string, key: string = KEYS.main): Promise<{ status: number; body: Json }> {
  const response = await fetch(stack.gateway.url + path, { method, headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, body: await response.json() };
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

function create(fileId: string, key: string = KEYS.main, more: object = {}): Promise<Answer> {
  const body = { input_file_id: fileId, endpoint: '/v1/chat/completions', completion_window: '24h', ...more };
  return post(stack, '/v1/batches', body, bearer(key));
}

interface Made {
  /** As the client has it. */
  readonly id: string;
  readonly ownId: string;
  readonly callId: string;
  readonly batch: Json;
}

async function make(lines: readonly string[], more: object = {}): Promise<Made> {
  const file = await upload(lines.join('\n'));
  assert.equal(file.status, 200, file.text);
  const answer = await create(file.json().id, KEYS.main, more);
  assert.equal(answer.status, 200, answer.text);
  const callId = answer.headers.get('x-request-id') ?? '';
  return { id: answer.json().id, ownId: provider.made.at(-1) ?? '', callId, batch: answer.json() };
}

const recordOf = async (callId: string): Promise<Json> => (await get(stack, `/v1/usage/${callId}`)).json();
const spent = async (): Promise<bigint> => (await spending(stack)).spent;

function completion(input: number, output: number, more: object = {}): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'upstream-name-7',
    service_tier: 'default',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    ...more,
  };
}

/** Advances the poller until it has billed the call. */
async function poll(callId: string): Promise<void> {
  for (let turns = 0; turns < 2000; turns++) {
    if (turns % 20 === 0) {
      nowMs += 10_000;
      tick();
    }
    const record = await stack.gateway.ledger.readUsage('team/main', callId);
    if (record?.status !== 'Running') return;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  assert.fail('the poller did not bill it');
}

describe('a file of a batch', () => {
  it('is checked, written anew with the provider’s names and limits, and kept under a sealed id', async () => {
    const answer = await upload(`${line('a')}\r\n\n${line('b', { max_tokens: undefined, user: 'é\u2028' })}`);
    assert.equal(answer.status, 200, answer.text);
    const file = answer.json();
    assert.match(file.id, /^mgw1_file_/);
    assert.deepEqual([file.filename, file.purpose], ['requests.jsonl', 'batch']);
    const [stored] = [...provider.files.values()];
    assert.doesNotMatch(stored?.filename ?? '', /team/);
    const lines = (stored?.content ?? '').trim().split('\n');
    assert.doesNotMatch(stored?.content ?? '', /[\r\u2028]/);
    assert.deepEqual(
      lines.map((each) => JSON.parse(each)),
      [
        {
          custom_id: 'a',
          method: 'POST',
          url: '/v1/chat/completions',
          body: {
            model: 'upstream-name-7',
            messages: [{ role: 'user', content: 'hello' }],
            max_completion_tokens: LIMIT,
          },
        },
        {
          custom_id: 'b',
          method: 'POST',
          url: '/v1/chat/completions',
          body: {
            model: 'upstream-name-7',
            messages: [{ role: 'user', content: 'hello' }],
            user: 'é\u2028',
            max_completion_tokens: 4000,
          },
        },
      ],
    );
    const found = await call('GET', `/v1/files/${file.id}`);
    assert.deepEqual([found.status, found.body.id, found.body.filename], [200, file.id, 'requests.jsonl']);
    assert.equal((await get(stack, `/v1/files/${file.id}/content`)).text, stored?.content);
    assert.equal((await call('GET', `/v1/files/${file.id}`, KEYS.poor)).status, 404);
    assert.equal((await call('DELETE', `/v1/files/${file.id}`, KEYS.poor)).status, 404);
    const deleted = await call('DELETE', `/v1/files/${file.id}`);
    assert.deepEqual(deleted.body, { id: file.id, object: 'file', deleted: true });
    assert.equal((await call('GET', `/v1/files/${file.id}`)).status, 404);
  });
  it('is listed to its own account only, page by page', async () => {
    const own: string[] = [];
    for (const id of ['a', 'b', 'c']) {
      own.push((await upload(line(id))).json().filename);
      await upload(line('x'), { key: KEYS.poor });
    }
    const first = (await call('GET', '/v1/files?limit=2')).body;
    assert.deepEqual([first.object, first.data.length, first.has_more], ['list', 2, true]);
    assert.equal(first.last_id, first.data[1].id);
    const rest = (await call('GET', `/v1/files?limit=2&after=${first.last_id}`)).body;
    assert.deepEqual([rest.data.length, rest.has_more], [1, false]);
    assert.equal((await call('GET', `/v1/files/${rest.data[0].id}`)).status, 200);
    assert.equal((await call('GET', '/v1/files', KEYS.poor)).body.data.length, 3);
    assert.equal((await create(rest.data[0].id)).status, 200, 'a batch is made of a listed file');
    provider.end(provider.made.at(-1) ?? '', { status: 'failed' });
  });
  it.each([
    [
      'another model of the key',
      [line('a'), line('b', { model: 'dear-batch-model' })],
      'model',
      /In line 2 .*another model/,
    ],
    ['a model that the key has not', [line('a', { model: 'none' })], 'model', /In line 1 .*does not exist/],
    ['a stream', [line('a', { stream: true })], 'stream', /not streamed/],
    ['a service tier', [line('a', { service_tier: 'priority' })], 'service_tier', /service tier|priority/],
    [
      'an image',
      [
        line('a'),
        line('b', {
          messages: [
            { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
          ],
        }),
      ],
      'messages[0].content[0]',
      /In line 2 .*text only/,
    ],
    [
      'a tool of the provider',
      [line('a', { tools: [{ type: 'web_search' }] })],
      'tools[0].type',
      /no bound|not allowed|price/,
    ],
    ['a field that costs', [line('a', { best_images: 1, thinking_budget: 9 })], 'thinking_budget', /cost more/],
    [
      'another endpoint',
      [line('a'), line('b', { model: 'batch-embed', input: 'x' }, '/v1/embeddings')],
      'model',
      /In line 2/,
    ],
    ['an endpoint without batches', [line('a', {}, '/v1/images/generations')], 'url', /must be one of/],
    [
      'another method',
      [JSON.stringify({ custom_id: 'a', method: 'GET', url: '/v1/chat/completions', body: {} })],
      'method',
      /POST/,
    ],
    [
      'no custom_id',
      [JSON.stringify({ method: 'POST', url: '/v1/chat/completions', body: {} })],
      'custom_id',
      /result is found/,
    ],
    [
      'a field that is not read',
      [JSON.stringify({ ...JSON.parse(line('a')), model: 'x' })],
      undefined,
      /unknown field "model"/,
    ],
    ['a member twice', [line('a').replace('"model":', '"model":"x","model":')], 'model', /twice/],
    ['no JSON', [line('a'), '{"custom_id": "b"'], undefined, /In line 2 .*not valid JSON/],
    ['two values in a line', [`${line('a')} ${line('b')}`], undefined, /line 1/],
    ['nothing', ['', ' '], undefined, /no requests/],
  ] as const)('with %s is refused before a byte is sent', async (_what, lines, param, message) => {
    const answer = await upload(lines.join('\n'));
    assert.ok([400, 404].includes(answer.status), answer.text);
    assert.match(answer.json().error.message, message);
    if (param !== undefined) assert.equal(answer.json().error.param, param, answer.text);
    assert.equal(stack.openai.requests.length, 0);
  });
  it.each([
    ['gpt-model', /takes batches/],
    ['claude-model', /takes batches/],
    ['image-model', /makes images/],
  ])('for %s is refused with words', async (model, message) => {
    const answer = await upload(line('a', { model }));
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.json().error.message, message);
  });
  it('of another purpose, or that is no form, is refused', async () => {
    const answer = await upload(line('a'), { purpose: 'assistants' });
    assert.deepEqual([answer.status, answer.json().error.param], [400, 'purpose']);
    assert.equal((await post(stack, '/v1/files', { purpose: 'batch' })).status, 400);
    assert.equal(stack.openai.requests.length, 0);
  });
  it('that costs more than there is is refused with the figure, and not sent', async () => {
    const many = Array.from({ length: 20 }, (_, index) => line(String(index)));
    for (const [key, status, code] of [
      [KEYS.poor, 402, 'credit_balance_exhausted'],
      [KEYS.refuse, 429, 'insufficient_quota'],
    ] as const) {
      const answer = await upload(
        [...many, ...Array.from({ length: 180 }, () => line('z', { max_tokens: 4000 }))].join('\n'),
        {
          key,
        },
      );
      assert.deepEqual([answer.status, answer.json().error.code], [status, code], answer.text);
      assert.match(answer.json().error.message, /may cost up to \$0\.\d+, and \$0\.0\d+ is left/);
    }
    assert.equal(stack.openai.requests.length, 0);
  });
  it('goes to the first channel that takes all of it, and another if that one fails', async () => {
    const answer = await upload(line('a', { model: 'several-model' }));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      stack.openai.requests.map(({ path }) => path),
      ['/broken/files', '/v1/files'],
    );
    const made = await create(answer.json().id);
    assert.equal(made.status, 200, made.text);
    provider.end(provider.made[0] ?? '', { status: 'failed' });
    await call('GET', `/v1/batches/${made.json().id}`);
  });
  it('is read compressed, too', async () => {
    const head = '--x\r\nContent-Disposition: form-data; name=';
    const form = `${head}"purpose"\r\n\r\nbatch\r\n${head}"file"; filename="a.jsonl"\r\n\r\n${line('a')}\r\n--x--\r\n`;
    const answer = await post(stack, '/v1/files', gzipSync(form), {
      ...bearer(KEYS.main),
      'content-type': 'multipart/form-data; boundary=x',
      'content-encoding': 'gzip',
    });
    assert.equal(answer.status, 200, answer.text);
    assert.equal([...provider.files.values()].length, 1);
  });
  it('of many lines is read in parts, and each line is sent', async () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => line(`request-${index}`));
    const answer = await upload(lines.join('\n'));
    assert.equal(answer.status, 200, answer.text);
    const [stored] = [...provider.files.values()];
    const ids = (stored?.content ?? '')
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each).custom_id);
    assert.deepEqual(
      ids,
      lines.map((_, index) => `request-${index}`),
    );
    const made = await create(answer.json().id);
    assert.equal(made.status, 200, made.text);
    provider.end(provider.made[0] ?? '', { status: 'failed' });
    await call('GET', `/v1/batches/${made.json().id}`);
  });
});

describe('a batch', () => {
  it('is held at the price of a batch, and billed line by line once it is fetched', async () => {
    const before = await spent();
    const { id, callId, batch, ownId } = await make([line('a'), line('b')], { metadata: { of: 'ours' } });
    assert.match(id, /^mgw1_batch_/);
    assert.match(batch.input_file_id, /^mgw1_file_/);
    assert.deepEqual([batch.metadata, batch.model], [{ of: 'ours' }, 'batch-model']);
    assert.match(String(provider.created[0]?.['input_file_id']), /^file-/);
    const charged = (await spent()) - before;
    assert.ok(charged >= 2n * BigInt(LIMIT) * BATCH_PRICE, String(charged));
    assert.ok(charged < 2n * BigInt(LIMIT + 400) * BATCH_PRICE, String(charged));
    assert.equal((await recordOf(callId)).status, 'Running');
    assert.equal((await call('GET', `/v1/batches/${id}`)).body.status, 'in_progress');

    provider.end(ownId, { status: 'completed', responses: { a: completion(40, 9), b: completion(11, 2) } });
    const ended = (await call('GET', `/v1/batches/${id}`)).body;
    assert.deepEqual([ended.id, ended.status, ended.request_counts.completed], [id, 'completed', 2]);
    assert.equal((await spent()) - before, 62n * BATCH_PRICE);
    const record = await recordOf(callId);
    assert.deepEqual(
      [record.status, record.model, record.input_tokens, record.output_tokens, record.usage_source],
      ['Succeeded', 'batch-model', 51, 11, 'Provider'],
    );
    assert.deepEqual(
      record.lines.map(({ dimension, quantity, service_tier: tier }: Json) => [dimension, quantity, tier]),
      [
        ['input', 51, 'batch'],
        ['output', 11, 'batch'],
      ],
    );
    assert.match(ended.output_file_id, /^mgw1_file_/);
    const output = await get(stack, `/v1/files/${ended.output_file_id}/content`);
    assert.deepEqual(
      output.text
        .trim()
        .split('\n')
        .map((each) => JSON.parse(each).custom_id),
      ['a', 'b'],
    );
    assert.equal((await get(stack, `/v1/files/${ended.output_file_id}/content`, bearer(KEYS.poor))).status, 404);
    const again = await create(ended.output_file_id);
    assert.deepEqual([again.status, again.json().error.param], [400, 'input_file_id']);
    await call('GET', `/v1/batches/${id}`);
    assert.equal((await spent()) - before, 62n * BATCH_PRICE, 'once');
  });
  it('is billed although nobody fetches it, at the price of its admission', async () => {
    const before = await spent();
    const { ownId, callId } = await make([line('a')]);
    const urls = { openaiUrl: stack.openai.url, anthropicUrl: stack.anthropic.url };
    await stack.gateway.write(
      'batches.yaml',
      batchesManifest(urls).replaceAll('multiplier: "0.5"', 'multiplier: "0.9"'),
    );
    try {
      provider.end(ownId, { status: 'completed', responses: { a: completion(40, 9) } });
      await poll(callId);
      assert.equal((await spent()) - before, 49n * BATCH_PRICE);
    } finally {
      await stack.gateway.write('batches.yaml', batchesManifest(urls));
    }
  });
  it('costs the standard price where a batch has none', async () => {
    const before = await spent();
    const { id, ownId } = await make([line('a', { model: 'dear-batch-model' })]);
    provider.end(ownId, { status: 'completed', responses: { a: completion(40, 9) } });
    await call('GET', `/v1/batches/${id}`);
    assert.equal((await spent()) - before, 49n * STANDARD_PRICE);
  });
  it('is rounded once, with each line in a context tier of its own', async () => {
    const before = await spent();
    const model = 'tiered-batch-model';
    const messages = [{ role: 'user', content: 'x'.repeat(3_000) }];
    const { id, ownId, callId } = await make([
      line('a', { model }),
      line('b', { model, messages }),
      line('c', { model }),
    ]);
    provider.end(ownId, {
      status: 'completed',
      responses: { a: completion(7, 1), b: completion(1_001, 1), c: completion(8, 2) },
    });
    await call('GET', `/v1/batches/${id}`);
    // nano-USD per token: 333 in, 666 in above 1000 tokens, 999 out
    assert.equal((await spent()) - before, BigInt((7 + 8) * 333 + 1_001 * 666 + 4 * 999));
    const { lines } = await recordOf(callId);
    assert.deepEqual(
      lines.map(({ dimension, quantity, context_above: above }: Json) => [dimension, quantity, above]),
      [
        ['input', 15, null],
        ['output', 3, null],
        ['input', 1_001, 1_000],
        ['output', 1, 1_000],
      ],
    );
  });
  it.each([
    ['expired', 'ProviderCut'],
    ['cancelled', 'ClientClosed'],
  ] as const)('that %s costs what had ended', async (status, recorded) => {
    const before = await spent();
    const { id, ownId, callId } = await make([line('a'), line('b'), line('c')]);
    provider.end(ownId, { status, responses: { b: completion(10, 5) }, errors: { a: 500 } });
    assert.equal((await call('GET', `/v1/batches/${id}`)).body.status, status);
    assert.equal((await spent()) - before, 15n * BATCH_PRICE);
    assert.equal((await recordOf(callId)).status, recorded);
  });
  it('that fails costs nothing, and says why without the provider’s account', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make([line('a')]);
    provider.end(ownId, { status: 'failed' });
    const { body } = await call('GET', `/v1/batches/${id}`);
    assert.equal(body.status, 'failed');
    assert.match(body.errors.data[0].message, /^\[redacted\] has no quota/);
    assert.equal(await spent(), before);
    assert.equal((await recordOf(callId)).status, 'Failed');
  });
  it('is cancelled at its provider, and billed at its end', async () => {
    const before = await spent();
    const { id, callId } = await make([line('a'), line('b')]);
    provider.cancelsAs = { status: 'cancelled', responses: { a: completion(3, 1) } };
    const { status, body } = await call('POST', `/v1/batches/${id}/cancel`);
    assert.deepEqual([status, body.id, body.status], [200, id, 'cancelled']);
    assert.equal((await spent()) - before, 4n * BATCH_PRICE);
    assert.equal((await recordOf(callId)).status, 'ClientClosed');
  });
  it('is billed no more than was held, however much its provider reports', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make([line('a')]);
    const charged = (await spent()) - before;
    provider.end(ownId, { status: 'completed', responses: { a: completion(1_000_000, 1_000_000) } });
    await call('GET', `/v1/batches/${id}`);
    assert.ok((await spent()) - before <= charged);
    assert.equal((await recordOf(callId)).usage_source, 'Implausible');
  });
  it('whose results are not there yet is billed once they are', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make([line('a')]);
    provider.end(ownId, { status: 'completed', responses: { a: completion(3, 1) }, named: false });
    await call('GET', `/v1/batches/${id}`);
    assert.equal((await recordOf(callId)).status, 'Running');
    provider.end(ownId, { status: 'completed', responses: { a: completion(3, 1) } });
    await poll(callId);
    assert.equal((await spent()) - before, 4n * BATCH_PRICE);
  });
  it('without usage is billed by the estimate of its input and the size of its output', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make([line('a')]);
    const answer = { ...completion(0, 0), usage: undefined };
    provider.end(ownId, { status: 'completed', responses: { a: answer } });
    await call('GET', `/v1/batches/${id}`);
    assert.ok((await spent()) > before);
    assert.equal((await recordOf(callId)).usage_source, 'Estimated');
  });
  it('larger than what is left is refused before it is sent, with the figure', async () => {
    // each fits; the first leaves too little for the second
    const body = line('a', { model: 'dear-batch-model', max_tokens: 3_000 });
    const [first, second] = [await upload(body, { key: KEYS.small }), await upload(body, { key: KEYS.small })];
    const made = await create(first.json().id, KEYS.small);
    assert.equal(made.status, 200, made.text);
    const refused = await create(second.json().id, KEYS.small);
    assert.deepEqual([refused.status, refused.json().error.code], [429, 'insufficient_quota'], refused.text);
    assert.match(
      refused.json().error.message,
      /may cost up to \$0\.006\d*, and \$0\.00\d+ is left of this key's quota/,
    );
    assert.equal(provider.made.length, 1);
    provider.end(provider.made[0] ?? '', { status: 'failed' });
    await call('GET', `/v1/batches/${made.json().id}`, KEYS.small);
  });
  it('of embeddings and of responses is billed by their usage', async () => {
    const before = await spent();
    const embed = await upload(
      line('e', { model: 'batch-embed', input: 'hello', messages: undefined, max_tokens: undefined }, '/v1/embeddings'),
    );
    const response = await upload(
      line('r', { input: 'hello', messages: undefined, max_tokens: undefined, max_output_tokens: 50 }, '/v1/responses'),
    );
    assert.deepEqual([embed.status, response.status], [200, 200], embed.text + response.text);
    const embedding = await create(embed.json().id, KEYS.main, { endpoint: '/v1/embeddings' });
    const responses = await create(response.json().id, KEYS.main, { endpoint: '/v1/responses' });
    const [first = '', second = ''] = provider.made;
    const usage = { input_tokens: 5, output_tokens: 3 };
    provider.end(first, {
      status: 'completed',
      responses: { e: { object: 'list', data: [], usage: { prompt_tokens: 4, total_tokens: 4 } } },
    });
    provider.end(second, {
      status: 'completed',
      responses: { r: { object: 'response', status: 'completed', output: [], usage } },
    });
    for (const made of [embedding, responses]) await call('GET', `/v1/batches/${made.json().id}`);
    assert.equal((await spent()) - before, 4n * 500n + 8n * BATCH_PRICE);
  });
  it('is listed to its own account only', async () => {
    const { id } = await make([line('a')]);
    const other = await create((await upload(line('x'), { key: KEYS.poor })).json().id, KEYS.poor);
    assert.equal(other.status, 200, other.text);
    const list = (await call('GET', '/v1/batches?limit=100')).body;
    assert.deepEqual([list.object, list.data.length, list.has_more], ['list', 1, false]);
    assert.match(list.data[0].input_file_id, /^mgw1_file_/);
    assert.equal((await call('GET', `/v1/batches/${list.data[0].id}`)).status, 200);
    assert.equal((await call('GET', `/v1/batches/${id}`, KEYS.poor)).status, 404);
    assert.equal((await call('POST', `/v1/batches/${id}/cancel`, KEYS.poor)).status, 404);
    assert.equal((await call('GET', `/v1/batches/${id}`, KEYS.narrow)).status, 404, 'a key without the model');
    for (const made of provider.made) provider.end(made, { status: 'failed' });
    await call('GET', `/v1/batches/${id}`);
    await call('GET', `/v1/batches/${other.json().id}`, KEYS.poor);
  });
  it.each([
    ['with a field that may change its price', { priority: 'high' }, 'priority'],
    ['for results within the hour', { completion_window: '1h' }, 'completion_window'],
    ['without a window', { completion_window: null }, 'completion_window'],
    ['for another endpoint than its lines', { endpoint: '/v1/embeddings' }, 'endpoint'],
    ['for an endpoint without batches', { endpoint: '/v1/audio/speech' }, 'endpoint'],
    ['of a file that is none', { input_file_id: 'file-1' }, 'input_file_id'],
    ['of no file', { input_file_id: null }, 'input_file_id'],
  ])('%s is refused', async (_what, more, param) => {
    const file = await upload(line('a'));
    const answer = await create(file.json().id, KEYS.main, more);
    assert.deepEqual([answer.status, answer.json().error.param], [400, param], answer.text);
    assert.equal(provider.made.length, 0);
  });
  it("of another account's file is refused", async () => {
    const file = await upload(line('a'));
    const answer = await create(file.json().id, KEYS.poor);
    assert.deepEqual([answer.status, answer.json().error.param], [400, 'input_file_id']);
  });
  it('of a file whose model has a lower limit or another name by now is refused', async () => {
    const file = await upload(line('a', { max_tokens: 3_000 }));
    const urls = { openaiUrl: stack.openai.url, anthropicUrl: stack.anthropic.url };
    for (const [from, to] of [
      [
        'name: batch-model, contextTokens: 100000, maxOutputTokens: 4000',
        'name: batch-model, contextTokens: 100000, maxOutputTokens: 2000',
      ],
      ['upstream-name-7', 'upstream-name-8'],
    ] as const) {
      await stack.gateway.write('batches.yaml', batchesManifest(urls).replace(from, to));
      const answer = await create(file.json().id);
      assert.deepEqual([answer.status, answer.json().error.param], [400, 'input_file_id'], answer.text);
      assert.match(answer.json().error.message, /Upload the file again/);
    }
    await stack.gateway.write('batches.yaml', batchesManifest(urls));
  });
  it('is fetched from a channel that gets no new calls, where none is made', async () => {
    const before = await spent();
    const { id, ownId } = await make([line('a')]);
    const file = await upload(line('b'));
    const urls = { openaiUrl: stack.openai.url, anthropicUrl: stack.anthropic.url };
    const drained = batchesManifest(urls).replace(
      'metadata: {name: batches}\nspec:',
      'metadata: {name: batches}\nspec:\n  drainedChannels: [direct]',
    );
    await stack.gateway.write('batches.yaml', drained);
    try {
      provider.end(ownId, { status: 'completed', responses: { a: completion(3, 1) } });
      assert.equal((await call('GET', `/v1/batches/${id}`)).body.status, 'completed');
      assert.equal((await spent()) - before, 4n * BATCH_PRICE);
      const refused = await create(file.json().id);
      assert.deepEqual([refused.status, refused.json().error.code], [503, 'model_unavailable'], refused.text);
    } finally {
      await stack.gateway.write('batches.yaml', batchesManifest(urls));
    }
  });
  it('that its provider refuses costs nothing', async () => {
    const before = await spent();
    const file = await upload(line('a'));
    const [stored] = [...provider.files.values()];
    stack.openai.script(({ method }) =>
      method === 'POST' ? openaiError(400, 'no such window') : { steps: [stored?.content ?? ''] },
    );
    const answer = await create(file.json().id);
    assert.deepEqual([answer.status, answer.json().error.message], [400, 'no such window']);
    assert.equal(await spent(), before);
  });
  it('that runs for longer than eight days keeps its charge', async () => {
    const before = await spent();
    const { callId } = await make([line('a')]);
    const charged = (await spent()) - before;
    nowMs += 2 * 24 * 60 * 60 * 1_000;
    tick();
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    assert.equal((await recordOf(callId)).status, 'Running', 'a provider may take days');
    nowMs += 7 * 24 * 60 * 60 * 1_000;
    await poll(callId);
    assert.equal((await spent()) - before, charged);
    assert.equal((await recordOf(callId)).status, 'ProviderCut');
  });
});
