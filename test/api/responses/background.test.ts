/** Background responses: charged with the most that they can cost, and billed exactly at their end. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { serveBackground } from '../../support/background-provider.ts';
import type { BackgroundEnd, BackgroundResponses } from '../../support/background-provider.ts';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { KEYS, platformManifest } from '../../support/manifests.ts';
import { CUT, gate } from '../../support/mock-provider.ts';
import { openaiError } from '../../support/provider-answers.ts';
import { ManualClock } from '../../support/api/manual-clock.ts';
import { get, nothingLeaks, post, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

/** Nano-USD per token of renamed-model, in and out. */
const PRICE = 2_000n;
const LIMIT = 500;
const DONE: BackgroundEnd = { status: 'completed', text: 'hi', usage: { input_tokens: 40, output_tokens: 9 } };

let stack: TestStack;
let provider: BackgroundResponses;
const clock = new ManualClock('2026-11-21T12:00:00Z');

beforeAll(async () => {
  stack = await startTestStack({
    files: (urls) => ({ 'chats.yaml': chatModelsManifest(urls) }),
    ...clock.options,
  });
});
afterAll(() => stack.stop());
beforeEach(() => {
  assert.ok(nothingLeaks(stack), 'a hold or a slot was left behind');
  stack.openai.clear();
  provider = serveBackground(stack.openai);
});

interface Made {
  /** As the client has it. */
  readonly id: string;
  /** The provider's own. */
  readonly ownId: string;
  readonly callId: string;
  readonly answer: Answer;
}

async function make(more: object = {}): Promise<Made> {
  const body = { model: 'renamed-model', input: 'hello', background: true, max_output_tokens: LIMIT, ...more };
  const answer = await post(stack, '/v1/responses', body);
  assert.equal(answer.status, 200, answer.text);
  return {
    id: answer.json().id,
    ownId: provider.made.at(-1) ?? '',
    callId: answer.headers.get('x-request-id') ?? '',
    answer,
  };
}

async function call(
  method: string,
  path: string,
  key: string = KEYS.main,
): Promise<{ readonly status: number; readonly body: Json }> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(stack.gateway.url + path, { method, headers });
  return { status: response.status, body: await response.json() };
}

const recordOf = async (callId: string): Promise<Json> => (await get(stack, `/v1/usage/${callId}`)).json();
const spent = async (): Promise<bigint> => (await spending(stack)).spent;

/** Advances the poller until it has billed the call. */
async function poll(callId: string): Promise<void> {
  const isBilled = async (): Promise<boolean> =>
    (await stack.gateway.ledger.readUsage('team/main', callId))?.status !== 'Running';
  await clock.tickUntil(isBilled, 'the poller did not bill it');
}

