/** Failures of a channel after which another channel is tried, and others (docs/concepts/routing.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { refusingUrl, startMockProvider, RESET, STALL } from '../../support/mock-provider.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { openaiChat, openaiError, openaiStream } from '../../support/provider-answers.ts';
import { chat, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
const providers: Record<'first' | 'second' | 'third', MockProvider> = {} as never;
const KEY = (name: string): string => `sk-test-${name}-`.padEnd(40, '0');

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
spec: {type: Automatic, priceRatio: "1.5", allowedNamespaces: {from: All}, members: [{name: vip}, {name: standard}]}
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
${['tiers', 'weights', 'limited', 'dead', 'slow', 'once']
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

const ok = (content: string): ReturnType<typeof openaiChat> =>
  openaiChat({ content, usage: { prompt_tokens: 1000, completion_tokens: 1000 } });
const call = (
  model: string,
  headers: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Promise<Answer> => post(stack, '/v1/chat/completions', chat(model, more), headers);
const said = (answer: Answer): unknown => answer.json().choices[0].message.content;

describe('channels', () => {
  for (const status of [408, 429, 500, 502, 503, 529])
    it(`that respond with ${status} are followed by the next`, async () => {
      providers.first.script(openaiError(status));
      providers.second.script(openaiError(status));
      providers.third.script(ok('c'));
      const answer = await call('tiers-model');
      assert.equal(said(answer), 'c');
      assert.deepEqual(
        [providers.first, providers.second, providers.third].map(({ requests }) => requests.length),
        [1, 1, 1],
        'one was tried twice',
      );
    });
  for (const status of [400, 401, 404, 422])
    it(`that respond with ${status} are not followed by the next`, async () => {
      providers.first.script(openaiError(status));
      assert.notEqual((await call('tiers-model')).status, 200);
      assert.equal(providers.second.requests.length, 0);
    });
  it('that cannot be reached, or reset the connection, are followed by the next', async () => {
    providers.second.script(ok('b'));
    assert.equal(said(await call('dead-model')), 'b');
    providers.first.script({ beforeHead: [RESET], steps: [] });
    assert.equal(said(await call('tiers-model')), 'b');
  });
  it('that cut a stream off before its first byte are not followed by the next', async () => {
    providers.first.script({ ...openaiStream(['lost']), steps: [RESET] });
    const answer = await call('tiers-model', {}, { stream: true });
    assert.equal(answer.status, 502);
    assert.match(answer.json().error.message, /cannot be reached, or broke off/);
    assert.equal(providers.second.requests.length, 0);
  });
  it('that time out after the request was sent are not followed by the next', async () => {
    providers.first.script({ beforeHead: [STALL], steps: [] });
    const answer = await call('slow-model');
    assert.equal(answer.status, 502);
    assert.match(answer.json().error.message, /in time/);
    assert.equal((await call('slow-model', {}, { stream: true })).status, 502);
    assert.equal(providers.second.requests.length, 0);
  });
  it('are not changed after the client has got a byte', async () => {
    const { breakAt } = await import('../../support/provider-answers.ts');
    providers.first.script(breakAt(openaiStream(['hello', 'world']), 2, RESET));
    const answer = await call('tiers-model', {}, { stream: true });
    assert.equal(answer.status, 200);
    assert.match(answer.text, /hello.*"error"/s);
    assert.equal(providers.second.requests.length, 0);
  });
  it('are tried once if retry says so', async () => {
    providers.first.script(openaiError(500));
    providers.second.script(ok('b'));
    assert.equal((await call('once-model')).status, 502);
    assert.equal(providers.second.requests.length, 0);
  });
});
