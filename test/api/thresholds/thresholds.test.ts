/**
 * Concurrency thresholds of key, group × channel and channel under load: never exceeded at the provider, and no slot
 * leaks.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { nothingLeaks, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { keyManifest } from '../../support/manifests.ts';
import { CUT, gate, RESET, startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider, RecordedRequest, Reply } from '../../support/mock-provider.ts';
import { insertAt, openaiChat, openaiError, openaiStream } from '../../support/provider-answers.ts';
import { assertBalanced, readBooks } from '../../support/api/books.ts';
import { ask } from '../../support/api/client.ts';
import type { Seen } from '../../support/api/client.ts';
import { eventually } from '../../support/api/process.ts';
import { keyOf, randomFrom, seedOfRun } from '../../support/api/scene.ts';

/** The limits of calls in flight: on a channel, of a group on it, of a key. */
const LIMITS: Readonly<Record<string, number>> = {
  'channel a': 6,
  'channel b': 4,
  'group capped on a': 3,
  'group capped on b': 3,
  'key lone': 2,
};
/** The number of calls that both channels serve together. */
const CAPACITY = 10;
/** The possible results of calls; 0: no response. */
const FATES = [0, 200, 429, 502];
/** Keys and their groups. */
const GROUPS = { wide: 'wide', lone: 'wide', first: 'capped', second: 'capped' } as const;
type KeyName = keyof typeof GROUPS;
const NAMES = Object.keys(GROUPS) as KeyName[];

const manifest = (a: string, b: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: narrow}
spec:
  models: [{name: narrow-model, contextTokens: 100000, maxOutputTokens: 1000}]
  channels:
  - {name: a, protocol: OpenAI, baseUrl: ${a}/v1, maxConcurrency: ${LIMITS['channel a']}}
  - {name: b, protocol: OpenAI, baseUrl: ${b}/v1, maxConcurrency: ${LIMITS['channel b']}, priority: 1}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: wide}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: narrow}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: capped}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: narrow},
  maxConcurrency: ${LIMITS['group capped on a']}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: narrow}