describe('a background response', () => {
  it('is answered at once, charged with the most that it can cost, and billed exactly when it is fetched', async () => {
    const before = await spent();
    const { id, ownId, callId, answer } = await make();
    assert.match(id, /^mgw1_response_/);
    assert.equal(answer.json().status, 'queued');
    const sent = (await stack.openai.request(0)).json();
    assert.deepEqual([sent['background'], sent['max_output_tokens']], [true, LIMIT]);
    const charged = (await spent()) - before;
    assert.ok(charged >= BigInt(LIMIT) * PRICE, String(charged));
    assert.equal((await recordOf(callId)).status, 'Running');
    assert.equal((await call('GET', `/v1/responses/${id}`)).body.status, 'in_progress');
    assert.equal((await spent()) - before, charged, 'it runs');

    provider.end(ownId, DONE);
    const { body } = await call('GET', `/v1/responses/${id}`);
    assert.deepEqual([body.id, body.status, body.output[0].content[0].text], [id, 'completed', 'hi']);
    assert.equal((await spent()) - before, 49n * PRICE);
    const record = await recordOf(callId);
    assert.deepEqual(
      [record.status, record.input_tokens, record.output_tokens, record.usage_source],
      ['Succeeded', 40, 9, 'Provider'],
    );
    await call('GET', `/v1/responses/${id}`);
    assert.equal((await spent()) - before, 49n * PRICE, 'once');
  });
  it('is billed although nobody fetches it, at the price of its admission', async () => {
    const before = await spent();
    const { ownId, callId } = await make();
    const manifest = platformManifest({ openaiUrl: stack.openai.url, anthropicUrl: stack.anthropic.url });
    const dearer = manifest.replace(/(renamed-model, .*modelRatio: )"1"/, '$1"7"');
    assert.notEqual(dearer, manifest);
    await stack.gateway.write('platform.yaml', dearer);
    try {
      provider.end(ownId, { ...DONE, status: 'incomplete' });
      await poll(callId);
      assert.equal((await spent()) - before, 49n * PRICE);
    } finally {
      await stack.gateway.write('platform.yaml', manifest);
    }
    assert.equal((await recordOf(callId)).status, 'Succeeded');
  });
  it('that fails is billed by what it has produced', async () => {
    const before = await spent();
    const [empty, half] = [await make(), await make()];
    provider.end(empty.ownId, { status: 'failed', usage: null });
    provider.end(half.ownId, { status: 'failed', text: 'ha', usage: { input_tokens: 40, output_tokens: 1 } });
    await call('GET', `/v1/responses/${empty.id}`);
    assert.equal((await call('GET', `/v1/responses/${half.id}`)).body.error.code, 'server_error');
    assert.equal((await spent()) - before, 41n * PRICE);
    assert.deepEqual(
      [(await recordOf(empty.callId)).status, (await recordOf(half.callId)).status],
      ['Failed', 'ProviderCut'],
    );
  });
  it('that is cancelled is billed by its usage, or else keeps its charge', async () => {
    const [known, unknown] = [await make(), await make()];
    let before = await spent();
    provider.cancelsAs = { status: 'cancelled', text: 'ha', usage: { input_tokens: 40, output_tokens: 3 } };
    const { body } = await call('POST', `/v1/responses/${known.id}/cancel`);
    assert.deepEqual([body.id, body.status], [known.id, 'cancelled']);
    const record = await recordOf(known.callId);
    assert.deepEqual([record.input_tokens, record.output_tokens, record.status], [40, 3, 'ClientClosed']);
    assert.ok((await spent()) < before);

    before = await spent();
    provider.cancelsAs = { status: 'cancelled', text: 'ha', usage: null };
    await call('POST', `/v1/responses/${unknown.id}/cancel`);
    const { usage_source: source, status } = await recordOf(unknown.callId);
    assert.deepEqual([source, status], ['Estimated', 'ClientClosed'], 'the model may have reasoned unseen');
    assert.equal(await spent(), before);
  });
  it('is cancelled before it is deleted, so that it is billed', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make();
    provider.cancelsAs = { status: 'cancelled', usage: { input_tokens: 40, output_tokens: 2 } };
    assert.equal((await call('DELETE', `/v1/responses/${id}`)).body.deleted, true);
    assert.equal((await spent()) - before, 42n * PRICE);
    assert.equal((await recordOf(callId)).status, 'ClientClosed');
    assert.deepEqual(
      stack.openai.requests.slice(1).map(({ method, path }) => `${method} ${path}`),
      [`GET /v1/responses/${ownId}`, `POST /v1/responses/${ownId}/cancel`, `DELETE /v1/responses/${ownId}`],
    );
  });
  it('that its provider still works on after a cancellation keeps its charge when it is deleted', async () => {
    const before = await spent();
    const { id, callId } = await make();
    const charged = (await spent()) - before;
    provider.cancelsAs = { status: 'in_progress' };
    await call('DELETE', `/v1/responses/${id}`);
    assert.equal((await spent()) - before, charged);
    const { status, usage_source: source } = await recordOf(callId);
    assert.deepEqual([status, source], ['ClientClosed', 'Estimated']);
  });
  it('that runs for more than a day keeps its charge', async () => {
    const before = await spent();
    const { callId } = await make();
    const charged = (await spent()) - before;
    clock.nowMs += 24 * 60 * 60 * 1_000;
    await poll(callId);
    assert.equal((await spent()) - before, charged);
    assert.equal((await recordOf(callId)).status, 'ProviderCut');
  });
  it('never costs more than was charged', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make();
    const charged = (await spent()) - before;
    provider.end(ownId, { status: 'completed', text: 'x', usage: { input_tokens: 40, output_tokens: 1_000_000 } });
    await call('GET', `/v1/responses/${id}`);
    assert.equal((await spent()) - before, BigInt(40 + LIMIT) * PRICE);
    assert.ok(BigInt(40 + LIMIT) * PRICE <= charged);
    assert.equal((await recordOf(callId)).usage_source, 'Implausible');
  });
  it('is shown as ended only once it is billed', async () => {
    const { id, ownId, callId } = await make();
    provider.end(ownId, DONE);
    const { ledger } = stack.gateway;
    const finishJob = ledger.finishJob.bind(ledger);
    ledger.finishJob = () => Promise.reject(new LedgerUnavailable('for a test'));
    try {
      const { status, body } = await call('GET', `/v1/responses/${id}`);
      assert.deepEqual([status, body.error.code], [503, 'ledger_unavailable']);
    } finally {
      ledger.finishJob = finishJob;
    }
    await call('GET', `/v1/responses/${id}`);
    assert.equal((await recordOf(callId)).status, 'Succeeded');
  });
  it('is counted by the metrics once, with what it cost', async () => {
    const billed = async (): Promise<number> => {
      const text = await (await fetch(`${stack.gateway.adminUrl}/metrics`)).text();
      const lines = text.split('\n').filter((line) => line.startsWith('modelgateway_cost_usd_total{'));
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    };
    const before = await billed();
    const { id, ownId, callId } = await make();
    assert.equal(await billed(), before, 'it runs');
    provider.end(ownId, DONE);
    for (let times = 0; times < 2; times++) await call('GET', `/v1/responses/${id}`);
    await poll(callId);
    assert.equal(Math.round(((await billed()) - before) * 1e9), Number(49n * PRICE));
  });
  it('is billed by what the ledger knows of it, whatever the provider calls it', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make();
    provider.says = false;
    provider.end(ownId, { status: 'processing' });
    await call('GET', `/v1/responses/${id}`);
    assert.equal((await recordOf(callId)).status, 'Running', 'an unknown status');
    provider.end(ownId, DONE);
    await call('GET', `/v1/responses/${id}`);
    assert.equal((await spent()) - before, 49n * PRICE);
  });
  it("is billed when another key of its account deletes it, and is no other account's", async () => {
    const before = await spent();
    const { id, callId } = await make();
    assert.equal((await call('DELETE', `/v1/responses/${id}`, KEYS.poor)).status, 404);
    provider.cancelsAs = { status: 'cancelled', usage: { input_tokens: 40, output_tokens: 2 } };
    assert.equal((await call('DELETE', `/v1/responses/${id}`, KEYS.small)).body.deleted, true);
    assert.equal((await spent()) - before, 42n * PRICE);
    assert.equal((await recordOf(callId)).status, 'ClientClosed');
  });
  it('whose deletion fails is billed when it ends', async () => {
    const before = await spent();
    const { id, ownId, callId } = await make();
    Object.assign(provider, { cancelsAs: { status: 'in_progress' }, deletes: false });
    assert.equal((await call('DELETE', `/v1/responses/${id}`)).status, 502);
    assert.equal((await recordOf(callId)).status, 'Running');
    provider.end(ownId, DONE);
    await call('GET', `/v1/responses/${id}`);
    assert.equal((await spent()) - before, 49n * PRICE);
  });
  it('that its provider no longer has keeps its charge', async () => {
    const before = await spent();
    const { callId } = await make();
    const charged = (await spent()) - before;
    stack.openai.clear();
    stack.openai.script(() => openaiError(404, 'no such response'));
    clock.nowMs += 30 * 60 * 1_000;
    clock.tick();
    await stack.openai.request(0);
    assert.equal((await recordOf(callId)).status, 'Running', 'its provider may only be slow');
    clock.nowMs += 31 * 60 * 1_000;
    await poll(callId);
    assert.equal((await spent()) - before, charged);
    assert.equal((await recordOf(callId)).status, 'ProviderCut');
  });
  it('is fetched from a channel that gets no new calls', async () => {
    const { id, ownId, callId } = await make();
    const manifest = platformManifest({ openaiUrl: stack.openai.url, anthropicUrl: stack.anthropic.url });
    const drained = manifest.replace(
      'metadata: {name: openai}\nspec:\n  models:',
      'metadata: {name: openai}\nspec:\n  drainedChannels: [direct]\n  models:',
    );
    assert.notEqual(drained, manifest);
    await stack.gateway.write('platform.yaml', drained);
    try {
      provider.end(ownId, DONE);
      const { status, body } = await call('GET', `/v1/responses/${id}`);
      assert.deepEqual([status, body.status], [200, 'completed']);
      assert.equal((await recordOf(callId)).status, 'Succeeded');
    } finally {
      await stack.gateway.write('platform.yaml', manifest);
    }
  });
  it('is no video', async () => {
    const { ownId, callId } = await make();
    assert.equal((await get(stack, `/v1/videos/${ownId}`)).status, 404);
    assert.equal((await call('DELETE', `/v1/videos/${ownId}`)).status, 404);
    assert.equal((await recordOf(callId)).status, 'Running');
    provider.end(ownId, DONE);
    await poll(callId);
  });
  it('is refused if nothing bounds its price', async () => {
    const tools = [{ type: 'web_search' }];
    const asked = { model: 'tools-model', input: 'hello', tools };
    const answer = await post(stack, '/v1/responses', { ...asked, background: true });
    assert.deepEqual([answer.status, answer.json().error.param], [400, 'background']);
    assert.match(answer.json().error.message, /upper bound/);
  });
  it('is refused where no provider keeps it', async () => {
    for (const model of ['chat-model', 'claude-model']) {
      const answer = await post(stack, '/v1/responses', { model, input: 'hello', background: true });
      assert.deepEqual(
        [answer.status, answer.json().error.code, answer.json().error.param],
        [400, 'unsupported_parameter', 'background'],
      );
    }
    assert.equal(stack.openai.requests.length, 0);
  });
});

