/**
 * A channel's cost for the platform: in records and metrics, in no response to a key, and in no hold, bill or quota.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import type { UsageRecord } from '#usage/record.ts';
import { gated, openaiChat, openaiError } from '../../support/provider-answers.ts';
import { chat, get, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({
      'margins.yaml': `${HEAD}ModelRoute
metadata: {name: margins}
spec:
  models: [{name: gpt-cost, contextTokens: 100000, maxOutputTokens: 4000},
    {name: gpt-list, contextTokens: 100000, maxOutputTokens: 4000}]
  channels:
  - {name: first, protocol: OpenAI, baseUrl: "${openaiUrl}", cost: {catalogRef: {name: costs}}}
  - {name: second, protocol: OpenAI, baseUrl: "${anthropicUrl}", priority: 1,
      cost: {catalogRef: {name: costs}, multiplier: "10.5"}}
---
${HEAD}PriceCatalog
metadata: {name: margins}
spec:
  models:
  - {name: gpt-cost, vendor: V, quotaType: Token, usdPerMillion: {input: "2", output: "10"}}
  - {name: gpt-list, vendor: V, quotaType: Token, usdPerMillion: {input: "2", output: "10"}}
---
${HEAD}PriceCatalog
metadata: {name: costs}
spec:
  purpose: Costs
  models:
  - name: gpt-cost
    vendor: V
    quotaType: Token
    usdPerMillion: {input: "1", output: "4", cacheRead: "0.1"}
    serviceTiers: {priority: {multiplier: "2"}}
  - {name: only-a-cost, vendor: V, quotaType: Token, modelRatio: "1"}
`,
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const PATH = '/v1/chat/completions';
const BODY = chat('gpt-cost', { max_tokens: 500, messages: [{ role: 'user', content: 'word '.repeat(2000) }] });
const ANSWER = {
  usage: {
    prompt_tokens: 1000,
    completion_tokens: 200,
    prompt_tokens_details: { cached_tokens: 400 },
  },
} as const;

async function recordOf(answer: Answer): Promise<UsageRecord> {
  const record = await stack.gateway.ledger.readUsage('team/main', answer.headers.get('x-request-id') ?? '');
  return record ?? assert.fail('the call has no record');
}

describe('a channel with a cost', () => {
  it('has it in the record of each call, by the dimensions that were billed', async () => {
    stack.openai.script(openaiChat(ANSWER));
    const standard = await post(stack, PATH, BODY);
    assert.equal(standard.status, 200, standard.text);
    const { costNanoUsd, upstreamCostNanoUsd } = await recordOf(standard);
    // 1000 at $2 and 200 at $10 per million; 600 at $1, 400 at $0.1 and 200 at $4
    assert.deepEqual([costNanoUsd, upstreamCostNanoUsd], [4_000_000n, 1_440_000n]);
    stack.openai.script(openaiChat({ ...ANSWER, extra: { service_tier: 'priority' } }));
    const priority = await recordOf(await post(stack, PATH, BODY));
    assert.deepEqual([priority.costNanoUsd, priority.upstreamCostNanoUsd], [4_000_000n, 2_880_000n]);
  });

  it('has the same bills and holds as one without, also at a loss on the channel of a retry', async () => {
    const amounts = [];
    for (const model of ['gpt-list', 'gpt-cost']) {
      stack.anthropic.clear();
      const reply = gated(openaiError(500, 'down'));
      stack.openai.script(reply.reply);
      stack.anthropic.script(openaiChat(ANSWER));
      const before = await spending(stack);
      const running = post(stack, PATH, { ...BODY, model });
      await Promise.race([reply.gate.reached, running]);
      const { held } = await spending(stack);
      reply.gate.open();
      const answer = await running;
      assert.equal(answer.status, 200, answer.text);
      const { spent } = await spending(stack);
      const { upstreamCostNanoUsd, channel } = await recordOf(answer);
      amounts.push({ held, spent: spent - before.spent, upstreamCostNanoUsd, channel });
    }
    const [list, cost] = amounts;
    assert.deepEqual([list?.held, list?.spent], [cost?.held, cost?.spent]);
    assert.equal(cost?.spent, 4_000_000n);
    assert.ok(amounts.every(({ channel }) => channel === 'margins/second'));
    assert.deepEqual(
      amounts.map(({ upstreamCostNanoUsd }) => upstreamCostNanoUsd),
      [undefined, 15_120_000n],
    );
  });

  it('costs nothing if the provider refuses the call', async () => {
    stack.openai.script(openaiError(400, 'no such parameter'));
    const { costNanoUsd, upstreamCostNanoUsd, status } = await recordOf(await post(stack, PATH, BODY));
    assert.deepEqual([costNanoUsd, upstreamCostNanoUsd, status], [0n, 0n, 'Failed']);
  });

  it('is never shown to a key: in a response, its headers, usage or the price list', async () => {
    stack.openai.script(openaiChat(ANSWER));
    const answer = await post(stack, PATH, BODY);
    const usage = await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`);
    assert.equal(usage.json().cost_usd, '0.004');
    const told = [
      answer.text,
      JSON.stringify([...answer.headers]),
      usage.text,
      (await get(stack, '/v1/key')).text,
      (await get(stack, '/pricing.json')).text,
      (await get(stack, '/v1/models')).text,
    ].join('\n');
    assert.doesNotMatch(told, /upstream_cost|margin_usd|0\.00144|only-a-cost|"costs/);
    const unpriced = await post(stack, PATH, chat('only-a-cost'));
    assert.equal(unpriced.status, 404, 'a catalog of costs prices no model');
  });

  it('is exported as a metric by channel and model, beside the billed amount', async () => {
    const { text } = await fetch(`${stack.gateway.adminUrl}/metrics`).then(async (response) => ({
      text: await response.text(),
    }));
    const labels = '\\{channel="margins/second",model="gpt-cost"\\}';
    assert.match(text, new RegExp(`modelgateway_channel_cost_usd_total${labels} 0\\.01512`));
    assert.match(text, new RegExp(`modelgateway_channel_billed_usd_total${labels} 0\\.004`));
    assert.doesNotMatch(text, /channel_cost_usd_total\{[^}]*model="gpt-list"/);
  });
});
