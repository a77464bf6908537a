/** OpenAI's batches: held at the price of a batch, and billed by what ended. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { serveBatches } from '../../support/batch-provider.ts';
import type { BatchProvider } from '../../support/batch-provider.ts';
import { keyManifest, KEYS } from '../../support/manifests.ts';
import { CUT, RESET } from '../../support/mock-provider.ts';
import { openaiError } from '../../support/provider-answers.ts';
import { ManualClock } from '../../support/api/manual-clock.ts';
import { get, nothingLeaks, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';
import { batchCalls, bearer, LIMIT, line } from './batch-calls.ts';
import { BATCH_PRICE, batchesManifest, STANDARD_PRICE } from './batches-manifest.ts';

const ELSEWHERE_KEY = 'sk-test-elsewhere-0000000000000000000000000000';
const BROKE_KEY = 'sk-test-broke-00000000000000000000000000000000';
const SLOW_KEY = 'sk-test-slow-000000000000000000000000000000000';
const SLOW_TOO_KEY = 'sk-test-slow-too-00000000000000000000000000000';
/** Keys of the same account: without money, with one request per minute, and of a group that has other models. */
const KEY_MANIFESTS = `
${keyManifest('broke', BROKE_KEY, 'quota: {limitUsd: "0"}')}
${keyManifest('slow', SLOW_KEY, 'rateLimits: {requestsPerMinute: 1}')}
${keyManifest('slow-too', SLOW_TOO_KEY, 'rateLimits: {requestsPerMinute: 1}')}
${keyManifest('elsewhere', ELSEWHERE_KEY, 'groupRef: {name: elsewhere}')}
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: elsewhere}
spec:
  allowedNamespaces: {from: All}
  routes: [{routeSelector: {matchLabels: {offers: nothing}}}]
`;

let stack: TestStack;
let provider: BatchProvider;
const clock = new ManualClock('2026-11-27T12:00:00Z');

beforeAll(async () => {
  stack = await startTestStack({
    files: (urls) => ({ 'batches.yaml': batchesManifest(urls), 'keys-too.yaml': KEY_MANIFESTS }),
    ...clock.options,
  });
});
afterAll(() => stack.stop());
beforeEach(() => {
  assert.ok(nothingLeaks(stack), 'a hold or a slot was left behind');
  stack.openai.clear();
  provider = serveBatches(stack.openai);
});

