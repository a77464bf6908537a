/**
 * Statuses, conflicts, references and namespaces of the five kinds on a running gateway
 * (docs/reference/resources.md).
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { CONDITIONS } from '#crds/conditions.ts';
import type { ConditionRow } from '#crds/conditions.ts';
import { createConditionReport } from '../../../bin/run/condition-report.ts';
import { KEYS, PROVIDER_KEYS, keyManifest } from '../../support/manifests.ts';
import { gated, openaiChat } from '../../support/provider-answers.ts';
import { chat, get, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';

const KEY = (name: string): string => `sk-test-${name}-`.padEnd(43, '0');
const as = (name: string): Record<string, string> => ({ 'x-api-key': KEY(name) });
const NOW = Date.parse('2026-03-31T15:00:00Z');
const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({ nowMs: () => NOW });
});
afterAll(() => stack.stop());
afterEach(() => stack.openai.clear());

async function statusOf(kind: string, name: string): Promise<Json> {
  const found = (await stack.gateway.operator.statuses()).find(
    (each) => each.kind === kind && `${each.namespace}/${each.name}` === name,
  );
  assert.ok(found, `${kind} ${name} has no status`);
  return found.status;
}

/** "Type=Status Reason" of all conditions. */
async function conditionsOf(kind: string, name: string): Promise<string[]> {
  return (await statusOf(kind, name)).conditions.map(({ type, status, reason }: Json) => `${type}=${status} ${reason}`);
}

async function messageOf(kind: string, name: string, type: string): Promise<string> {
  return (await statusOf(kind, name)).conditions.find((each: Json) => each.type === type)?.message ?? '';
}

const catalog = (name: string, model: string, ratio: string, more = ''): string =>
  `${HEAD}PriceCatalog\nmetadata: {name: ${name}${more}}\nspec: {models: [{name: ${model}, vendor: V, quotaType: ` +
  `Token, modelRatio: "${ratio}"}]}\n---\n`;
const priceOf = async (model: string): Promise<string> =>
  (await get(stack, '/pricing.json')).json().data.find((each: Json) => each.model_name === model)?.model_ratio;

