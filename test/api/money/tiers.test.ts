/** Context tiers, service tiers and audio: holds, refusals and bills. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { anthropicMessage, gated, openaiChat } from '../../support/provider-answers.ts';
import { chat, get, message, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({
      'tiers.yaml': `${HEAD}ModelRoute
metadata: {name: tiers}
spec:
  models: [{name: gpt-tiers, contextTokens: 400000, maxOutputTokens: 4000},
    {name: gpt-sound, contextTokens: 100000, maxOutputTokens: 4000}]
  channels: [{name: direct, protocol: OpenAI, baseUrl: "${openaiUrl}"}]
---
${HEAD}ModelRoute
metadata: {name: tiers-of-claude}
spec:
  models: [{name: claude-tiers, contextTokens: 200000, maxOutputTokens: 4000}]
  channels: [{name: direct, protocol: Anthropic, baseUrl: "${anthropicUrl}"}]
---
${HEAD}PriceCatalog
metadata: {name: tiers}
spec:
  models:
  - name: gpt-tiers
    vendor: V
    quotaType: Token
    usdPerMillion: {input: "2", output: "10", cacheRead: "1", cacheWrite5m: "2"}
    contextTiers: [{above: 20000, inputMultiplier: "2", outputMultiplier: "1.5"}]
    serviceTiers: {priority: {multiplier: "2"}, flex: {multiplier: "0.5"}, batch: {multiplier: "7"}}
  - name: gpt-sound
    vendor: V
    quotaType: Token
    usdPerMillion: {input: "2", output: "10", audioInput: "40", cacheWrite5m: "2"}
  - name: claude-tiers
    vendor: V
    quotaType: Token
    modelRatio: "1"
    serviceTiers: {fast: {multiplier: "6"}}
    perUse: {webSearchUsd: "0.01"}
    regions: {us: "1.5"}
`,
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const PATH = '/v1/chat/completions';
const ask = (more: Record<string, unknown>): Record<string, unknown> => chat('gpt-tiers', { max_tokens: 100, ...more });

async function held(body: unknown): Promise<bigint> {
  const reply = gated(openaiChat());
  stack.openai.script(reply.reply);
  const call = post(stack, PATH, body);
  await Promise.race([reply.gate.reached, call]);
  const { held: amount } = await spending(stack, 'main');
  reply.gate.open();
  const answer = await call;
  assert.equal(answer.status, 200, answer.text);
  return amount;
}

interface Line {
  readonly dimension: string;
  readonly quantity: number;
  readonly rate_usd: string;
  readonly service_tier: string | null;
  readonly context_above: number | null;
}

async function linesOf(answer: Answer): Promise<unknown> {
  assert.equal(answer.status, 200, answer.text);
  const usage = await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`);
  const { lines } = usage.json() as unknown as { readonly lines: readonly Line[] };
  return lines.map(({ dimension, quantity, rate_usd: rate, service_tier: tier, context_above: above }) => [
    dimension,
    quantity,
    rate,
    tier,
    above,
  ]);
}

const USAGE = { prompt_tokens: 1000, completion_tokens: 10 };

describe('a service tier', () => {
  it('has a hold at the most expensive tier that may serve it, unless it asks for standard', async () => {
    const standard = await held(ask({ service_tier: 'default' }));
    const chosen = await held(ask({}));
    // the field itself adds 25 bytes to the request
    assert.ok(chosen > (standard * 3n) / 2n && chosen <= standard * 2n, `${chosen} for ${standard}`);
    const flex = await held(ask({ service_tier: 'flex' }));
    assert.ok(flex <= standard && flex > (standard * 9n) / 10n, 'flex may be short, and then the standard one serves');
    assert.ok((await held(ask({ service_tier: 'priority' }))) >= chosen);
  });
  it('is billed as the response names it', async () => {
    for (const [served, asked, input, output, tier] of [
      ['priority', undefined, '4', '20', 'priority'],
      ['default', 'priority', '2', '10', null],
      ['flex', 'flex', '1', '5', 'flex'],
      [undefined, 'priority', '4', '20', 'priority'],
      [undefined, undefined, '2', '10', null],
      [undefined, 'flex', '2', '10', null],
    ] as const) {
      stack.openai.script(openaiChat({ usage: USAGE, extra: { service_tier: served } }));
      const answer = await post(
        stack,
        PATH,
        ask({
          messages: [{ role: 'user', content: 'x'.repeat(2000) }],
          ...(asked && { service_tier: asked }),
        }),
      );
      assert.deepEqual(
        await linesOf(answer),
        [
          ['input', 1000, input, tier, null],
          ['output', 10, output, tier, null],
        ],
        `${served} for ${asked}`,
      );
    }
  });
  it('of Anthropic includes the speed', async () => {
    for (const [speed, rate, tier] of [
      ['fast', '12', 'fast'],
      ['standard', '2', null],
    ] as const) {
      stack.anthropic.script(anthropicMessage({ content: '', usage: { input_tokens: 5, output_tokens: 0, speed } }));
      assert.deepEqual(await linesOf(await post(stack, '/v1/messages', message('claude-tiers', { speed: 'fast' }))), [
        ['input', 5, rate, tier, null],
      ]);
    }
  });
  it('without a price is refused by name', async () => {
    for (const [model, tier] of [
      ['gpt-tiers', 'scale'],
      ['gpt-model', 'priority'],
    ] as const) {
      const answer = await post(stack, PATH, chat(model, { service_tier: tier }));
      assert.deepEqual(
        [answer.status, answer.json().error.code, answer.json().error.param],
        [400, 'not_allowed', 'service_tier'],
      );
      assert.ok(answer.json().error.message.includes(`the service tier "${tier}", which has no price for "${model}"`));
    }
    assert.equal(stack.openai.requests.length, 0);
  });
});

describe('a context tier', () => {
  const long = (bytes: number): Record<string, unknown> =>
    ask({ service_tier: 'default', messages: [{ role: 'user', content: 'x'.repeat(bytes) }] });

  it('raises the hold if the request may reach it', async () => {
    const [below, above] = [await held(long(15_000)), await held(long(20_000))];
    // $2 a million below the step, $4 above it
    assert.ok(below < 20_000n * 2_000n + 100n * 10_000n, String(below));
    assert.ok(above > 20_000n * 4_000n + 100n * 15_000n, String(above));
  });
  it("applies to the whole request, by the provider's token counts", async () => {
    for (const [tokens, input, output, step] of [
      [20_000, '2', '10', null],
      [20_001, '4', '15', 20_000],
    ] as const) {
      stack.openai.script(
        openaiChat({
          extra: { service_tier: 'default' },
          usage: { prompt_tokens: tokens, completion_tokens: 10 },
        }),
      );
      assert.deepEqual(await linesOf(await post(stack, PATH, long(30_000))), [
        ['input', tokens, input, null, step],
        ['output', 10, output, null, step],
      ]);
    }
  });
});

describe('audio', () => {
  const sound = (model: string, more: Record<string, unknown> = {}): Record<string, unknown> =>
    chat(model, {
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'input_audio',
              input_audio: { data: 'A'.repeat(400), format: 'wav' },
            },
          ],
        },
      ],
      ...more,
    });

  it('is billed and held for at its own rate', async () => {
    stack.openai.script(
      openaiChat({
        usage: {
          prompt_tokens: 300,
          completion_tokens: 10,
          prompt_tokens_details: { audio_tokens: 290 },
        },
      }),
    );
    assert.deepEqual(await linesOf(await post(stack, PATH, sound('gpt-sound'))), [
      ['audioInput', 290, '40', null, null],
      ['input', 10, '2', null, null],
      ['output', 10, '10', null, null],
    ]);
    assert.ok((await held(sound('gpt-sound', { max_tokens: 1 }))) > 400n * 40_000n);
  });
  it('without a price is refused by name', async () => {
    for (const [body, param, field] of [
      [sound('gpt-tiers'), 'messages[0].content[0]', 'usdPerMillion.audioInput'],
      [chat('gpt-sound', { modalities: ['text', 'audio'] }), 'modalities', 'usdPerMillion.audioOutput'],
    ] as const) {
      const answer = await post(stack, PATH, body);
      const { code, param: named, message: text } = answer.json().error;
      assert.deepEqual([answer.status, code, named], [400, 'not_allowed', param]);
      assert.ok(text.includes(field), text);
    }
    assert.equal(stack.openai.requests.length, 0);
  });
});

describe('a search by the provider', () => {
  const search = (maxUses?: number): Record<string, unknown> =>
    message('claude-tiers', {
      tools: [{ type: 'web_search_20250305', name: 'web_search', ...(maxUses !== undefined && { max_uses: maxUses }) }],
    });

  it('is billed by use, and held for with the input of each request that it causes', async () => {
    const usage = { input_tokens: 5, output_tokens: 0, server_tool_use: { web_search_requests: 2 } };
    const reply = gated(anthropicMessage({ content: '', usage }));
    stack.anthropic.script(reply.reply);
    const call = post(stack, '/v1/messages', search(2));
    await Promise.race([reply.gate.reached, call]);
    const { held: amount } = await spending(stack, 'main');
    reply.gate.open();
    // three requests of a full context at $2.50 a million (a cache write), 100 tokens of output at $2, two searches;
    // the provider may choose the region and the speed: 1.5 times the tokens
    assert.equal(amount, ((3n * 200_000n * 2_500n + 100n * 2_000n) * 3n) / 2n + 20_000_000n);
    assert.deepEqual(await linesOf(await call), [
      ['input', 5, '2', null, null],
      ['webSearch', 2, '0.01', null, null],
    ]);
  });
  it('is billed at most as often as the request allows, whatever the response reports', async () => {
    stack.anthropic.script(
      anthropicMessage({
        content: '',
        usage: { input_tokens: 5, output_tokens: 0, server_tool_use: { web_search_requests: 900 } },
      }),
    );
    assert.deepEqual(await linesOf(await post(stack, '/v1/messages', search(2))), [
      ['input', 5, '2', null, null],
      ['webSearch', 2, '0.01', null, null],
    ]);
  });
  it('without a limit, or for a model without its price, is refused by name', async () => {
    for (const [body, words] of [
      [search(), /no bound for "claude-tiers"\. Say how often with "max_uses": searches of the web have a price\.$/],
      [{ ...search(2), model: 'claude-model' }, /searches of the web, which has no price .*perUse\.webSearchUsd/],
    ] as const) {
      const answer = await post(stack, '/v1/messages', body);
      assert.equal(answer.status, 400);
      assert.match(answer.json().error.message, words);
    }
    assert.equal(stack.anthropic.requests.length, 0);
  });
});

describe('a region', () => {
  it('is billed as the response names it', async () => {
    for (const [served, rate] of [
      ['us', '3'],
      ['global', '2'],
    ] as const) {
      stack.anthropic.script(
        anthropicMessage({ content: '', usage: { input_tokens: 5, output_tokens: 0, inference_geo: served } }),
      );
      assert.deepEqual(
        await linesOf(
          await post(
            stack,
            '/v1/messages',
            message('claude-tiers', {
              inference_geo: 'us',
            }),
          ),
        ),
        [['input', 5, rate, null, null]],
      );
    }
  });
});
