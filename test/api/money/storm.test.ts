/** No overspending: many concurrent calls of all kinds on keys of a small account, with all kinds of failures. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { chat, message, nothingLeaks, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { CUT, gate, RESET } from '../../support/mock-provider.ts';
import type { RecordedRequest, Reply } from '../../support/mock-provider.ts';
import {
  anthropicError,
  anthropicMessage,
  anthropicStream,
  breakAt,
  insertAt,
  openaiChat,
  openaiError,
  openaiStream,
} from '../../support/provider-answers.ts';
import { assertBalanced, readBooks } from '../../support/api/books.ts';
import type { BookRecord } from '../../support/api/books.ts';
import { ask } from '../../support/api/client.ts';
import type { Seen } from '../../support/api/client.ts';
import { eventually } from '../../support/api/process.ts';
import { keyOf, randomFrom, seedOfRun, sharedKeys } from '../../support/api/scene.ts';

const USD = 1_000_000_000n;
const CREDIT = (4n * USD) / 10n;
/** The limits of keys; null is Unlimited. */
const LIMITS = { small: USD / 20n, middle: USD / 8n, smart: USD / 5n, free: null } as const;
type KeyName = keyof typeof LIMITS;
const NAMES = Object.keys(LIMITS) as KeyName[];
const CALLS = 300;

/** An Automatic group with increasingly expensive members: a failure on one takes a new hold for the next. */
const manifest = (url: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: backup}
spec:
  models: [{name: gpt-model, contextTokens: 100000, maxOutputTokens: 4000}]
  channels: [{name: only, protocol: OpenAI, baseUrl: ${url}/v1}]
  retry: {attempts: 3}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: cheap}
