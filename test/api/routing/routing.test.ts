/** The choice of the channel: priorities, weights, thresholds, Automatic groups. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { refusingUrl, startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { gated, openaiChat, openaiError, openaiStream } from '../../support/provider-answers.ts';
import { chat, get, nothingLeaks, post, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
const providers: Record<'first' | 'second' | 'third', MockProvider> = {} as never;
const KEY = (name: string): string => `sk-test-${name}-`.padEnd(40, '0');
const header = (name: string): Record<string, string> => ({ 'x-api-key': KEY(name) });

function manifest(dead: string): string {
  const model = (name: string): string => `{name: ${name}, contextTokens: 100000, maxOutputTokens: 1000}`;
  const channel = (name: string, url: string, more = ''): string =>
    `{name: ${name}, protocol: OpenAI, baseUrl: ${url}/v1${more}}`;
  const { first, second, third } = providers;
  const route = (name: string, channels: string[], more = ''): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: ${name}, labels: {of: ${name}}}
spec: {models: [${model(`${name}-model`)}], channels: [${channels.join(', ')}]${more}}
---`;
  return (
    [
      route('tiers', [
        channel('a', first.url, ', priority: 0'),
        channel('b', second.url, ', priority: 1'),
        channel('c', third.url, ', priority: 2'),
      ]),
      route('weights', [channel('a', first.url, ', weight: 300'), channel('b', second.url, ', weight: 100')]),
      route(
        'drawn',
        [channel('a', first.url, ', weight: 300'), channel('b', second.url, ', weight: 100')],
        ', routing: Weighted',
      ),
      route('limited', [
        channel('a', first.url, ', maxConcurrency: 1'),
        channel('b', second.url, ', priority: 1, maxConcurrency: 1'),
      ]),
      route('dead', [channel('a', dead), channel('b', second.url, ', priority: 1')]),
      route('slow', [
        channel(
          'a',
          first.url,
          ', timeouts: {connectSeconds: 1, firstByteSeconds: 1, wholeSeconds: 1, idleSeconds: 1}',
        ),
        channel('b', second.url, ', priority: 1'),
      ]),
      route('once', [channel('a', first.url), channel('b', second.url, ', priority: 1')], ', retry: {attempts: 0}'),
    ].join('') +
    `
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: vip}
spec: {displayName: VIP, priceRatio: "2", allowedNamespaces: {from: All},
  routes: [{routeRef: {name: limited}, channels: [a]}, {routeRef: {name: tiers}, channels: [a]}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: standard}
spec: {displayName: Standard, priceRatio: "1", allowedNamespaces: {from: All},
  routes: [{routeRef: {name: limited}, channels: [b]}, {routeRef: {name: tiers}, channels: [b]}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: smart}
spec: {type: Automatic, displayName: Smart · 智能, priceRatio: "1.5", allowedNamespaces: {from: All},
  members: [{name: vip}, {name: standard}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: capped}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: tiers}, channels: [a], maxConcurrency: 1}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: routing}
spec:
  models:
${['tiers', 'weights', 'drawn', 'limited', 'dead', 'slow', 'once']
  .map((name) => `  - {name: ${name}-model, vendor: V, quotaType: Token, modelRatio: "1"}`)
  .join('\n')}
`
  );
}

beforeAll(async () => {
  for (const name of ['first', 'second', 'third'] as const) providers[name] = await startMockProvider();
  const dead = await refusingUrl();
  stack = await startTestStack({
    files: () => ({
      'routing.yaml': manifest(dead),
      'routing-keys.yaml': ['smart', 'capped', 'vip']
        .map((name) => keyManifest(name, KEY(name), `groupRef: {name: ${name}}`))
        .join(''),
    }),
  });
});
afterAll(async () => {
  await stack.stop();
  for (const provider of Object.values(providers)) await provider.stop();
});
afterEach(() => {
  for (const provider of Object.values(providers)) provider.clear();
  assert.ok(nothingLeaks(stack));
});

/** A body of at most 1000 tokens. */
const LONG = [{ role: 'user', content: 'x'.repeat(1000) }];
const ok = (content: string): ReturnType<typeof openaiChat> =>
  openaiChat({ content, usage: { prompt_tokens: 1000, completion_tokens: 1000 } });
