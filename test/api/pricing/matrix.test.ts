/**
 * Recorded responses through a running gateway, whole and streamed: context tiers, service tiers, cache classes,
 * modalities, iterations, groups and channels. The fixture has each cost as computed by hand.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { stringify } from 'yaml';
import { parseDecimal } from '#snapshot/decimal.ts';
import { chat, get, message, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';
import { accountsManifest, keyManifest } from '../../support/manifests.ts';
import type { Reply } from '../../support/mock-provider.ts';
import {
  anthropicMessage,
  anthropicStream,
  insertAt,
  openaiChat,
  openaiStream,
  sse,
} from '../../support/provider-answers.ts';
import type { AnthropicUsage } from '../../support/provider-answers.ts';
import { readPriceMatrix } from '../../support/price-matrix.ts';
import type { PriceCase } from '../../support/price-case.ts';

const { catalog, cases: all } = readPriceMatrix();
/** This gateway has no channel of Gemini's protocol. */
const cases = all.filter(({ protocol }) => protocol !== 'Gemini');
const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
const CHANNELS = { openai: ['any', 'cheap', 'dear', 'tenth-more'], messages: ['any', 'dear'] } as const;

/** Cases of one channel and ratio share a group, which has a key of the same name. */
const groupOf = ({ channel = 'any', groupRatio = '1' }: PriceCase): string =>
  `${channel}-${groupRatio}`.replaceAll(/[/.]/g, '-');
const keyOf = (each: PriceCase): string => `sk-test-${groupOf(each).padEnd(35, '0')}`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({
      'keys.yaml': keysAndGroups(),
      'platform.yaml': [
        routeManifest('openai', `protocol: OpenAI, baseUrl: "${openaiUrl}/v1"`),
        routeManifest('messages', `protocol: Anthropic, baseUrl: "${anthropicUrl}"`),
        stringify(catalog),
      ].join('---\n'),
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

function keysAndGroups(): string {
  const byGroup = new Map(cases.map((each) => [groupOf(each), each]));
  return (
    [...byGroup]
      .map(([name, each]) => {
        const [route, channel] = each.channel?.split('/') ?? [];
        const routes =
          route === undefined
            ? '[{routeRef: {name: openai}, channels: [any]}, {routeRef: {name: messages}, channels: [any]}]'
            : `[{routeRef: {name: ${route}}, channels: [${channel}]}]`;
        return `${keyManifest(name, keyOf(each), `groupRef: {name: ${name}}`)}
${HEAD}Group
metadata: {name: ${name}}
spec: {allowedNamespaces: {from: All}, priceRatio: "${each.groupRatio ?? '1'}", routes: ${routes}}
---
`;
      })
      .join('') + accountsManifest()
  );
}

function routeManifest(name: keyof typeof CHANNELS, provider: string): string {
  const isClaude = name === 'messages';
  const models = catalog.spec.models
    .filter(({ vendor }) => (vendor === 'Anthropic') === isClaude)
    .map(
      (model) =>
        `{name: ${model.name}, contextTokens: 400000, maxOutputTokens: 5000, allow: [ServerTools], ` +
        'inputs: [Text, Image]}',
    );
  return `${HEAD}ModelRoute
metadata: {name: ${name}}
spec:
  models: [${models.join(', ')}]
  channels: [${CHANNELS[name].map((channel) => `{name: ${channel}, ${provider}}`).join(', ')}]
`;
}

const SPOKEN = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } };

function isSpoken(usage: PriceCase['answer']['usage']): boolean {
  return countIn(usage, 'completion_tokens_details', 'audio_tokens') > 0;
}

/** The parts of a request whose tokens the usage tells. */
function mediaOf(usage: PriceCase['answer']['usage']): readonly object[] {
  const has = (name: string): boolean =>
    countIn(usage, 'prompt_tokens_details', name) + countIn(usage, 'input_tokens_details', name) > 0;
  return [
    ...(has('image_tokens') ? [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] : []),
    ...(has('audio_tokens') ? [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }] : []),
  ];
}