const { upload, call, create } = batchCalls(() => stack);

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
  const isBilled = async (): Promise<boolean> =>
    (await stack.gateway.ledger.readUsage('team/main', callId))?.status !== 'Running';
  await clock.tickUntil(isBilled, 'the poller did not bill it');
}

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
  it('takes no part of its channel’s limits while its results are read', async () => {
    const { ledger } = stack.gateway;
    const downloads = (): number => stack.openai.requests.filter(({ path }) => path.endsWith('/content')).length;
    const { callId, ownId } = await make([line('a')]);
    provider.end(ownId, { status: 'completed', responses: { a: completion(40, 9) } });
    const release: typeof ledger.release = ledger.release.bind(ledger);
    const released: number[] = [];
    const counted: typeof ledger.release = (...given) => {
      if (given[0].startsWith('poll_')) released.push(downloads());
      release(...given);
    };
    const before = downloads();
    Object.assign(ledger, { release: counted });
    try {
      await poll(callId);
    } finally {
      Reflect.deleteProperty(ledger, 'release');
    }
    assert.deepEqual([released, downloads()], [[before], before + 1]);
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
  it('whose provider neither names nor counts results keeps its charge until it does', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make([line('a')]);
    const charged = (await spent()) - before;
    provider.end(ownId, { status: 'completed', told: false });
    await call('GET', `/v1/batches/${id}`);
    assert.deepEqual([(await spent()) - before, (await recordOf(callId)).status], [charged, 'Running']);
    provider.end(ownId, { status: 'completed', responses: { a: completion(3, 1) }, told: false });
    await call('GET', `/v1/batches/${id}`);
    assert.equal((await spent()) - before, 4n * BATCH_PRICE, 'by the endpoint that it was made for');
    assert.equal((await recordOf(callId)).status, 'Succeeded');
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
    assert.equal((await call('GET', `/v1/batches/${id}`, ELSEWHERE_KEY)).status, 404, 'a group without the model');
    const { input_file_id: file } = list.data[0];
    for (const path of [`/v1/files/${file}`, `/v1/files/${file}/content`])
      assert.equal((await call('GET', path, ELSEWHERE_KEY)).status, 404);
    for (const path of ['/v1/batches', '/v1/files'])
      assert.deepEqual((await call('GET', path, ELSEWHERE_KEY)).body.data, []);
    for (const made of provider.made) provider.end(made, { status: 'failed' });
    await call('GET', `/v1/batches/${id}`);
    await call('GET', `/v1/batches/${other.json().id}`, KEYS.poor);
  });
  it('is listed without its results until it is billed', async () => {
    const { id, ownId } = await make([line('a')]);
    provider.end(ownId, { status: 'completed', responses: { a: completion(3, 1) } });
    const [unbilled] = (await call('GET', '/v1/batches')).body.data;
    assert.deepEqual([unbilled.status, unbilled.output_file_id], ['completed', null]);
    await call('GET', `/v1/batches/${id}`);
    const [billed] = (await call('GET', '/v1/batches')).body.data;
    assert.match(billed.output_file_id, /^mgw1_file_/);
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
  it.each([
    ['is no JSON', { steps: ['{"id": '] }],
    ['names no batch', { steps: ['{}'] }],
    ['breaks off', { steps: ['{"id": ', CUT] }],
    ['does not come', { beforeHead: [RESET], steps: [] }],
  ] as const)('whose response %s is charged with its sum, because it may run', async (_what, reply) => {
    const before = await spent();
    const made = await make([line('a')]);
    const sum = (await spent()) - before;
    provider.end(made.ownId, { status: 'failed' });
    await call('GET', `/v1/batches/${made.id}`);
    assert.equal(await spent(), before);
    const file = await upload(line('a'));
    const [content = ''] = [...provider.files.values()].map((each) => each.content);
    stack.openai.script(({ method }) => (method === 'POST' ? reply : { steps: [content] }));
    const answer = await create(file.json().id);
    assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [502, 'false'], answer.text);
    assert.match(answer.json().error.message, /may have begun the batch/);
    assert.equal((await spent()) - before, sum);
    assert.equal((await recordOf(answer.headers.get('x-request-id') ?? '')).status, 'ProviderCut');
    assert.equal(
      stack.openai.requests.filter(({ path, method }) => path === '/v1/batches' && method === 'POST').length,
      2,
    );
  });
  it('reads its file for nobody without money, and counts once in limits by the minute', async () => {
    const file = (await upload(line('a'))).json().id;
    const sent = stack.openai.requests.length;
    const broke = await create(file, BROKE_KEY);
    assert.deepEqual([broke.status, broke.json().error.code], [429, 'insufficient_quota'], broke.text);
    assert.equal(stack.openai.requests.length, sent);
    const made = await create(file, SLOW_KEY);
    assert.equal(made.status, 200, made.text);
    const wrong = { endpoint: '/v1/embeddings' };
    assert.equal((await create(file, SLOW_TOO_KEY, wrong)).status, 400);
    const after = stack.openai.requests.length;
    for (const key of [SLOW_KEY, SLOW_TOO_KEY]) {
      const again = await create(file, key, wrong);
      assert.deepEqual([again.status, again.json().error.code], [429, 'rate_limit_exceeded'], again.text);
    }
    assert.equal(stack.openai.requests.length, after);
    provider.end(provider.made[0] ?? '', { status: 'failed' });
    await call('GET', `/v1/batches/${made.json().id}`);
  });
  it('that runs for longer than eight days keeps its charge', async () => {
    const before = await spent();
    const { callId } = await make([line('a')]);
    const charged = (await spent()) - before;
    clock.nowMs += 2 * 24 * 60 * 60 * 1_000;
    clock.tick();
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    assert.equal((await recordOf(callId)).status, 'Running', 'a provider may take days');
    clock.nowMs += 7 * 24 * 60 * 60 * 1_000;
    await poll(callId);
    assert.equal((await spent()) - before, charged);
    assert.equal((await recordOf(callId)).status, 'ProviderCut');
  });
});