it('a background response whose provider refuses to cancel what has ended is deleted all the same', async () => {
  const before = await spent();
  const { id, ownId } = await make();
  provider.beforeCancel = () => {
    provider.end(ownId, DONE);
    return openaiError(400, 'Cannot cancel a completed response.');
  };
  assert.equal((await call('DELETE', `/v1/responses/${id}`)).body.deleted, true);
  assert.equal((await spent()) - before, 49n * PRICE);
});

describe('a streamed background response', () => {
  const stream = (): Promise<Answer> =>
    post(stack, '/v1/responses', {
      model: 'renamed-model',
      input: 'hello',
      background: true,
      stream: true,
      max_output_tokens: LIMIT,
    });
  const callIdOf = ({ headers }: Answer): string => headers.get('x-request-id') ?? '';

  it('is billed by its last event', async () => {
    const before = await spent();
    provider.streamsAs = DONE;
    const answer = await stream();
    assert.match(answer.text, /event: response\.completed\ndata: .*"id":"mgw1_response_/);
    assert.equal((await spent()) - before, 49n * PRICE);
    assert.equal((await recordOf(callIdOf(answer))).status, 'Succeeded');
    assert.equal(await stack.gateway.ledger.readJob('team/main', provider.made.at(-1) ?? ''), undefined);
  });
  it('that breaks off is billed when the provider has finished it, and read on from an event', async () => {
    const before = await spent();
    provider.streamsAs = CUT;
    const answer = await stream();
    assert.match(answer.text, /upstream_error/);
    const callId = callIdOf(answer);
    assert.ok((await spent()) - before >= BigInt(LIMIT) * PRICE, 'charged');
    assert.equal((await recordOf(callId)).status, 'Running');
    const id = /mgw1_response_[\w-]+/.exec(answer.text)?.[0] ?? '';
    provider.streamsAs = CUT;
    const again = await get(stack, `/v1/responses/${id}?stream=true`);
    assert.match(again.text, /upstream_error/, 'its provider breaks off again');
    provider.end(provider.made.at(-1) ?? '', DONE);
    const rest = await get(stack, `/v1/responses/${id}?stream=true&starting_after=1`);
    assert.deepEqual([rest.headers.get('cache-control'), rest.headers.get('x-accel-buffering')], ['no-cache', 'no']);
    assert.match(rest.text, /event: response\.completed\n/);
    assert.equal((await spent()) - before, 49n * PRICE);
    assert.equal((await recordOf(callId)).status, 'Succeeded');
  });
  it('is a job whatever its provider says of it', async () => {
    const before = await spent();
    provider.says = false;
    const callId = callIdOf(await stream());
    assert.equal((await recordOf(callId)).status, 'Running');
    provider.end(provider.made.at(-1) ?? '', DONE);
    await poll(callId);
    assert.equal((await spent()) - before, 49n * PRICE);
  });
  it('whose client leaves goes on at the provider, and is billed exactly', async () => {
    const before = await spent();
    const holding = gate();
    provider.streamsAs = holding;
    const leaving = new AbortController();
    const response = await fetch(`${stack.gateway.url}/v1/responses`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${KEYS.main}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'renamed-model',
        input: 'hello',
        background: true,
        stream: true,
        max_output_tokens: LIMIT,
      }),
    });
    await holding.reached;
    const callId = response.headers.get('x-request-id') ?? '';
    leaving.abort();
    holding.open();
    for (let turns = 0; stack.gateway.ledger.gauges().holds > 0; turns++) {
      assert.ok(turns < 100_000, 'the call did not end');
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    assert.equal((await recordOf(callId)).status, 'Running');
    provider.end(provider.made.at(-1) ?? '', DONE);
    await poll(callId);
    assert.equal((await spent()) - before, 49n * PRICE);
  });
});
