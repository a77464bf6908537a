/** Edits while calls run: what changes, when, and for which calls. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { gated, openaiChat } from '../../support/provider-answers.ts';
import { chat, get, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const KEY = (name: string): string => `sk-test-${name}-`.padEnd(43, '0');
const as = (name: string): Record<string, string> => ({ 'x-api-key': KEY(name) });
const USAGE = { prompt_tokens: 1000, completion_tokens: 0 };
/** A body of at most 1000 tokens. */
const LONG = [{ role: 'user', content: 'x'.repeat(1000) }];
const NOTHING = '# nothing\n';
let nowMs: number | undefined;
let stack: TestStack;
let openaiUrl = '';

beforeAll(async () => {
  stack = await startTestStack({
    nowMs: () => nowMs ?? Date.now(),
    files: (urls) => {
      openaiUrl = urls.openaiUrl;
      return { 'own.yaml': ownManifest({}), 'own-key.yaml': keyManifest('own', KEY('own'), 'groupRef: {name: own}') };
    },
  });
  stack.openai.script(openaiChat({ content: '', usage: USAGE }));
});
afterAll(() => stack.stop());
afterEach(() => {
  nowMs = undefined;
  stack.openai.clear();
  stack.openai.script(openaiChat({ content: '', usage: USAGE }));
  assert.ok(nothingLeaks(stack));
});