function countIn(usage: PriceCase['answer']['usage'], details: string, name: string): number {
  const { [details]: counts = {} } = usage as Readonly<Record<string, Readonly<Record<string, number>> | undefined>>;
  return counts[name] ?? 0;
}

/** Such a call has the input of its response; only provider tools cause several requests. */
function bodyOf(
  { model, protocol, asked, answer: { usage }, inputTokens }: PriceCase,
  stream: boolean,
): Record<string, unknown> {
  const fields = {
    stream,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x'.repeat(inputTokens) }, ...mediaOf(usage)] }],
    ...(asked !== undefined && (protocol ? { speed: asked } : { service_tier: asked })),
  };
  if (!protocol) return chat(model, { max_tokens: 5000, ...fields, ...(isSpoken(usage) && SPOKEN) });
  const hasTools = 'iterations' in usage || 'server_tool_use' in usage;
  return message(model, {
    max_tokens: 5000,
    ...fields,
    ...(hasTools && { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
  });
}

function replyOf({ protocol, answer }: PriceCase, stream: boolean): Reply {
  if (protocol) {
    // the fixture has fields that no helper knows
    const usage = answer.usage as unknown as AnthropicUsage;
    return stream ? anthropicStream(['a'], { usage }) : anthropicMessage({ usage });
  }
  if (!stream) return openaiChat({ usage: null, extra: answer });
  const data = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], ...answer };
  const last = sse({ data });
  return insertAt(openaiStream(['a'], { usage: null }), -1, last);
}

interface ShownLine {
  readonly dimension: string;
  readonly quantity: number;
  readonly rate_usd: string;
  readonly service_tier: string | null;
  readonly context_above: number | null;
  readonly region: string | null;
  readonly model: string | null;
}

async function check(each: PriceCase, stream: boolean): Promise<void> {
  const provider = each.protocol ? stack.anthropic : stack.openai;
  provider.script(replyOf(each, stream));
  const authorization = { authorization: `Bearer ${keyOf(each)}` };
  const before = await spending(stack, groupOf(each));
  const path = each.protocol ? '/v1/messages' : '/v1/chat/completions';
  const answer = await post(stack, path, bodyOf(each, stream), authorization);
  assert.equal(answer.status, 200, answer.text);
  const usage = (await get(stack, `/v1/usage/${answer.headers.get('x-request-id')}`, authorization)).json();
  assertLines(usage.lines as readonly ShownLine[], each);
  assert.deepEqual([usage.usage_source, usage.status], ['Provider', 'Succeeded']);
  assert.equal(parseDecimal(String(usage.cost_usd)), BigInt(each.cost));
  assert.equal(parseDecimal(String(usage.unbilled_usd)), 0n);
  const { spent } = await spending(stack, groupOf(each));
  assert.equal(spent - before.spent, BigInt(each.cost), 'the ledger has taken the same from the key');
  assertHeader(answer, stream, each);
}

function assertLines(shown: readonly ShownLine[], { lines, tier, steps, above, region, models }: PriceCase): void {
  if (!lines) return;
  assert.deepEqual(
    shown.map((line) => [line.dimension, line.quantity, line.rate_usd]),
    lines,
  );
  assert.deepEqual(
    shown.map((line) => [line.service_tier, line.context_above, line.region, line.model]),
    lines.map((_, index) => [
      tier ?? null,
      (steps ? steps[index] : above) ?? null,
      region ?? null,
      models?.[index] ?? null,
    ]),
  );
}

/** A stream's headers are sent before its cost is known. */
function assertHeader({ headers }: Answer, stream: boolean, { cost }: PriceCase): void {
  if (stream) return;
  assert.equal(parseDecimal(headers.get('x-modelgateway-cost-usd') ?? ''), BigInt(cost));
}

describe('a running gateway bills, to the nano-dollar,', () => {
  for (const [index, each] of cases.entries()) {
    it(each.name, async () => {
      // of the crossed cases every other one is a stream
      if (each.lines || index % 2 === 0) await check(each, false);
      if (each.lines || index % 2 === 1) await check(each, true);
    });
  }
});
