/** Several channels that fail in different ways: what is retried, and which error the client gets (docs/errors.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { anthropicError, json, openaiChat, openaiError, openaiStream } from '../../support/provider-answers.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider, Reply } from '../../support/mock-provider.ts';
import { chat, message, nothingLeaks, post, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
const KEY = 'sk-test-filtered-00000000000000000000000000';
let stack: TestStack;
let providers: MockProvider[] = [];

beforeAll(async () => {
  providers = await Promise.all([0, 1, 2, 3].map(() => startMockProvider()));
  const channels = (protocol: string, path: string): string =>
    providers
      .map(({ url }, index) => `{name: c${index}, protocol: ${protocol}, baseUrl: ${url}${path}, priority: ${index}}`)
      .join(', ');
  const model = (name: string): string =>
    `{name: ${name}, contextTokens: 100000, maxOutputTokens: 1000, allow: [ServiceTiers, FileReferences, ServerTools]}`;
  stack = await startTestStack({
    files: () => ({
      'four.yaml': `${HEAD}ModelRoute
metadata: {name: four}
spec: {models: [${model('four-model')}, ${model('hidden-model')}], channels: [${channels('OpenAI', '/v1')}]}
---
${HEAD}ModelRoute
metadata: {name: messages}
spec: {models: [${model('messages-model')}], channels: [${channels('Anthropic', '')}]}
---
${HEAD}Group
metadata: {name: filtered}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: four}, models: [four-model], channels: [c2]}]}
---
${HEAD}PriceCatalog
metadata: {name: four}
spec: {models: [${['four', 'hidden', 'messages']
        .map((name) => `{name: ${name}-model, vendor: V, quotaType: Token, modelRatio: "1"}`)
        .join(', ')}]}
---
${keyManifest('filtered', KEY, 'groupRef: {name: filtered}')}`,
    }),
  });
});
afterAll(async () => {
  await stack.stop();
  await Promise.all(providers.map((provider) => provider.stop()));
});
afterEach(() => {
  for (const provider of providers) provider.clear();
  assert.ok(nothingLeaks(stack));
});

/** Each channel's response, in the order of the attempts. */
const script = (...replies: readonly Reply[]): void =>
  replies.forEach((reply, index) => providers[index]?.script(reply));
const call = (more = {}, headers = {}): Promise<Answer> =>
  post(stack, '/v1/chat/completions', chat('four-model', more), headers);
const asked = (): number[] => providers.map(({ requests }) => requests.length);
const limited = (seconds?: number): Reply =>
  json(
    { error: { message: 'slow down' } },
    {
      status: 429,
      headers: seconds === undefined ? {} : { 'retry-after': String(seconds) },
    },
  );

describe('retries', () => {
  it('go to two further channels by default, and to none twice', async () => {
    script(openaiError(500), openaiError(503), openaiError(502), openaiChat());
    assert.equal((await call()).status, 502);
    assert.deepEqual(asked(), [1, 1, 1, 0]);
  });
  it('also apply to streams before the first byte, and the call is billed once', async () => {
    const before = await spending(stack);
    script(openaiError(500), openaiStream(['hi'], { usage: { prompt_tokens: 100, completion_tokens: 0 } }));
    const answer = await call({ stream: true });
    assert.match(answer.text, /"hi".*\[DONE\]/s);
    assert.equal((await spending(stack)).spent - before.spent, 200_000n);
  });
});

describe('the error that the client gets', () => {
  it("is an overload only if the last channel reported one: 503, in Anthropic's dialect 529", async () => {
    script(openaiError(500), openaiError(529), openaiError(529));
    assert.equal((await call()).status, 503);
    script(openaiError(529), openaiError(529), openaiError(500));
    assert.equal((await call()).status, 502);
    script(anthropicError(500), anthropicError(500), anthropicError(529, 'overloaded_error'));
    const answer = await post(stack, '/v1/messages', message('messages-model'));
    assert.deepEqual([answer.status, answer.json().error.type], [529, 'overloaded_error']);
  });
  it('is a rate limit only if every channel reported one, with the shortest retry-after', async () => {
    script(limited(30), limited(7), limited(90));
    const answer = await call();
    assert.deepEqual(
      [answer.status, answer.headers.get('retry-after'), answer.json().error.code],
      [429, '7', 'rate_limit_exceeded'],
    );
    script(limited(30), openaiError(500), limited(30));
    assert.deepEqual([(await call()).status], [502]);
  });
  it("is the provider's refusal of the request, and ends the retries", async () => {
    script(openaiError(500), openaiError(400, 'this is too odd', { code: 'odd_request' }));
    const answer = await call();
    assert.deepEqual(
      [answer.status, answer.json().error.message, answer.json().error.code],
      [400, 'this is too odd', 'odd_request'],
    );
    assert.deepEqual(asked(), [1, 1, 0, 0]);
  });
  it("contains no provider's address or key", async () => {
    script(openaiError(401, `bad key sk-1234567890abcdefghij at ${providers[0]?.url}`));
    const answer = await call();
    assert.equal(answer.status, 502);
    assert.ok(!/sk-1234|127\.0\.0\.1/.test(answer.text), answer.text);
  });
});