const call = (
  model: string,
  headers: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Promise<Answer> => post(stack, '/v1/chat/completions', chat(model, { messages: LONG, ...more }), headers);
const said = (answer: Answer): unknown => answer.json().choices[0].message.content;

describe('channels', () => {
  it('with a lower priority number are used first', async () => {
    providers.first.script(ok('a'));
    for (let n = 0; n < 5; n++) assert.equal(said(await call('tiers-model')), 'a');
    assert.equal(providers.second.requests.length, 0);
  });
  it('of equal priority share conversations by weight, or calls if the route says so', async () => {
    for (const [model, conversation] of [
      ['weights', (n: number) => `${n}`],
      ['drawn', () => 'the same'],
    ] as const) {
      providers.first.script(ok('a'));
      providers.second.script(ok('b'));
      for (let n = 0; n < 80; n++)
        await call(`${model}-model`, {}, { messages: [{ role: 'user', content: conversation(n) }] });
      const share = providers.first.requests.length;
      // 60 expected; either bound is 5 standard deviations away
      assert.ok(share > 40 && share < 76, `${model}: ${share} of 80`);
      for (const provider of Object.values(providers)) provider.clear();
    }
  });
  it('that are full are skipped; if all are, the call gets 429', async () => {
    const a = gated(ok('a'));
    const b = gated(ok('b'));
    providers.first.script(a.reply);
    providers.second.script(b.reply);
    const one = call('limited-model');
    await a.gate.reached;
    const two = call('limited-model');
    await b.gate.reached;
    const three = await call('limited-model');
    assert.equal(three.status, 429);
    assert.ok(three.headers.get('retry-after'));
    a.gate.open();
    b.gate.open();
    assert.deepEqual([said(await one), said(await two)], ['a', 'b']);
    assert.deepEqual([providers.first.mostInFlight, providers.second.mostInFlight], [1, 1]);
  });
  it("apply a group's own threshold, whatever other groups do", async () => {
    const waiting = gated(ok('a'));
    providers.first.script(waiting.reply, ok('a'));
    const mine = call('tiers-model', header('capped'));
    await waiting.gate.reached;
    assert.equal((await call('tiers-model', header('capped'))).status, 429);
    assert.equal((await call('tiers-model')).status, 200);
    waiting.gate.open();
    assert.equal((await mine).status, 200);
  });
});

describe('an Automatic group', () => {
  // 1000 tokens in and 1000 out at $2 a million each are $0.004 at ratio 1
  it("is served by its first member, at that member's ratio times its own", async () => {
    providers.first.script(ok('a'));
    const answer = await call('tiers-model', header('smart'));
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.012');
    const usage = (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`, header('smart'))).json();
    assert.deepEqual([usage.group, usage.member], ['Smart · 智能', 'VIP']);
  });
  it('is named in headers by its displayName with the serving member, also for streams', async () => {
    const smart = 'Smart %C2%B7 %E6%99%BA%E8%83%BD';
    providers.first.script(ok('a'), openaiStream(['a']));
    const named = async (body: Record<string, unknown>, key: string): Promise<readonly unknown[]> => {
      const { headers } = await post(stack, '/v1/chat/completions', body, header(key));
      return [headers.get('x-modelgateway-group'), headers.get('x-modelgateway-member')];
    };
    assert.deepEqual(await named(chat('tiers-model'), 'smart'), [smart, 'VIP']);
    assert.deepEqual(await named(chat('tiers-model', { stream: true }), 'smart'), [smart, 'VIP']);
    providers.first.script(ok('a'));
    assert.deepEqual(await named(chat('tiers-model'), 'vip'), ['VIP', null]);
    assert.equal((await get(stack, '/v1/key', header('smart'))).json().group, 'Smart · 智能');
  });
  it('uses the next member if the first has no free slot', async () => {
    const waiting = gated(ok('a'));
    providers.first.script(waiting.reply);
    providers.second.script(ok('b'));
    const first = call('limited-model', header('smart'));
    await waiting.gate.reached;
    const second = await call('limited-model', header('smart'));
    assert.equal(said(second), 'b');
    assert.equal(second.headers.get('x-modelgateway-cost-usd'), '0.006');
    waiting.gate.open();
    assert.equal((await first).headers.get('x-modelgateway-cost-usd'), '0.012');
  });
  it('uses the next member if the first fails, and bills the member that served', async () => {
    providers.first.script(openaiError(503));
    providers.second.script(ok('b'));
    const answer = await call('tiers-model', header('smart'));
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.006');
    const { held } = await spending(stack, 'smart');
    assert.equal(held, 0n);
  });
});
