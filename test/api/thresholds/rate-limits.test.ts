/** Limits by the minute of key, account, group × channel and channel, as clients see them. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { anthropicMessage, openaiChat, openaiError } from '../../support/provider-answers.ts';
import { chat, get, message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const KEY = (name: string): string => `sk-test-${name}-`.padEnd(43, '0');
/** At the beginning of a second. */
const START_MS = Date.UTC(2026, 10, 23, 12);
let nowMs = START_MS;

const keys = [
  keyManifest('two', KEY('two'), 'rateLimits: {requestsPerMinute: 2}'),
  keyManifest('tokens', KEY('tokens'), 'rateLimits: {inputTokensPerMinute: 1000, outputTokensPerMinute: 200}'),
  keyManifest('first', KEY('first'), 'accountRef: {name: narrow}'),
  keyManifest('second', KEY('second'), 'accountRef: {name: narrow}\nrateLimits: {requestsPerMinute: 50}'),
  keyManifest('wide', KEY('wide'), 'groupRef: {name: pair}'),
  keyManifest('capped', KEY('capped'), 'groupRef: {name: capped}'),
].join('');

const manifest = (openaiUrl: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: narrow, namespace: team}
spec: {grants: [{name: start, usd: "10"}], rateLimits: {requestsPerMinute: 3}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: pair}
spec:
  models: [{name: limited-model, contextTokens: 100000, maxOutputTokens: 1000}]
  channels:
  - {name: a, protocol: OpenAI, baseUrl: ${openaiUrl}/a, rateLimits: {requestsPerMinute: 1}}
  - {name: b, protocol: OpenAI, baseUrl: ${openaiUrl}/b, rateLimits: {requestsPerMinute: 2}, priority: 1}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: pair}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: pair}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: capped}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: pair}, rateLimits: {outputTokensPerMinute: 300}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: limited}