/** A group, a route and a price of its own. */
function ownManifest({ ratio = '1', modelRatio = '1', from = 'All', upstreamName = 'first', slots = 5 }): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: own}
spec: {priceRatio: "${ratio}", allowedNamespaces: {from: ${from}},
  routes: [{routeRef: {name: own}, maxConcurrency: ${slots}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: own}
spec:
  models: [{name: own-model, contextTokens: 100000, maxOutputTokens: 100}]
  channels: [{name: only, protocol: OpenAI, baseUrl: ${openaiUrl}/v1,
    models: [{name: own-model, upstreamName: ${upstreamName}}]}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: own}
spec: {models: [{name: own-model, vendor: Own, quotaType: Token, modelRatio: "${modelRatio}"}]}
`;
}

const call = (headers = as('own')): Promise<Answer> =>
  post(stack, '/v1/chat/completions', chat('own-model', { messages: LONG }), headers);
const cost = ({ headers }: Answer): string | null => headers.get('x-modelgateway-cost-usd');
const refusal = async (answer: Promise<Answer>): Promise<string> => {
  const refused = await answer;
  assert.equal(refused.status, 401);
  return refused.json().error.message;
};

describe('an edit', () => {
  it('is in force within a second', async () => {
    // the fastest of three: a busy machine is no failure, a slow watcher is one
    const took: number[] = [];
    for (const ratio of ['2', '3', '1']) {
      const startedAt = performance.now();
      await stack.gateway.write('own.yaml', ownManifest({ ratio }));
      took.push(performance.now() - startedAt);
      assert.equal(cost(await call()), `0.00${Number(ratio) * 2}`);
    }
    assert.ok(Math.min(...took) < 1000, `${took.join(', ')} ms`);
  });
  it('of a price applies only to calls that are admitted afterwards', async () => {
    const waiting = gated(openaiChat({ content: '', usage: USAGE }));
    stack.openai.script(waiting.reply, openaiChat({ content: '', usage: USAGE }));
    const before = call();
    await waiting.gate.reached;
    await stack.gateway.write('own.yaml', ownManifest({ modelRatio: '5', ratio: '2' }));
    assert.equal(cost(await call()), '0.02');
    waiting.gate.open();
    assert.equal(cost(await before), '0.002');
    const catalog = (await get(stack, '/pricing.json'))
      .json()
      .data.find(({ model_name: name }: { model_name: string }) => name === 'own-model');
    assert.equal(catalog.model_ratio, '5');
    await stack.gateway.write('own.yaml', ownManifest({}));
  });
  it('of a route does not affect running calls, nor does its removal', async () => {
    const waiting = gated(openaiChat({ content: '', usage: USAGE }));
    stack.openai.script(waiting.reply, openaiChat({ content: '', usage: USAGE }));
    const running = call();
    await waiting.gate.reached;
    await stack.gateway.write('own.yaml', ownManifest({ upstreamName: 'second' }));
    assert.equal((await call()).status, 200);
    assert.deepEqual(
      stack.openai.requests.map((request) => request.json()['model']),
      ['first', 'second'],
    );
    await stack.gateway.write('own.yaml', ownManifest({}).replace(/---\n[^-]*kind: ModelRoute[\s\S]*?---/, '---'));
    assert.equal((await call()).status, 404);
    waiting.gate.open();
    assert.deepEqual([(await running).status, cost(await running)], [200, '0.002']);
    await stack.gateway.write('own.yaml', ownManifest({}));
  });
  it('of a threshold applies at once, and counts calls in flight', async () => {
    const waiting = gated(openaiChat({ content: '', usage: USAGE }));
    stack.openai.script(waiting.reply, openaiChat({ content: '', usage: USAGE }));
    const running = call();
    await waiting.gate.reached;
    await stack.gateway.write('own.yaml', ownManifest({ slots: 1 }));
    assert.equal((await call()).status, 429);
    await stack.gateway.write('own.yaml', ownManifest({ slots: 2 }));
    assert.equal((await call()).status, 200);
    waiting.gate.open();
    await running;
    await stack.gateway.write('own.yaml', ownManifest({}));
  });
  for (const [whose, file, threshold] of [
    ['a key', 'own-key.yaml', (text: string) => text.replace('groupRef:', 'maxConcurrency: 1\n  groupRef:')],
    [
      'a group on a channel',
      'own.yaml',
      (text: string) => text.replace('{name: own}}]', '{name: own}, maxConcurrency: 1}]'),
    ],
    ['a channel', 'own.yaml', (text: string) => text.replace('{name: only,', '{name: only, maxConcurrency: 1,')],
  ] as const)
    it(`that sets the first threshold of ${whose} counts calls in flight`, async () => {
      const none =
        file === 'own.yaml'
          ? ownManifest({}).replace(', maxConcurrency: 5', '')
          : keyManifest('own', KEY('own'), 'groupRef: {name: own}');
      assert.notEqual(threshold(none), none);
      await stack.gateway.write(file, none);
      const waiting = gated(openaiChat({ content: '', usage: USAGE }));
      stack.openai.script(waiting.reply, openaiChat({ content: '', usage: USAGE }));
      const running = call();
      await waiting.gate.reached;
      await stack.gateway.write(file, threshold(none));
      assert.equal((await call()).status, 429);
      waiting.gate.open();
      assert.equal((await running).status, 200);
      assert.equal((await call()).status, 200, 'its slot is free again');
      await stack.gateway.write('own.yaml', ownManifest({}));
      await stack.gateway.write('own-key.yaml', keyManifest('own', KEY('own'), 'groupRef: {name: own}'));
    });
  it('that sets a threshold while a call waits for its hold counts that call', async () => {
    const { ledger } = stack.gateway;
    const admit = ledger.admit.bind(ledger);
    const [asked, granted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    ledger.admit = async (request) => {
      asked.resolve();
      await granted.promise;
      return admit(request);
    };
    const waiting = gated(openaiChat({ content: '', usage: USAGE }));
    stack.openai.script(waiting.reply, openaiChat({ content: '', usage: USAGE }));
    const running = call();
    await asked.promise;
    ledger.admit = admit;
    await stack.gateway.write(
      'own-key.yaml',
      keyManifest('own', KEY('own'), 'groupRef: {name: own}\nmaxConcurrency: 1'),
    );
    granted.resolve();
    await waiting.gate.reached;
    assert.equal((await call()).status, 429);
    waiting.gate.open();
    assert.equal((await running).status, 200);
    await stack.gateway.write('own-key.yaml', keyManifest('own', KEY('own'), 'groupRef: {name: own}'));
  });
  it("that sets a threshold of a key and changes its string counts the old one's calls", async () => {
    const waiting = gated(openaiChat({ content: '', usage: USAGE }));
    stack.openai.script(waiting.reply, openaiChat({ content: '', usage: USAGE }));
    const running = call();
    await waiting.gate.reached;
    await stack.gateway.write(
      'own-key.yaml',
      keyManifest('own', KEY('own-second'), 'groupRef: {name: own}\nmaxConcurrency: 1'),
    );
    assert.equal((await call()).status, 401);
    assert.equal((await call(as('own-second'))).status, 429);
    waiting.gate.open();
    assert.equal((await running).status, 200);
    await stack.gateway.write('own-key.yaml', keyManifest('own', KEY('own'), 'groupRef: {name: own}'));
  });
  it('that removes the price removes the model from lists, and calls get 503', async () => {
    await stack.gateway.write('own.yaml', ownManifest({}).replace('own-model, vendor', 'other-model, vendor'));
    assert.equal((await call()).json().error.code, 'model_not_priced');
    assert.deepEqual((await get(stack, '/v1/models', as('own'))).json().data, []);
    await stack.gateway.write('own.yaml', ownManifest({}));
    assert.equal((await get(stack, '/v1/models', as('own'))).json().data.length, 1);
  });
  it('in a file that cannot be read changes nothing, and is reported with file and line', async () => {
    const its = (): Promise<Answer> => call(as('broken'));
    const manifest = (more: string): string => keyManifest('broken', KEY('broken'), `groupRef: {name: own}\n${more}`);
    await stack.gateway.write('broken.yaml', manifest(''));
    assert.equal((await its()).status, 200);
    await stack.gateway.write('broken.yaml', manifest('enabled: false'));
    assert.equal((await its()).status, 401);
    await writeFile(join(stack.gateway.configDir, 'broken.yaml'), 'kind: ApiKey\n  broken: [');
    while (!stack.gateway.logs.some((line) => line.includes('problems')))
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    assert.ok(stack.gateway.logs.some((line) => line.includes('broken.yaml') && line.includes('"line":')));
    assert.deepEqual([(await call()).status, (await its()).status], [200, 401]);
    await stack.gateway.write('broken.yaml', manifest(''));
    assert.equal((await its()).status, 200);
  });
});

describe('a key', () => {
  it('whose group no longer admits its namespace is refused with the reason', async () => {
    await stack.gateway.write('own.yaml', ownManifest({ from: 'Same' }));
    assert.match(await refusal(call()), /not accepted.*"own" does not allow the namespace "team"/);
    await stack.gateway.write('own.yaml', ownManifest({}));
    assert.equal((await call()).status, 200);
  });
  it('that is deleted is refused; created again, it keeps its spending', async () => {
    await stack.gateway.write(
      'late.yaml',
      keyManifest('late', KEY('late'), 'groupRef: {name: own}\nquota: {limitUsd: "0.01"}'),
    );
    assert.equal((await call(as('late'))).status, 200);
    await stack.gateway.write('late.yaml', NOTHING);
    assert.match(await refusal(call(as('late'))), /unknown/);
    await stack.gateway.write(
      'late.yaml',
      keyManifest('late', KEY('later'), 'groupRef: {name: own}\nquota: {limitUsd: "0.01"}'),
    );
    assert.equal((await get(stack, '/v1/key', as('later'))).json().spent_usd, '0.002');
    assert.equal((await call(as('late'))).status, 401);
  });
  it("of a deleted account is refused with the reason; the account's spending survives", async () => {
    const account = (usd: string): string =>
      `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: ` +
      `brief, namespace: team}\nspec: {grants: [{name: a, usd: "${usd}"}]}\n`;
    await stack.gateway.write('brief.yaml', account('1'));
    await stack.gateway.write(
      'brief-key.yaml',
      keyManifest('brief', KEY('brief'), 'groupRef: {name: own}\naccountRef: {name: brief}'),
    );
    assert.equal((await call(as('brief'))).status, 200);
    await stack.gateway.write('brief.yaml', NOTHING);
    assert.match(await refusal(call(as('brief'))), /not accepted.*account "brief" does not exist/);
    await stack.gateway.write('brief.yaml', account('2'));
    assert.equal((await get(stack, '/v1/key', as('brief'))).json().balance_usd, '1.998');
  });
  it('that is generated rotates: the old one works for overlapSeconds more', async () => {
    const manifest = (rotation: number, overlap: number): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: made, namespace: team}
spec: {groupRef: {name: own}, accountRef: {name: team}, key: {rotation: ${rotation}, overlapSeconds: ${overlap}}}
`;
    const current = async (): Promise<Record<string, string>> => {
      const text = await readFile(join(stack.gateway.dataDir, 'secrets', 'team', 'made-key.yaml'), 'utf8');
      const [key = ''] = /sk-[A-Za-z0-9]{48}\b/.exec(text) ?? [];
      return { 'x-api-key': key };
    };
    await stack.gateway.write('made.yaml', manifest(1, 0));
    const first = await current();
    assert.equal((await call(first)).status, 200);
    await stack.gateway.write('made.yaml', manifest(2, 3600));
    const second = await current();
    assert.notDeepEqual(second, first);
    assert.deepEqual([(await call(first)).status, (await call(second)).status], [200, 200]);
    const { expires_at: expires } = (await get(stack, '/v1/key', first)).json();
    assert.ok(Math.abs(Date.parse(expires) - Date.now() - 3_600_000) < 120_000, expires);
    nowMs = Date.parse(expires) - 1;
    assert.equal((await call(first)).status, 200);
    nowMs++;
    assert.match(await refusal(call(first)), /replaced by a newer one/);
    assert.equal((await call(second)).status, 200);
    nowMs = undefined;
    await stack.gateway.write('made.yaml', manifest(3, 0));
    assert.deepEqual([(await call(second)).status, (await call(await current())).status], [401, 200]);
    assert.ok(!stack.gateway.logs.join('').includes(second['x-api-key'] ?? ''));
  });
  it('that waits for its Secret works as soon as the Secret exists', async () => {
    const [manifest = '', secret = ''] = keyManifest('waiting', KEY('waiting'), 'groupRef: {name: own}').split('---');
    await stack.gateway.write('waiting.yaml', manifest);
    assert.equal((await call(as('waiting'))).status, 401);
    await stack.gateway.write('waiting-secret.yaml', secret);
    assert.equal((await call(as('waiting'))).status, 200);
  });
  it('whose limit is lowered gets no new calls at once; a raised limit admits them', async () => {
    const key = KEY('changing');
    const headers = as('changing');
    await stack.gateway.write('changing.yaml', keyManifest('changing', key, 'quota: {limitUsd: "1"}'));
    assert.equal((await post(stack, '/v1/chat/completions', chat(), headers)).status, 200);
    await stack.gateway.write('changing.yaml', keyManifest('changing', key, 'quota: {limitUsd: "0.00001"}'));
    assert.equal((await post(stack, '/v1/chat/completions', chat(), headers)).status, 429);
    await stack.gateway.write('changing.yaml', keyManifest('changing', key, 'quota: {limitUsd: "2"}'));
    assert.equal((await post(stack, '/v1/chat/completions', chat(), headers)).status, 200);
  });
});
