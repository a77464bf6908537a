/** A gateway with routes over three providers by tier, weight, threshold, timeout and retry, and Automatic groups. */
import assert from 'node:assert/strict';
import { nothingLeaks, startTestStack } from '../api/test-stack.ts';
import type { Answer, TestStack } from '../api/test-stack.ts';
import { keyManifest } from '../manifests.ts';
import { refusingUrl, startMockProvider } from '../mock-provider.ts';
import type { MockProvider } from '../mock-provider.ts';
import { openaiChat } from '../provider-answers.ts';

type Providers = Readonly<Record<'first' | 'second' | 'third', MockProvider>>;

export interface RoutingWorld {
  readonly stack: TestStack;
  readonly providers: Providers;
  /** Called after each test. */
  readonly endTest: () => void;
  readonly stop: () => Promise<void>;
}

/** The key of a group. */
export function keyOf(group: string): string {
  return `sk-test-${group}-`.padEnd(40, '0');
}

/** An answer for a thousand tokens each way. */
export function okSaying(content: string): ReturnType<typeof openaiChat> {
  return openaiChat({ content, usage: { prompt_tokens: 1000, completion_tokens: 1000 } });
}

export function said(answer: Answer): unknown {
  return answer.json().choices[0].message.content;
}

export async function startRouting(): Promise<RoutingWorld> {
  const [first, second, third] = await Promise.all([startMockProvider(), startMockProvider(), startMockProvider()]);
  const providers = { first, second, third };
  const dead = await refusingUrl();
  const stack = await startTestStack({
    files: () => ({
      'routing.yaml': manifest(providers, dead),
      'routing-keys.yaml': ['smart', 'capped', 'vip']
        .map((name) => keyManifest(name, keyOf(name), `groupRef: {name: ${name}}`))
        .join(''),
    }),
  });
  return {
    stack,
    providers,
    endTest() {
      for (const provider of Object.values(providers)) provider.clear();
      assert.ok(nothingLeaks(stack));
    },
    async stop() {
      await stack.stop();
      await Promise.all(Object.values(providers).map((provider) => provider.stop()));
    },
  };
}

function manifest({ first, second, third }: Providers, dead: string): string {
  const model = (name: string): string => `{name: ${name}, contextTokens: 100000, maxOutputTokens: 1000}`;
  const channel = (name: string, url: string, more = ''): string =>
    `{name: ${name}, protocol: OpenAI, baseUrl: ${url}/v1${more}}`;
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