spec: {allowedNamespaces: {from: All}, priceRatio: "0.5", routes: [{routeRef: {name: openai}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: dear}
spec: {allowedNamespaces: {from: All}, priceRatio: "3",
  routes: [{routeRef: {name: backup}}, {routeRef: {name: anthropic}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: smart}
spec: {type: Automatic, members: [{name: cheap}, {name: dear}], allowedNamespaces: {from: All}}
`;

let stack: TestStack;
beforeAll(async () => {
  const limit = (name: KeyName): string =>
    LIMITS[name] === null ? '' : `quota: {limitUsd: "${Number(LIMITS[name]) / 1e9}"}`;
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({
      'storm.yaml': manifest(openaiUrl),
      'keys.yaml': sharedKeys(
        NAMES.map((name) => ({
          name,
          spec: `${limit(name)}${name === 'smart' ? '\ngroupRef: {name: smart}' : ''}`.trim(),
        })),
        '0.4',
      ),
    }),
  });
});
afterAll(() => (stack as TestStack | undefined)?.stop());

describe('a storm on one small account', () => {
  const seed = seedOfRun();
  it(`never exceeds a limit, and its balance is the sum of its calls (SEED=${seed})`, async () => {
    const random = randomFrom(seed);
    stack.openai.script((request) => openaiFate(request, random));
    stack.anthropic.script((request) => anthropicFate(request, random));
    const watch = watchLimits();
    const seen = await Promise.all(Array.from({ length: CALLS }, (_, n) => oneCall(NAMES[n % NAMES.length]!, random)));
    await eventually('all calls are over', () => nothingLeaks(stack));
    const { samples, mostHeld } = watch.stop();
    assert.ok(samples > 100 && mostHeld > CREDIT / 10n, `${samples} samples, at most ${mostHeld} held: hardly a storm`);

    const books = readBooks(stack.gateway.dataDir);
    assert.deepEqual(books.holds, []);
    assertBalanced(books);
    assert.ok((books.accounts.get('team/shared') ?? 0n) <= CREDIT);
    for (const name of NAMES)
      assert.ok(
        LIMITS[name] === null || (books.keys.get(`team/${name}`) ?? 0n) <= LIMITS[name],
        `key ${name} is overspent`,
      );
    assertOutcomes(seen, books.records);
  });

  /** Every call that a client saw end has its record; refused ones have none. */
  function assertOutcomes(seen: readonly Seen[], records: readonly BookRecord[]): void {
    const byId = new Map(records.map((record) => [record.id, record]));
    const count = new Map<number, number>();
    for (const each of seen) {
      count.set(each.status, (count.get(each.status) ?? 0) + 1);
      const record = byId.get(each.id);
      if (each.status === 200 && each.ended)
        assert.ok(
          record?.status === 'Succeeded' && record.costNanoUsd + record.unbilledNanoUsd > 0n,
          `${each.id}: ${record?.status}`,
        );
      // refused by the gateway, or by every provider before any output
      if ([402, 429, 502, 503, 529].includes(each.status))
        assert.equal(record?.costNanoUsd ?? 0n, 0n, `a call that ended with ${each.status} was billed`);
    }
    const told = JSON.stringify([...count]);
    for (const status of [0, 200, 429, 502])
      assert.ok((count.get(status) ?? 0) > 0, `no call ended with ${status}: ${told}`);
    assert.ok(
      [...count.keys()].every((status) => [0, 200, 402, 429, 502, 503, 529].includes(status)),
      told,
    );
    assert.ok(
      records.some(({ unbilledNanoUsd }) => unbilledNanoUsd > 0n),
      'no provider lied beyond what was free',
    );
  }
});

/** Reads the whole ledger continuously, between other events. */
function watchLimits(): { stop(): { samples: number; mostHeld: bigint } } {
  const { ledger } = stack.gateway;
  const stopping = new AbortController();
  let [samples, mostHeld] = [0, 0n];
  let broken: Error | undefined;
  const look = async (): Promise<void> => {
    const account = await ledger.readAccount('team/shared');
    if (account.heldNanoUsd > mostHeld) mostHeld = account.heldNanoUsd;
    assert.ok(
      account.spentNanoUsd + account.heldNanoUsd <= CREDIT,
      `the account: ${account.spentNanoUsd} spent, ${account.heldNanoUsd} held`,
    );
    let held = 0n;
    for (const name of NAMES) {
      const key = await ledger.readKey(`team/${name}`, 'Never');
      held += key.heldNanoUsd;
      const limit = LIMITS[name];
      assert.ok(
        limit === null || key.spentNanoUsd + key.heldNanoUsd <= limit,
        `key ${name}: ${key.spentNanoUsd} spent, ${key.heldNanoUsd} held`,
      );
    }
    samples++;
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await look();
      await new Promise(setImmediate);
    }
  };
  void loop().catch((error: Error) => {
    broken = error;
  });
  return {
    stop() {
      stopping.abort();
      if (broken) throw broken;
      return { samples, mostHeld };
    },
  };
}

async function oneCall(name: KeyName, random: () => number): Promise<Seen> {
  const stream = random() < 0.5;
  const anthropic = random() < 0.4;
  const model = random() < 0.7 ? 'gpt-model' : 'claude-model';
  const more = { stream, max_tokens: 50 + Math.floor(random() * 900) };
  // a search has no bound, so that the provider's figures are believed
  const body = anthropic
    ? message(model, more)
    : random() < 0.3
      ? chat('tools-model', { ...more, web_search_options: {} })
      : chat(model, more);
  const leaving = new AbortController();
  if (random() < 0.2) void turns(random() * 200).then(() => leaving.abort());
  return ask(stack.gateway.url, {
    path: anthropic ? '/v1/messages' : '/v1/chat/completions',
    key: keyOf(name),
    body,
    signal: leaving.signal,
  });
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise(setImmediate);
}

/** The output: as requested, more than allowed, or not reported; never more than 900 of the first. */
function outputTokens(request: RecordedRequest, random: () => number): number | null {
  const { max_tokens: old, max_completion_tokens: current } = request.json();
  const limit = Number(current ?? old);
  const fate = random();
  if (fate < 0.1) return null;
  return fate < 0.2 ? limit * 50 : Math.ceil(limit * random());
}

function openaiFate(request: RecordedRequest, random: () => number): Reply {
  const output = outputTokens(request, random);
  const usage = output === null ? null : { prompt_tokens: 20, completion_tokens: output };
  const stream = request.json()['stream'] === true;
  const answer = stream ? openaiStream(['some', ' more', ' text'], { usage }) : openaiChat({ usage });
  return withFate({ answer, error: openaiError(random() < 0.5 ? 500 : 429), stream }, random);
}

function anthropicFate(request: RecordedRequest, random: () => number): Reply {
  const output = outputTokens(request, random);
  const usage = output === null ? null : { input_tokens: 20, output_tokens: output };
  const stream = request.json()['stream'] === true;
  const answer = stream ? anthropicStream(['some', ' more', ' text'], { usage }) : anthropicMessage({ usage });
  return withFate({ answer, error: anthropicError(529, 'overloaded_error'), stream }, random);
}

function withFate(
  { answer, error, stream }: { answer: Reply; error: Reply; stream: boolean },
  random: () => number,
): Reply {
  const slow = gate();
  void turns(random() * 100).then(() => slow.open());
  const fate = random();
  if (fate < 0.2) return { ...error, beforeHead: [slow] };
  if (fate < 0.25) return { beforeHead: [slow, RESET], steps: [] };
  if (fate < 0.35 && stream) return breakAt(answer, 3, slow, CUT);
  return stream ? insertAt(answer, 2, slow) : { ...answer, beforeHead: [slow] };
}
