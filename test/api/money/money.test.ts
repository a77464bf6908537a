/** Costs and holds of calls, and their guarantees (docs/reference/pricing.md, docs/concepts/money.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS, keyManifest } from '../../support/manifests.ts';
import {
  anthropicMessage,
  anthropicStream,
  breakAt,
  gated,
  insertAt,
  json,
  openaiChat,
  openaiEmbeddings,
  openaiError,
  openaiImages,
  openaiStream,
} from '../../support/provider-answers.ts';
import { CUT, gate } from '../../support/mock-provider.ts';
import type { Reply } from '../../support/mock-provider.ts';
import {
  chat,
  get,
  message,
  nothingLeaks,
  post,
  spending,
  startTestStack,
  tidyUp,
} from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

const CROWD_KEY = 'sk-test-crowd-00000000000000000000000000000';
let stack: TestStack;

function groupsManifest(openaiUrl: string): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: cheap}
spec: {displayName: Cheap, priceRatio: "0.8", allowedNamespaces: {from: All}, routes: [{routeRef: {name: openai}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: dear}
spec: {displayName: Dear, priceRatio: "1.5", allowedNamespaces: {from: All}, routes: [{routeRef: {name: openai}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: drain}
spec:
  models: [{name: drain-model, contextTokens: 100000, maxOutputTokens: 4000}]
  clientDisconnect: Drain
  channels: [{name: only, protocol: OpenAI, baseUrl: ${openaiUrl}/v1}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: cancel}
spec:
  models: [{name: cancel-model, contextTokens: 100000, maxOutputTokens: 4000}]
  clientDisconnect: Cancel
  channels: [{name: only, protocol: OpenAI, baseUrl: ${openaiUrl}/v1}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: more}
spec:
  models:
  - {name: drain-model, vendor: OpenAI, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
  - {name: cancel-model, vendor: OpenAI, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
`;
}

beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({
      'groups.yaml': groupsManifest(openaiUrl),
      'more-keys.yaml':
        keyManifest('cheap', 'sk-test-cheap-00000000000000000000000000000', 'groupRef: {name: cheap}') +
        keyManifest('dear', 'sk-test-dear-000000000000000000000000000000', 'groupRef: {name: dear}') +
        keyManifest('crowd', CROWD_KEY, 'quota: {limitUsd: "1", whenShort: Refuse}'),
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const CHEAP = { authorization: 'Bearer sk-test-cheap-00000000000000000000000000000' };
const DEAR = { authorization: 'Bearer sk-test-dear-000000000000000000000000000000' };

/** Returns the record of a call, by the id in its response. */
async function usageOf(answer: Answer, headers: Record<string, string> = {}): Promise<Json> {
  return (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`, headers)).json();
}

describe('the check values of the price formula', () => {
  const anthropicUsage = {
    input_tokens: 1000,
    cache_read_input_tokens: 20000,
    cache_creation_input_tokens: 4000,
    cache_creation: { ephemeral_5m_input_tokens: 3000, ephemeral_1h_input_tokens: 1000 },
    output_tokens: 500,
  };
  const asks = message('claude-model', {
    max_tokens: 4000,
    system: [{ type: 'text', text: 'x'.repeat(30000), cache_control: { type: 'ephemeral', ttl: '1h' } }],
  });

  it('$3/$15 with cache reads and writes cost $0.03375, streamed or not', async () => {
    stack.anthropic.script(anthropicMessage({ usage: anthropicUsage }));
    const whole = await post(stack, '/v1/messages', asks);
    assert.equal(whole.headers.get('x-modelgateway-cost-usd'), '0.03375');
    stack.anthropic.script(anthropicStream(['a', 'b'], { usage: anthropicUsage }));
    const streamed = await post(stack, '/v1/messages', { ...asks, stream: true });
    assert.equal(streamed.status, 200);
    const usage = await usageOf(streamed);
    assert.equal(usage.cost_usd, '0.03375');
    assert.deepEqual(
      [usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens],
      [1000, 20000, 4000, 500],
    );
    assert.equal(usage.usage_source, 'Provider');
  });
  it('$2.5/$10 with cached input at group ratio 0.8 cost $0.0204', async () => {
    const usage = { prompt_tokens: 12000, completion_tokens: 800, prompt_tokens_details: { cached_tokens: 10000 } };
    stack.openai.script(openaiChat({ usage }));
    const body = chat('gpt-model', { messages: [{ role: 'user', content: 'x'.repeat(20000) }] });
    assert.equal(
      (await post(stack, '/v1/chat/completions', body, CHEAP)).headers.get('x-modelgateway-cost-usd'),
      '0.0204',
    );
    stack.openai.script(openaiStream(['a', 'b'], { usage }));
    const streamed = await post(stack, '/v1/chat/completions', { ...body, stream: true }, CHEAP);
    assert.equal((await usageOf(streamed, CHEAP)).cost_usd, '0.0204');
  });
  it('a price per request at group ratio 1.5 costs $0.06, times n', async () => {
    stack.openai.script(openaiImages());
    const one = await post(stack, '/v1/images/generations', { model: 'image-model', prompt: 'a cat' }, DEAR);
    assert.equal(one.status, 200, one.text);
    assert.equal(one.headers.get('x-modelgateway-cost-usd'), '0.06');
    stack.openai.script(openaiImages(3));
    const three = await post(stack, '/v1/images/generations', { model: 'image-model', prompt: 'a cat', n: 3 }, DEAR);
    assert.equal(three.headers.get('x-modelgateway-cost-usd'), '0.18');
  });
  it('embeddings cost their input', async () => {
    stack.openai.script(openaiEmbeddings([[0.1, 0.2]], 1000));
    const answer = await post(stack, '/v1/embeddings', { model: 'embed-model', input: 'x'.repeat(4000) });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.00002');
  });
});

describe('the money of a call', () => {
  it('has cost and remaining money in response headers, and in a usage record for its own key only', async () => {
    stack.openai.script(openaiChat({ usage: { prompt_tokens: 100, completion_tokens: 50 } }));
    const headers = { 'x-api-key': KEYS.small };
    const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', { max_tokens: 300 }), headers);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.00075');
    assert.equal(answer.headers.get('x-modelgateway-remaining-usd'), '0.00925');
    const usage = await usageOf(answer, headers);
    assert.equal(usage.object, 'usage');
    assert.equal(usage.id, answer.headers.get('x-request-id'));
    assert.deepEqual(
      [usage.model, usage.group, usage.channel, usage.cost_usd, usage.unbilled_usd],
      ['gpt-model', 'Main', 'openai/direct', '0.00075', '0.00'],
    );
    assert.equal((await get(stack, `/v1/usage/${usage.id}`)).status, 404, 'another key reads it');
    const key = (await get(stack, '/v1/key', headers)).json();
    assert.deepEqual([key.spent_usd, key.remaining_usd, key.held_usd], ['0.00075', '0.00925', '0.00']);
  });
  it('is shown as Unlimited for an unlimited key', async () => {
    stack.openai.script(openaiChat());
    assert.equal(
      (await post(stack, '/v1/chat/completions', chat())).headers.get('x-modelgateway-remaining-usd'),
      'Unlimited',
    );
  });
  it('is estimated, marked and never zero if the provider reports no usage', async () => {
    stack.openai.script(openaiChat({ content: 'x'.repeat(400), usage: null }));
    const answer = await post(stack, '/v1/chat/completions', chat());
    assert.equal(answer.headers.get('x-modelgateway-usage'), 'estimated');
    const usage = await usageOf(answer);
    assert.equal(usage.usage_source, 'Estimated');
    assert.equal(usage.output_tokens, 100);
    assert.ok(usage.input_tokens > 0);
    stack.anthropic.script(anthropicStream(['x'.repeat(40), 'y'.repeat(40)], { usage: null }));
    const streamed = await usageOf(await post(stack, '/v1/messages', message('claude-model', { stream: true })));
    assert.equal(streamed.usage_source, 'Estimated');
    assert.equal(streamed.output_tokens, 20);
  });
  it('is not in the headers of streams and refusals', async () => {
    stack.openai.script(openaiStream());
    const streamed = await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    const refused = await post(stack, '/v1/chat/completions', chat('no-model'));
    for (const { headers } of [streamed, refused]) {
      assert.equal(headers.get('x-modelgateway-cost-usd'), null);
      assert.equal(headers.get('x-modelgateway-max-tokens'), null);
    }
  });
});

describe('too little money for the worst case', () => {
  it('admits of 200 concurrent calls only what the quota affords, to the nano-dollar', async () => {
    // the worst case of one call is just under a 20th of the dollar: input bound by bytes, output 4000 tokens at $10 a
    // million
    const body = chat('gpt-model', { max_tokens: 4000, messages: [{ role: 'user', content: '' }] });
    const bound = (bytes: number): number => ((bytes + 128 + 16) * 2.5 * 1.25) / 1e6 + (4000 * 10) / 1e6;
    body['messages'] = [{ role: 'user', content: 'x'.repeat(2850) }];
    assert.ok(bound(2950) < 0.05 && bound(2950) * 21 > 1);
    const waiting = gate();
    const usage = { prompt_tokens: 700, completion_tokens: 4000 };
    stack.openai.script({ ...openaiChat({ usage }), beforeHead: [waiting] });
    const calls = Array.from({ length: 200 }, () =>
      post(stack, '/v1/chat/completions', body, { 'x-api-key': CROWD_KEY }),
    );
    const settled: Promise<Answer>[] = calls;
    await stack.openai.request(17);
    // all calls are decided when 200 less those in flight have a response
    const refused = await firstRefusals(settled, 180);
    const { held, spent } = await spending(stack, 'crowd');
    assert.ok(held + spent <= 1_000_000_000n, `held ${held}`);
    waiting.open();
    const answers = await Promise.all(settled);
    const ok = answers.filter(({ status }) => status === 200);
    assert.ok(ok.length >= 18 && ok.length <= 20, `${ok.length} succeeded`);
    assert.ok(refused >= 180);
    assert.ok(answers.every(({ status }) => status === 200 || status === 429));
    const after = await spending(stack, 'crowd');
    assert.equal(after.spent, BigInt(ok.length) * (700n * 2_500n + 4000n * 10_000n));
    assert.ok(after.spent <= 1_000_000_000n);
    assert.equal(stack.openai.requests.length, ok.length, 'a refused call reached the provider');
  });
});

/** Resolves when this many of the calls have a response. */
function firstRefusals(calls: readonly Promise<Answer>[], count: number): Promise<number> {
  return new Promise((resolve) => {
    let done = 0;
    for (const call of calls)
      void call.then(() => {
        if (++done === count) resolve(done);
      });
  });
}

describe('a provider that reports more output than allowed', () => {
  it('is billed from the free money; the rest is written off and never overspent', async () => {
    await stack.gateway.write(
      'liar.yaml',
      keyManifest('liar', 'sk-test-liar-000000000000000000000000000000', 'quota: {limitUsd: "0.01"}'),
    );
    const headers = { 'x-api-key': 'sk-test-liar-000000000000000000000000000000' };
    stack.openai.script(openaiChat({ usage: { prompt_tokens: 10, completion_tokens: 1_000_000 } }));
    // a web search has no bound, so the provider's usage is believed
    const answer = await post(
      stack,
      '/v1/chat/completions',
      chat('tools-model', { max_tokens: 300, web_search_options: {} }),
      headers,
    );
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-modelgateway-remaining-usd'), '0.00');
    const usage = await usageOf(answer, headers);
    assert.equal(usage.cost_usd, '0.01');
    assert.equal(usage.unbilled_usd, '9.990025');
    assert.deepEqual(await spending(stack, 'liar'), { spent: 10_000_000n, held: 0n });
    assert.equal((await post(stack, '/v1/chat/completions', chat(), headers)).status, 429);
  });
  it('is billed under a limit that was lowered meanwhile', async () => {
    const key = 'sk-test-lowered-0000000000000000000000000000';
    await stack.gateway.write('lowered.yaml', keyManifest('lowered', key, 'quota: {limitUsd: "20"}'));
    const waiting = gated(openaiChat({ usage: { prompt_tokens: 10, completion_tokens: 1_000_000 } }));
    stack.openai.script(waiting.reply);
    const call = post(stack, '/v1/chat/completions', chat('tools-model', { max_tokens: 300, web_search_options: {} }), {
      'x-api-key': key,
    });
    await waiting.gate.reached;
    await stack.gateway.write('lowered.yaml', keyManifest('lowered', key, 'quota: {limitUsd: "5"}'));
    waiting.gate.open();
    const usage = await usageOf(await call, { 'x-api-key': key });
    assert.deepEqual([usage.cost_usd, usage.unbilled_usd], ['5.00', '5.000025']);
    assert.ok(usage.duration_ms > 0, 'a file was written meanwhile');
  });
});

describe('a call that ends early', () => {
  it('is billed for its input and the output so far if the provider cuts the stream off', async () => {
    stack.openai.script(breakAt(openaiStream(['x'.repeat(40), 'y'.repeat(40), 'z']), 3, CUT));
    const answer = await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    assert.equal(answer.status, 200);
    assert.match(answer.text, /"error":\{"message":"The provider broke off/);
    assert.ok(!answer.text.includes('[DONE]'));
    const usage = await usageOf(answer);
    assert.deepEqual([usage.usage_source, usage.output_tokens], ['Partial', 20]);
    assert.ok(usage.input_tokens > 0);
    stack.anthropic.script(breakAt(anthropicStream(['x'.repeat(40), 'y'.repeat(40)]), 4, CUT));
    const other = await post(stack, '/v1/messages', message('claude-model', { stream: true }));
    assert.match(other.text, /event: error\ndata: \{"type":"error"/);
    assert.ok(!other.text.includes('message_stop'));
    const cut = await usageOf(other);
    assert.equal(cut.usage_source, 'Partial');
    assert.equal(cut.input_tokens, 10);
  });
  it('is stopped under Cancel when the client disconnects, and billed for the output so far', async () => {
    const before = await spending(stack);
    const waiting = gate();
    stack.openai.script(insertAt(openaiStream([TEN_TOKENS, TEN_TOKENS, 'z']), 3, waiting));
    const id = await leaveAfter(TEN_TOKENS, chat('cancel-model', { stream: true }));
    const request = await stack.openai.request(0);
    await request.over;
    assert.equal(request.clientGone, true, 'the provider was not stopped');
    const usage = await settledUsage(id);
    assert.equal(usage.usage_source, 'Partial');
    assert.ok(usage.output_tokens >= 10 && usage.output_tokens <= 20);
    assert.ok((await spending(stack)).spent > before.spent);
  });
  it('is read to its exact usage under Drain, the default', async () => {
    for (const [index, model] of ['drain-model', 'gpt-model'].entries()) {
      const waiting = gate();
      stack.openai.script(
        insertAt(openaiStream(['aa', 'bb', 'cc'], { usage: { prompt_tokens: 11, completion_tokens: 33 } }), 2, waiting),
      );
      const id = await leaveAfter('aa', chat(model, { stream: true }));
      waiting.open();
      const request = await stack.openai.request(index);
      await request.over;
      assert.equal(request.clientGone, false);
      const usage = await settledUsage(id);
      assert.deepEqual([usage.usage_source, usage.input_tokens, usage.output_tokens], ['Provider', 11, 33]);
    }
  });
  it('is billed its exact usage if it does not stream and the client disconnects', async () => {
    const waiting = gated(openaiChat({ usage: { prompt_tokens: 11, completion_tokens: 33 } }));
    stack.openai.script(waiting.reply);
    const leaving = new AbortController();
    const call = fetch(`${stack.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${KEYS.main}` },
      body: JSON.stringify(chat()),
    });
    const gone = assert.rejects(call);
    await waiting.gate.reached;
    const before = await spending(stack);
    leaving.abort();
    await gone;
    waiting.gate.open();
    await (
      await stack.openai.request(0)
    ).over;
    await settlement();
    assert.equal((await spending(stack)).spent - before.spent, 11n * 2_500n + 33n * 10_000n);
  });
  it('costs nothing if the provider fails before any output', async () => {
    const before = await spending(stack);
    for (const reply of [
      openaiError(500),
      { beforeHead: [CUT], steps: [] } satisfies Reply,
      json({}, { status: 404 }),
    ]) {
      stack.openai.script(reply);
      assert.equal((await post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true }))).status, 502);
    }
    assert.deepEqual(await spending(stack), before);
  });
});

/** A text of the tokenizer's vocabulary. */
const TEN_TOKENS = 'The quick brown fox jumps over the lazy dog.';

/** Streams until `text`, then disconnects; returns the request id. */
async function leaveAfter(text: string, body: unknown): Promise<string> {
  const leaving = new AbortController();
  const response = await fetch(`${stack.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${KEYS.main}` },
    body: JSON.stringify(body),
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let seen = ''; !seen.includes(text);) {
    const { value, done } = await reader.read();
    assert.ok(!done);
    seen += value;
  }
  leaving.abort();
  await reader.read().catch(() => undefined);
  return response.headers.get('x-request-id') ?? '';
}

/** Resolves once no call holds money any more. */
async function settlement(): Promise<void> {
  while (!nothingLeaks(stack))
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
}

async function settledUsage(id: string): Promise<Json> {
  await settlement();
  return (await get(stack, `/v1/usage/${id}`)).json();
}

describe('an account', () => {
  it('without a grant pays for nothing', async () => {
    await stack.gateway.write(
      'broke.yaml',
      keyManifest('broke', 'sk-test-broke-00000000000000000000000000000', 'accountRef: {name: broke}') +
        'apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: broke, namespace: team}\nspec: {}\n',
    );
    assert.equal(
      (
        await post(stack, '/v1/chat/completions', chat(), {
          'x-api-key': 'sk-test-broke-00000000000000000000000000000',
        })
      ).status,
      402,
    );
  });
});