spec: {models: [{name: limited-model, vendor: V, quotaType: Token, modelRatio: "1"}]}
---
${keys}`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    nowMs: () => nowMs,
    files: ({ openaiUrl }) => ({ 'limited.yaml': manifest(openaiUrl) }),
  });
});
afterAll(() => stack.stop());
afterEach(() => {
  tidyUp(stack);
  // what a test took no longer counts in the next one
  nowMs += 120_000;
});

const ask = (key: string, body = chat('gpt-model', { max_tokens: 50 })): Promise<Answer> =>
  post(stack, '/v1/chat/completions', body, { 'x-api-key': KEY(key) });

/** The headers about limits, without their prefix. */
function limitHeaders({ headers }: Pick<Answer, 'headers'>): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.includes('ratelimit')));
}

describe("a key's requests per minute", () => {
  it('are told, refused beyond the limit with the wait that is needed, and there again after it', async () => {
    stack.openai.script(openaiChat(), openaiChat(), openaiChat());
    assert.deepEqual(limitHeaders(await ask('two')), {
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': '61s',
    });
    nowMs += 20_500;
    assert.equal((await ask('two')).headers.get('x-ratelimit-remaining-requests'), '0');
    const refused = await ask('two');
    assert.deepEqual([refused.status, refused.json().error.code], [429, 'rate_limit_exceeded']);
    assert.equal(
      refused.json().error.message,
      'This API key may use 2 requests per minute, of which 0 are left. Try again in 41 s.',
    );
    assert.equal(refused.headers.get('retry-after'), '41');
    assert.deepEqual(limitHeaders(refused), {
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '40.5s',
    });
    nowMs += 40_499;
    assert.equal((await ask('two')).status, 429);
    nowMs += 1;
    assert.equal((await ask('two')).status, 200);
    assert.equal(stack.openai.requests.length, 3);
  });

  it("are told in Anthropic's headers to Anthropic's clients", async () => {
    stack.anthropic.script(anthropicMessage(), anthropicMessage());
    const send = (): Promise<Answer> => post(stack, '/v1/messages', message(), { 'x-api-key': KEY('two') });
    assert.deepEqual(limitHeaders(await send()), {
      'anthropic-ratelimit-requests-limit': '2',
      'anthropic-ratelimit-requests-remaining': '1',
      'anthropic-ratelimit-requests-reset': new Date(nowMs + 61_000).toISOString(),
    });
    await send();
    const refused = await send();
    assert.deepEqual([refused.status, refused.json().error.type], [429, 'rate_limit_error']);
    assert.equal(refused.headers.get('anthropic-ratelimit-requests-remaining'), '0');
  });

  it("are told in Anthropic's headers to a client of Anthropic's at a path of OpenAI's", async () => {
    stack.openai.script(openaiChat(), openaiChat());
    const headers = { 'x-api-key': KEY('two'), 'anthropic-version': '2023-06-01' };
    const told = async (path: string, body: object): Promise<readonly unknown[]> => {
      const answer = await post(stack, path, body, headers);
      const remaining = answer.headers.get('anthropic-ratelimit-requests-remaining');
      return [answer.status, remaining, Object.keys(limitHeaders(answer)).some((name) => name.startsWith('x-'))];
    };
    assert.deepEqual(await told('/v1/chat/completions', chat('gpt-model')), [200, '1', false]);
    assert.deepEqual(await told('/v1/chat/completions', chat('gpt-model')), [200, '0', false]);
    assert.deepEqual(await told('/v1/chat/completions', chat('gpt-model')), [429, '0', false]);
    const count = { model: 'gpt-model', input: 'hi' };
    assert.deepEqual(await told('/v1/responses/input_tokens', count), [429, '0', false]);
    assert.deepEqual(await told('/v1/conversations', { model: 'gpt-model' }), [429, '0', false]);
  });

  it('make an official SDK wait as long as is needed, and not longer', async () => {
    const waited: number[] = [];
    const client = new OpenAI({
      apiKey: KEY('two'),
      baseURL: `${stack.gateway.url}/v1`,
      maxRetries: 1,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        const seconds = Number(response.headers.get('retry-after'));
        // the clock of the gateway passes in place of the wait
        if (response.status === 429) nowMs += 1000 * waited.push(seconds) * seconds;
        return response.status === 429
          ? new Response(response.body, { status: 429, headers: { 'retry-after-ms': '1' } })
          : response;
      },
    });
    stack.openai.script(openaiChat(), openaiChat(), openaiChat());
    const call = (): Promise<unknown> =>
      client.chat.completions.create({ model: 'gpt-model', messages: [{ role: 'user', content: 'hello' }] });
    for (let n = 0; n < 3; n++) await call();
    assert.deepEqual(waited, [61]);
  });
});

describe('tokens per minute', () => {
  it('are taken with the output limit and corrected when the call ends', async () => {
    stack.openai.script(openaiChat(), openaiChat(), openaiChat());
    const first = await ask('tokens', chat('gpt-model', { max_tokens: 150 }));
    assert.equal(first.headers.get('x-ratelimit-remaining-output-tokens'), '50');
    assert.equal(first.headers.get('x-ratelimit-remaining-tokens'), '50');
    const { completion_tokens: used } = first.json().usage;
    const second = await ask('tokens', chat('gpt-model', { max_tokens: 150 }));
    assert.equal(second.headers.get('x-ratelimit-remaining-output-tokens'), String(50 - used));
    const large = await ask('tokens', chat('gpt-model', { max_tokens: 200 }));
    assert.equal(large.status, 429);
    assert.match(
      large.json().error.message,
      /^This API key may use 200 output tokens per minute, of which \d+ are left/,
    );
  });

  it('of a call that its provider failed are given back, and its request is not', async () => {
    stack.openai.script(openaiError(400));
    assert.equal((await ask('tokens', chat('gpt-model', { max_tokens: 200 }))).status, 400);
    stack.openai.script(openaiChat());
    assert.equal((await ask('tokens', chat('gpt-model', { max_tokens: 200 }))).status, 200);
  });
});

describe('a call that is not sent', () => {
  it('takes no request of the minute', async () => {
    const refused = await ask('two', chat('claude-model', { logit_bias: { 50256: -100 } }));
    assert.deepEqual([refused.status, refused.json().error.code], [400, 'unsupported_parameter']);
    stack.openai.script(openaiChat(), openaiChat());
    const remaining = async (): Promise<string | null> =>
      (await ask('two')).headers.get('x-ratelimit-remaining-requests');
    assert.deepEqual([await remaining(), await remaining()], ['1', '0']);
  });
});

describe("an account's limits", () => {
  it('are those of all its keys together', async () => {
    stack.openai.script(openaiChat(), openaiChat(), openaiChat());
    for (const key of ['first', 'second', 'first']) assert.equal((await ask(key)).status, 200);
    const refused = await ask('second');
    assert.match(refused.json().error.message, /^This API key's account may use 3 requests per minute/);
    assert.equal(refused.headers.get('retry-after'), '61');
  });

  it("are told in place of the key's where less is left of them", async () => {
    stack.openai.script(openaiChat());
    assert.equal((await ask('second')).headers.get('x-ratelimit-limit-requests'), '3');
  });
});

describe('limits of channels', () => {
  const sent = (): string[] => stack.openai.requests.map(({ path }) => path.slice(1, 2));

  it('send calls to the next channel, and say when one has room if none has', async () => {
    stack.openai.script(openaiChat(), openaiChat(), openaiChat());
    const served = [];
    for (let n = 0; n < 3; n++) served.push(await ask('wide', chat('limited-model')));
    assert.deepEqual(sent(), ['a', 'b', 'b']);
    assert.deepEqual(served.map(limitHeaders), [{}, {}, {}], "the platform's own figures are told to nobody");
    nowMs += 30_000;
    const refused = await ask('wide', chat('limited-model'));
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '31']);
    assert.match(refused.json().error.message, /has as many requests or tokens as it may have in a minute/);
  });

  it('of a group count for its keys only', async () => {
    const large = chat('limited-model', { max_tokens: 290 });
    const used = openaiChat({ usage: { prompt_tokens: 5, completion_tokens: 290 } });
    stack.openai.script(used, used, openaiChat());
    for (let n = 0; n < 2; n++) assert.equal((await ask('capped', large)).status, 200);
    assert.deepEqual(sent(), ['a', 'b']);
    const small = chat('limited-model', { max_tokens: 20 });
    assert.equal((await ask('capped', small)).status, 429, 'b has a request left, and the group 10 tokens on it');
    assert.equal((await ask('wide', small)).status, 200);
  });
});

it('GET /v1/key shows the limits of the key', async () => {
  const { rate_limits: limits } = (await get(stack, '/v1/key', { 'x-api-key': KEY('tokens') })).json();
  assert.deepEqual(limits, {
    requests_per_minute: null,
    input_tokens_per_minute: 1000,
    output_tokens_per_minute: 200,
  });
});