describe('conditions', () => {
  it('are on every object, complete as in Kubernetes, with types and reasons of the closed list', async () => {
    const rows: Readonly<Record<string, ConditionRow>> = CONDITIONS;
    const statuses = await stack.gateway.operator.statuses();
    assert.deepEqual(
      new Set(statuses.map(({ kind }) => kind)),
      new Set(['Account', 'ApiKey', 'Group', 'ModelRoute', 'PriceCatalog']),
    );
    for (const { kind, name, status } of statuses) {
      const types = status.conditions.map(({ type }) => type);
      for (const type of ['Accepted', 'Programmed', 'Ready', ...(kind === 'ModelRoute' ? ['ResolvedRefs'] : [])])
        assert.ok(types.includes(type), `${kind} ${name} lacks ${type}`);
      assert.equal(new Set(types).size, types.length);
      for (const condition of status.conditions) {
        const row = rows[condition.type];
        assert.ok(row, condition.type);
        assert.ok(
          row.kinds.some((each) => each === kind) && row.reasons.some((each) => each === condition.reason),
          `${kind}: ${condition.type} ${condition.reason}`,
        );
        assert.ok(!row.onlyWhileTrue || condition.status === 'True');
        assert.match(condition.lastTransitionTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        assert.equal(condition.observedGeneration, status.observedGeneration);
        assert.notEqual(condition.message, '');
      }
    }
  });
  it('contain no key and no credential', async () => {
    const text = JSON.stringify(await stack.gateway.operator.statuses());
    for (const secret of [...Object.values(KEYS), ...Object.values(PROVIDER_KEYS)]) assert.ok(!text.includes(secret));
    const { keyHash, keyPrefix } = await statusOf('ApiKey', 'team/main');
    assert.match(keyHash, /^[0-9a-f]{64}$/);
    assert.ok(KEYS.main.startsWith(keyPrefix) && keyPrefix.length <= 12);
  });
  it('say what is wrong and who can fix it', async () => {
    assert.deepEqual(await conditionsOf('ApiKey', 'team/orphan'), [
      'Accepted=False GroupNotFound',
      'Programmed=False NotAccepted',
      'Ready=False GroupNotFound',
      'Stalled=True GroupNotFound',
    ]);
    assert.ok((await conditionsOf('ApiKey', 'team/disabled')).includes('Ready=False Disabled'));
    assert.ok((await conditionsOf('ApiKey', 'team/expired')).includes('Ready=False Expired'));
    assert.match(await messageOf('ModelRoute', 'model-gateway/openai', 'UnpricedModels'), /"unpriced-model"/);
    assert.ok(
      !(await conditionsOf('ModelRoute', 'model-gateway/anthropic')).some((each) => each.startsWith('UnpricedModels')),
    );
  });
});

describe('the log on one machine', () => {
  it('reports an object without effect once, and not what its owner intends', async () => {
    const told: string[] = [];
    const report = createConditionReport((line) => told.push(line));
    await stack.gateway.write(
      'half.yaml',
      `${HEAD}Group
metadata: {name: useless}
spec: {routes: [{routeRef: {name: nowhere}}]}
---
${keyManifest('bare', KEY('bare'), '').split('---')[0]}`,
    );
    report.update(await stack.gateway.operator.statusChanges());
    const lines = (name: string): string[] => told.filter((line) => line.includes(` ${name}: `));
    for (const [name, words] of [
      ['team/orphan', /"nobody" does not exist/],
      ['model-gateway/openai', /"unpriced-model"/],
      ['model-gateway/useless', /"nowhere" does not exist/],
      ['team/bare', /"bare-key"/],
    ] as const) {
      assert.equal(lines(name).length, 1, `${name}: ${told.join('\n')}`);
      assert.match(lines(name)[0] ?? '', words);
    }
    for (const name of ['team/disabled', 'team/expired', 'team/main']) assert.deepEqual(lines(name), []);
    const count = told.length;
    report.update(await stack.gateway.operator.statusChanges());
    assert.equal(told.length, count);
    await stack.gateway.write('half.yaml', '# nothing\n');
  });
});

describe("the platform team's kinds outside the gateway's namespace", () => {
  it('have no effect, and report WrongNamespace', async () => {
    await stack.gateway.write(
      'elsewhere.yaml',
      `${HEAD}Group
metadata: {name: main, namespace: team}
spec: {priceRatio: "0.001", allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}
---
${HEAD}ModelRoute
metadata: {name: openai, namespace: team}
spec: {models: [{name: stray-model, contextTokens: 10, maxOutputTokens: 5}],
  channels: [{name: c, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1"}]}
---
${catalog('prices', 'stray-model', '1', ', namespace: team')}`,
    );
    for (const [kind, name] of [
      ['Group', 'team/main'],
      ['ModelRoute', 'team/openai'],
      ['PriceCatalog', 'team/prices'],
    ] as const) {
      assert.equal((await conditionsOf(kind, name))[0], 'Accepted=False WrongNamespace');
      assert.match(await messageOf(kind, name, 'Accepted'), /"model-gateway"/);
    }
    stack.openai.script(openaiChat({ content: '', usage: { prompt_tokens: 1000, completion_tokens: 0 } }));
    // a body of at most 1000 tokens
    const long = chat('gpt-model', { messages: [{ role: 'user', content: 'x'.repeat(1000) }] });
    assert.equal((await post(stack, '/v1/chat/completions', long)).headers.get('x-modelgateway-cost-usd'), '0.0025');
    assert.equal(await priceOf('stray-model'), undefined);
  });
  it("have no effect for another gateway's accounts and keys either", async () => {
    await stack.gateway.write(
      'other-gateway.yaml',
      keyManifest('foreign', KEY('foreign'), 'gatewayNamespace: other-gateway'),
    );
    assert.equal((await get(stack, '/v1/key', as('foreign'))).status, 401);
  });
});

describe('two objects that claim one thing', () => {
  it('price a model twice: the older wins, and the other names it', async () => {
    await stack.gateway.write(
      'twice.yaml',
      catalog('a-young', 'twice-model', '3', ', creationTimestamp: "2026-02-01T00:00:00Z"') +
        catalog('z-old', 'twice-model', '7', ', creationTimestamp: "2026-01-01T00:00:00Z"'),
    );
    assert.equal(await priceOf('twice-model'), '7');
    assert.equal((await conditionsOf('PriceCatalog', 'model-gateway/a-young'))[0], 'Accepted=False Conflicted');
    assert.match(await messageOf('PriceCatalog', 'model-gateway/a-young', 'Accepted'), /model-gateway\/z-old/);
    assert.ok((await conditionsOf('PriceCatalog', 'model-gateway/z-old')).includes('Ready=True Ready'));
  });
  it('have the same age: namespace and name decide, and the loser applies once the winner is gone', async () => {
    await stack.gateway.write(
      'twice.yaml',
      catalog('b-name', 'twice-model', '3') + catalog('a-name', 'twice-model', '7'),
    );
    assert.equal(await priceOf('twice-model'), '7');
    assert.match(await messageOf('PriceCatalog', 'model-gateway/b-name', 'Accepted'), /model-gateway\/a-name/);
    await stack.gateway.write('twice.yaml', catalog('b-name', 'twice-model', '3'));
    assert.equal(await priceOf('twice-model'), '3');
    assert.ok((await conditionsOf('PriceCatalog', 'model-gateway/b-name')).includes('Ready=True Ready'));
  });
  it("have one key: the winner's account pays, and the other names the winner", async () => {
    await stack.gateway.write(
      'twins.yaml',
      keyManifest('twin-b', KEY('twin'), '') + keyManifest('twin-a', KEY('twin'), ''),
    );
    assert.equal((await get(stack, '/v1/key', as('twin'))).json().name, 'twin-a');
    assert.equal((await conditionsOf('ApiKey', 'team/twin-b'))[0], 'Accepted=False Conflicted');
    assert.match(await messageOf('ApiKey', 'team/twin-b', 'Accepted'), /team\/twin-a/);
  });
});

describe('provided keys', () => {
  for (const [what, key] of [
    ['without sk-', 'pk-00000000000000000000000000000000000000'],
    ['of 31 characters', `sk-${'0'.repeat(28)}`],
  ] as const)
    it(`${what} are refused as weak`, async () => {
      await stack.gateway.write('weak.yaml', keyManifest('weak', key, ''));
      assert.equal((await conditionsOf('ApiKey', 'team/weak'))[0], 'Accepted=False WeakKey');
      assert.equal((await get(stack, '/v1/models', { 'x-api-key': key })).status, 401);
      assert.ok(!JSON.stringify(await statusOf('ApiKey', 'team/weak')).includes(key));
    });
  it('of 32 characters are accepted', async () => {
    const key = `sk-${'a'.repeat(29)}`;
    await stack.gateway.write('weak.yaml', keyManifest('weak', key, ''));
    assert.equal((await get(stack, '/v1/models', { 'x-api-key': key })).status, 200);
  });
  it('without their Secret wait for it', async () => {
    await stack.gateway.write('weak.yaml', keyManifest('weak', KEY('weak'), '').split('---')[0] ?? '');
    const conditions = await conditionsOf('ApiKey', 'team/weak');
    assert.ok(
      conditions.some((each) => each.startsWith('Ready=False')),
      conditions.join(),
    );
    assert.match(await messageOf('ApiKey', 'team/weak', 'Ready'), /"weak-key"/);
  });
});

describe('a route whose Secret is missing', () => {
  it('reports its name in ResolvedRefs, and its other channels serve', async () => {
    await stack.gateway.write(
      'half.yaml',
      `${HEAD}ModelRoute
metadata: {name: half}
spec:
  models: [{name: half-model, contextTokens: 1000, maxOutputTokens: 50}]
  channels:
  - {name: lost, protocol: OpenAI, baseUrl: "http://127.0.0.1:1/v1",
      auth: {type: ApiKey, secretRef: {name: nowhere, key: apiKey}}}
  - {name: there, protocol: OpenAI, baseUrl: ${stack.openai.url}/v1}
---
${catalog('half', 'half-model', '1')}`,
    );
    assert.ok((await conditionsOf('ModelRoute', 'model-gateway/half')).includes('ResolvedRefs=False SecretNotFound'));
    assert.match(
      await messageOf('ModelRoute', 'model-gateway/half', 'ResolvedRefs'),
      /"lost".*"nowhere".*The other channels serve/,
    );
    stack.openai.script(openaiChat());
    assert.equal((await post(stack, '/v1/chat/completions', chat('half-model'))).status, 200);
    assert.equal((await stack.openai.request(0)).headers.authorization, undefined, 'no auth: no credential');
  });
});

describe('spending in statuses', () => {
  it('is shown for a key and its account, during a call and after it, with warnings at 80 % and 100 %', async () => {
    const account =
      `${HEAD}Account\nmetadata: {name: purse, namespace: team}\nspec: {grants: [{name: a, usd: ` +
      `"0.02"}, {name: b, usd: "-0.01", reason: correction}]}\n---\n`;
    await stack.gateway.write(
      'purse.yaml',
      account +
        keyManifest('purse', KEY('purse'), 'accountRef: {name: purse}\nquota: {limitUsd: "0.01", period: Daily}'),
    );
    const fields = async (kind: string): Promise<Json> => {
      const {
        conditions,
        observedGeneration: _,
        keyHash: _hash,
        keyPrefix: _prefix,
        ...rest
      } = await statusOf(kind, 'team/purse');
      return {
        ...rest,
        warnings: conditions.map(({ type }: Json) => type).filter((type: string) => /Low|Exhausted/.test(type)),
      };
    };
    assert.deepEqual(await fields('Account'), {
      creditUsd: '0.01',
      spentUsd: '0.00',
      heldUsd: '0.00',
      balanceUsd: '0.01',
      warnings: [],
    });
    const run = async (promptTokens: number): Promise<string> => {
      const waiting = gated(openaiChat({ content: '', usage: { prompt_tokens: promptTokens, completion_tokens: 0 } }));
      stack.openai.script(waiting.reply);
      // a web search has no bound, so the provider's usage is believed
      const call = post(
        stack,
        '/v1/chat/completions',
        chat('tools-model', { max_tokens: 10, web_search_options: {} }),
        as('purse'),
      );
      await waiting.gate.reached;
      const { heldUsd, balanceUsd } = await fields('Account');
      assert.ok(Number(heldUsd) > 0);
      waiting.gate.open();
      assert.equal((await call).status, 200);
      return balanceUsd;
    };
    assert.equal(await run(3196), '0.01', 'what is held is not spent');
    assert.deepEqual(await fields('ApiKey'), {
      periodStartTime: '2026-03-31T00:00:00Z',
      spentUsd: '0.00799',
      totalSpentUsd: '0.00799',
      remainingUsd: '0.00201',
      lastUsedTime: '2026-03-31T15:00:00Z',
      warnings: [],
    });
    assert.equal(await run(4), '0.00201');
    assert.deepEqual((await fields('ApiKey')).warnings, ['QuotaLow']);
    assert.deepEqual((await fields('Account')).warnings, ['BalanceLow']);
    await run(100_000);
    const [key, purse] = [await fields('ApiKey'), await fields('Account')];
    assert.deepEqual([key.remainingUsd, key.warnings], ['0.00', ['QuotaLow', 'QuotaExhausted']]);
    assert.deepEqual(
      [purse.balanceUsd, purse.heldUsd, purse.warnings],
      ['0.00', '0.00', ['BalanceLow', 'BalanceExhausted']],
    );
    assert.ok((await conditionsOf('ApiKey', 'team/purse')).includes('Ready=False LimitReached'));
    assert.equal(
      (await post(stack, '/v1/chat/completions', chat('gpt-model', { max_tokens: 10 }), as('purse'))).status,
      429,
    );
  });
});
