/**
 * Several channels that fail in different ways, and what the caller hears of it: the error table of api.md section 2.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import {
  anthropicError, anthropicMessage, json, openaiChat, openaiError, openaiStream,
} from '../../support/provider-answers.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider, Reply } from '../../support/mock-provider.ts';
import { chat, get, message, nothingLeaks, post, spending, startWorld } from '../../support/api/world.ts';
import type { Answer, World } from '../../support/api/world.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
const KEY = 'sk-test-filtered-00000000000000000000000000';
let world: World;
let providers: MockProvider[] = [];

beforeAll(async () => {
  providers = await Promise.all([0, 1, 2, 3].map(() => startMockProvider()));
  const channels = (protocol: string, path: string): string => providers.map(({ url }, index) =>
    `{name: c${index}, protocol: ${protocol}, baseUrl: ${url}${path}, priority: ${index}}`).join(', ');
  const model = (name: string): string =>
    `{name: ${name}, contextTokens: 100000, maxOutputTokens: 1000, allow: [ServiceTiers, FileReferences, ServerTools]}`;
  world = await startWorld({ files: () => ({
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
spec: {models: [${['four', 'hidden', 'messages'].map((name) =>
  `{name: ${name}-model, vendor: V, quotaType: Token, modelRatio: "1"}`).join(', ')}]}
---
${keyManifest('filtered', KEY, 'groupRef: {name: filtered}')}`,
  }) });
});
afterAll(async () => {
  await world.stop();
  await Promise.all(providers.map((provider) => provider.stop()));
});
afterEach(() => {
  for (const provider of providers) provider.clear();
  assert.ok(nothingLeaks(world));
});

/** Each channel's answer, in the order in which they are tried. */
const script = (...replies: readonly Reply[]): void =>
  replies.forEach((reply, index) => providers[index]?.script(reply));
const call = (more = {}, headers = {}): Promise<Answer> =>
  post(world, '/v1/chat/completions', chat('four-model', more), headers);
const asked = (): number[] => providers.map(({ requests }) => requests.length);
const limited = (seconds?: number): Reply => json({ error: { message: 'slow down' } }, {
  status: 429, headers: seconds === undefined ? {} : { 'retry-after': String(seconds) },
});

describe('retries', () => {
  it('go to two further channels by default, and to none twice', async () => {
    script(openaiError(500), openaiError(503), openaiError(502), openaiChat());
    assert.equal((await call()).status, 502);
    assert.deepEqual(asked(), [1, 1, 1, 0]);
  });
  it('are done for streams too, before the first byte; the call is paid once', async () => {
    const before = await spending(world);
    script(openaiError(500), openaiStream(['hi'], { usage: { prompt_tokens: 100, completion_tokens: 0 } }));
    const answer = await call({ stream: true });
    assert.match(answer.text, /"hi".*\[DONE\]/s);
    assert.equal((await spending(world)).spent - before.spent, 200_000n);
  });
});

describe('the error that is told', () => {
  it('is an overload only where the last channel said so: 503, in Anthropic\'s dialect 529', async () => {
    script(openaiError(500), openaiError(529), openaiError(529));
    assert.equal((await call()).status, 503);
    script(openaiError(529), openaiError(529), openaiError(500));
    assert.equal((await call()).status, 502);
    script(anthropicError(500), anthropicError(500), anthropicError(529, 'overloaded_error'));
    const answer = await post(world, '/v1/messages', message('messages-model'));
    assert.deepEqual([answer.status, answer.json().error.type], [529, 'overloaded_error']);
  });
  it('is a rate limit only where every channel said so, to be tried when the first of them is free again', async () => {
    script(limited(30), limited(7), limited(90));
    const answer = await call();
    assert.deepEqual(
      [answer.status, answer.headers.get('retry-after'), answer.json().error.code], [429, '7', 'rate_limit_exceeded'],
    );
    script(limited(30), openaiError(500), limited(30));
    assert.deepEqual([(await call()).status], [502]);
  });
  it('is the provider\'s refusal of the request, whichever channel said it, and nothing more is tried', async () => {
    script(openaiError(500), openaiError(400, 'this is too odd', { code: 'odd_request' }));
    const answer = await call();
    assert.deepEqual(
      [answer.status, answer.json().error.message, answer.json().error.code], [400, 'this is too odd', 'odd_request'],
    );
    assert.deepEqual(asked(), [1, 1, 0, 0]);
  });
  it('names no provider\'s address or key', async () => {
    script(openaiError(401, `bad key sk-1234567890abcdefghij at ${providers[0]?.url}`));
    const answer = await call();
    assert.equal(answer.status, 502);
    assert.ok(!/sk-1234|127\.0\.0\.1/.test(answer.text), answer.text);
  });
});

describe('a group\'s filters', () => {
  it('hide models and channels', async () => {
    script(openaiChat({ content: '0' }), openaiChat({ content: '1' }), openaiChat({ content: '2' }));
    assert.equal((await call({}, { 'x-api-key': KEY })).json().choices[0].message.content, '2');
    assert.equal((await post(world, '/v1/chat/completions', chat('hidden-model'), { 'x-api-key': KEY })).status, 404);
    assert.deepEqual((await get(world, '/v1/models', { 'x-api-key': KEY })).json().data.map(({ id }: { id: string }) =>
      id), ['four-model']);
  });
});

describe('what the model\'s allow names', () => {
  it('goes through, and is refused by models that do not name it', async () => {
    script(openaiChat());
    const asks: readonly Record<string, unknown>[] = [
      { service_tier: 'priority' }, { messages: [{
        role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }],
      }] }, { web_search_options: {} },
    ];
    for (const more of asks) {
      assert.equal((await call(more)).status, 200, JSON.stringify(more));
      const refused = await post(world, '/v1/chat/completions', chat('gpt-model', more));
      assert.deepEqual([refused.status, refused.json().error.code], [400, 'not_allowed'], JSON.stringify(more));
      assert.match(
        refused.json().error.message, /ask the platform team to allow (ServiceTiers|FileReferences|ServerTools)/,
      );
    }
    script(anthropicMessage());
    assert.equal((await post(world, '/v1/messages', message(
      'messages-model', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    ))).status, 200);
  });
});

describe('money before bytes', () => {
  for (const [what, size] of [['that is not a stream', 10], ['over 8 MiB', 9 * 2 ** 20]] as const)
    it(`an answer ${what} is whole only once it is in the books`, async () => {
      const { ledger } = world.gateway;
      const settle = ledger.settle.bind(ledger);
      const [asks, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      ledger.settle = async (settlement) => { asks.resolve(); await release.promise; return settle(settlement); };
      try {
        script(openaiChat({ content: 'x'.repeat(size) }));
        let whole = false;
        const running = call().then((answer) => { whole = true; return answer; });
        await asks.promise;
        // whatever was sent already has come by the time another call on this machine has
        await get(world, '/v1/models');
        assert.equal(whole, false);
        release.resolve();
        const answer = await running;
        assert.equal(answer.json().choices[0].message.content.length, size);
        assert.equal(answer.headers.has('x-modelgateway-cost-usd'), size < 8 * 2 ** 20);
      } finally {
        ledger.settle = settle;
        release.resolve();
      }
    });
});