spec: {models: [{name: narrow-model, vendor: V, quotaType: Token, modelRatio: "1"}]}
---
${NAMES.map((name) =>
  keyManifest(
    name,
    keyOf(name),
    `groupRef: {name: ${GROUPS[name]}}${name === 'lone' ? `\nmaxConcurrency: ${LIMITS['key lone']}` : ''}`,
  ),
).join('')}`;

let stack: TestStack;
let providers: { readonly a: MockProvider; readonly b: MockProvider };
/** Calls in flight at the providers, now and at most so far, by limit. */
let now: Record<string, number> = {};
let most: Record<string, number> = {};

beforeAll(async () => {
  providers = { a: await startMockProvider(), b: await startMockProvider() };
  stack = await startTestStack({ files: () => ({ 'narrow.yaml': manifest(providers.a.url, providers.b.url) }) });
});
afterAll(async () => {
  // undefined if it did not start
  await (stack as TestStack | undefined)?.stop();
  await providers.a.stop();
  await providers.b.stop();
});
afterEach(async () => {
  await eventually('nothing is left behind', () => nothingLeaks(stack));
  now = {};
  most = {};
});

/** Scripts the providers, and counts the calls in flight there. */
function scriptBoth(reply: (request: RecordedRequest) => Reply): void {
  for (const channel of ['a', 'b'] as const)
    providers[channel].script(async (request) => {
      const name = /key (\w+)/.exec(request.body.toString())?.[1] as KeyName;
      const counted = [
        `channel ${channel}`,
        ...(GROUPS[name] === 'capped' ? [`group capped on ${channel}`] : []),
        ...(name === 'lone' ? ['key lone'] : []),
      ];
      for (const what of counted) now[what] = (now[what] ?? 0) + 1;
      void request.over.then(() => {
        for (const what of counted) now[what]!--;
      });
      // calls that ended before this one arrived may be noticed in the same turn, after it
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
      for (const what of counted) most[what] = Math.max(most[what] ?? 0, now[what]!);
      return reply(request);
    });
}

function call(
  name: KeyName,
  { stream = false, signal, onText }: { stream?: boolean; signal?: AbortSignal; onText?: (text: string) => void } = {},
): Promise<Seen> {
  return ask(stack.gateway.url, {
    path: '/v1/chat/completions',
    key: keyOf(name),
    body: {
      model: 'narrow-model',
      stream,
      max_tokens: 100,
      messages: [{ role: 'user', content: `key ${name}` }],
    },
    ...(signal ? { signal } : {}),
    ...(onText ? { onText } : {}),
  });
}

/** As many calls as both channels can serve; responses start when all have arrived or one of them is refused. */
async function takeAll(): Promise<readonly Seen[]> {
  const waiting = gate();
  let arrived = 0;
  scriptBoth(() => {
    if (++arrived === CAPACITY) waiting.open();
    return { ...openaiChat(), beforeHead: [waiting] };
  });
  return Promise.all(
    Array.from({ length: CAPACITY }, async () => {
      const seen = await call('wide');
      waiting.open();
      return seen;
    }),
  );
}

function assertWithin(): void {
  for (const [what, limit] of Object.entries(LIMITS))
    assert.ok((most[what] ?? 0) <= limit, `${what}: ${most[what]} in flight, ${limit} allowed`);
}

describe('thresholds', () => {
  it('are reached exactly, and further calls get 429', async () => {
    const waiting = gate();
    scriptBoth(() => ({ ...openaiChat(), beforeHead: [waiting] }));
    const crowd = (name: KeyName, count: number): { running: Promise<Seen[]>; over: () => number } => {
      let over = 0;
      return {
        running: Promise.all(
          Array.from({ length: count }, async () => {
            const seen = await call(name);
            over++;
            return seen;
          }),
        ),
        over: () => over,
      };
    };
    const lone = crowd('lone', 5);
    await eventually("three of the key's five are refused", () => lone.over() === 3);
    // two of six slots on channel a are taken: the group has three of them, then three on b
    const first = crowd('first', 4);
    const second = crowd('second', 4);
    await eventually("two of the group's eight are refused", () => first.over() + second.over() === 2);
    // one slot is left on a, one on b
    const wide = crowd('wide', 5);
    await eventually('three of five are refused', () => wide.over() === 3);
    await eventually('the others have arrived', () =>
      Object.entries(LIMITS).every(([what, limit]) => (most[what] ?? 0) >= limit),
    );
    waiting.open();
    const answers = (await Promise.all([lone, first, second, wide].map(({ running }) => running))).flat();
    assert.equal(answers.filter(({ status }) => status === 200).length, 10);
    for (const { status, headers, text } of answers.filter((answer) => answer.status !== 200)) {
      assert.equal(status, 429);
      assert.ok(Number(headers.get('retry-after')) >= 1);
      assert.match(text, /rate_limit_exceeded/);
    }
    assert.deepEqual(most, LIMITS);
  });

  const seed = seedOfRun();
  it(`hold under many failures and disconnected clients (SEED=${seed})`, async () => {
    const random = randomFrom(seed);
    const turns = async (most: number): Promise<void> => {
      for (let left = random() * most; left > 0; left--) await new Promise(setImmediate);
    };
    scriptBoth((request) => {
      const stream = request.json()['stream'] === true;
      const answer = stream ? openaiStream(['a', 'b', 'c']) : openaiChat();
      const fate = random();
      const slow = gate();
      void turns(60).then(() => slow.open());
      if (fate < 0.1) return { ...openaiError(500), beforeHead: [slow] };
      if (fate < 0.2) return { beforeHead: [slow, random() < 0.5 ? CUT : RESET], steps: [] };
      if (fate < 0.3 && stream) return insertAt(answer, 2, slow, CUT);
      return stream ? insertAt(answer, 2, slow) : { ...answer, beforeHead: [slow] };
    });
    const statuses = new Map<number, number>();
    const client = async (): Promise<void> => {
      for (let n = 0; n < 12; n++) {
        const leaving = new AbortController();
        if (random() < 0.25) void turns(80).then(() => leaving.abort());
        const seen = await call(NAMES[Math.floor(random() * NAMES.length)]!, {
          stream: random() < 0.5,
          signal: leaving.signal,
        });
        statuses.set(seen.status, (statuses.get(seen.status) ?? 0) + 1);
      }
    };
    // outcomes are random: as many rounds as it takes to see all of them
    for (let storm = 0; storm < 20 && !FATES.every((status) => statuses.has(status)); storm++) {
      await Promise.all(Array.from({ length: 30 }, client));
      await eventually('nothing is left behind', () => nothingLeaks(stack));
      assertWithin();
    }
    for (const [what, limit] of Object.entries(LIMITS))
      assert.ok((most[what] ?? 0) >= limit - 1, `${what} was hardly tried: ${most[what]} of ${limit}`);
    assert.deepEqual(
      [...statuses.keys()].sort((a, b) => a - b),
      FATES,
    );
    // all slots are free again: all of them can be taken once more
    let answers: readonly Seen[] = [];
    for (let tries = 0; tries < 5 && !(answers.length > 0 && answers.every(({ status }) => status === 200)); tries++)
      answers = await takeAll();
    assert.deepEqual(
      answers.map(({ status, text }) => (status === 200 ? 200 : { status, text })),
      Array.from({ length: CAPACITY }, () => 200),
    );
    assertBalanced(readBooks(stack.gateway.dataDir));
  });
});
