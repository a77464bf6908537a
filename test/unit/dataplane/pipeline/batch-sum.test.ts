/** A batch is held for the sum of what its requests would be held for alone, and takes the rules of each. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { worstCaseNanoUsd } from '#price/price.ts';
import { compilePrice } from '#price/sheet.ts';
import { BatchSum } from '../../../../dataplane/pipeline/batches/batch-sum.ts';
import type { EndpointCall } from '../../../../dataplane/pipeline/context.ts';
import type { Converter } from '../../../../dataplane/protocol/converter.ts';
import { openai } from '../../../../dataplane/protocol/openai/provider.ts';
import type { Candidate, KeyState, State } from '../../../../dataplane/state/state.ts';

const E9 = 10n ** 9n;
const stated: Parameters<typeof compilePrice>[0] = {
  quotaType: 'Token',
  ratioBaseUsdE9: E9,
  modelRatioE9: 0n,
  completionRatioE9: 0n,
  cacheRatioE9: 0n,
  cacheWriteRatioE9: 0n,
  requestNanoUsd: 0n,
  usdPerMillion: { input: 3n * E9, output: 15n * E9, imageInput: 5n * E9 },
  perUse: { webSearchNanoUsd: 10_000_000n },
  contextTiers: [{ above: 500, usdPerMillion: undefined, inputMultiplierE9: 2n * E9, outputMultiplierE9: 2n * E9 }],
  serviceTiers: [
    { name: 'batch', usdPerMillion: undefined, multiplierE9: E9 / 2n, contextTiers: [] },
    { name: 'priority', usdPerMillion: undefined, multiplierE9: 4n * E9, contextTiers: [] },
  ],
};
const price = compilePrice(stated, E9 * E9);

const candidate = {
  group: 'g',
  upstreamModel: 'up',
  model: {
    name: 'm',
    endpoints: new Set(['Chat']),
    acceptsImages: true,
    contextTokens: 2_000,
    maxOutputTokens: 400,
  },
  target: { id: 'r/c', protocol: 'OpenAI', endpoints: new Set(['Chat', 'Batches']) },
  price,
} as unknown as Candidate;
const key = { minOutputTokens: 1, whenShort: 'Refuse' } as unknown as KeyState;
const state = { sealingKeys: undefined } as unknown as State;

function call(more: Partial<EndpointCall> & { readonly input?: number; readonly limit?: number } = {}): EndpointCall {
  const { input = 100, limit = 50, ...rest } = more;
  return {
    kind: 'Chat',
    model: 'm',
    stream: false,
    output: { maxTokens: limit, answers: 1, predictionTokens: 0, thinkingBudget: undefined, fixed: false },
    generations: 1,
    oneHourCache: false,
    asksForReasoning: false,
    wantsStreamUsage: false,
    check: () => undefined,
    boundInput: () => input,
    estimateInput: () => input / 4,
    uses: () => ({}),
    unbounded: () => false,
    converter: () => openai.chat.OpenAI,
    unservable: () => undefined,
    ...rest,
  };
}

function convertedBy(converter: Converter | undefined): Pick<EndpointCall, 'converter'> {
  return { converter: () => converter };
}

const sumOf = (...calls: readonly EndpointCall[]): BatchSum => {
  const sum = new BatchSum({ candidate, price, key, state, form: 'OpenAI' });
  for (const each of calls) sum.add(each, '/v1/chat/completions');
  return sum;
};

describe('the sum of a batch', () => {
  it('is what its requests cost at most, each in its own context tier, at the price of a batch alone', () => {
    const alone = (input: number, output: number): bigint =>
      worstCaseNanoUsd(price, {
        inputTokens: input,
        outputTokens: output,
        oneHourCache: false,
        generations: 1,
        serviceTiers: ['batch'],
      });
    const sum = sumOf(call(), call({ input: 800, limit: 10 }), call({ input: 7, limit: 9_999 }));
    assert.equal(sum.amountNanoUsd, alone(100, 50) + alone(800, 10) + alone(7, 400));
    assert.deepEqual(
      sum.lines.map(({ limit }) => limit),
      [50, 10, 400],
      'what each request is sent',
    );
    const { together, onlyTier, background } = sum.callOf(openai.chat.OpenAI);
    assert.deepEqual([onlyTier, background], ['batch', true]);
    assert.ok(together);
    assert.deepEqual(
      [together.requestTokens, together.outputTokens, together.estimatedInputTokens, together.amountNanoUsd],
      [800, 400, Math.ceil(907 / 4 / 3), sum.amountNanoUsd],
    );
    assert.equal(together.minimumNanoUsd, together.amountNanoUsd, 'no limit is lowered');
  });
  it('counts all choices, predictions, uses and modalities', () => {
    const output = { maxTokens: 20, answers: 3, predictionTokens: 7, thinkingBudget: undefined, fixed: false };
    const sum = sumOf(call({ output }), call({ uses: () => ({ webSearch: 2 }) }), call({ modalities: ['imageInput'] }));
    const { together, modalities } = sum.callOf(openai.chat.OpenAI);
    assert.ok(together);
    assert.equal(together.outputTokens, 67);
    assert.deepEqual([together.reach.uses, together.reach.requests, modalities], [{ webSearch: 2 }, 3, ['imageInput']]);
    assert.equal(together.inputTokens, 6_000, 'each search may fill the context');
    assert.ok(sum.amountNanoUsd > 20_000_000n, 'two searches');
  });
  it('is served by its own channel and group alone', () => {
    const batch = sumOf(call()).callOf(openai.chat.OpenAI);
    const servesAt = (at: Candidate): boolean => batch.converter(at) !== undefined;
    assert.ok(servesAt(candidate));
    assert.ok(!servesAt({ ...candidate, group: 'dearer' }));
    assert.ok(!servesAt({ ...candidate, target: { ...candidate.target, id: 'r/d' } }));
  });
  it.each([
    ['of another model', { model: 'n' }, 'model'],
    ['that continues a response', { continues: 'resp_1' }, 'previous_response_id'],
    ['of another region', { region: 'us' }, 'inference_geo'],
    ['that streams', { stream: true }, 'stream'],
    ['in the background', { background: true }, 'background'],
    ['in a service tier', { serviceTier: 'priority' }, 'service_tier'],
    ['with a prompt of the provider', { accountBoundField: 'prompt' }, 'prompt'],
    ['without a bound', { unbounded: () => true }, undefined],
    ['that would be converted', convertedBy(openai.chat.Anthropic), 'model'],
    ['that is served by Responses', convertedBy(openai.chatByResponses?.OpenAI), 'model'],
    ['that is not served', convertedBy(undefined), 'model'],
  ] as const)('takes no request %s', (_what, more, param) => {
    const sum = sumOf(call());
    assert.throws(
      () => sum.add(call(more), '/v1/chat/completions'),
      (error: { details?: { param?: string } }) => error.details?.param === param,
    );
  });
  it('has several models of its channel, each at its price, if their results can be told apart', () => {
    const other = (name: string, upstreamModel: string, times: bigint): Candidate => ({
      ...candidate,
      upstreamModel,
      model: { ...candidate.model, name },
      price: compilePrice({ ...stated, usdPerMillion: { input: 3n * times * E9, output: 15n * times * E9 } }, E9 * E9),
    });
    const channelOf = (each: Candidate): BatchSum['channel'] => ({
      candidate: each,
      price: each.price ?? price,
      key,
      state,
      form: 'OpenAI',
    });
    const sum = sumOf(call());
    const one = sum.amountNanoUsd;
    assert.deepEqual([sum.knows('m'), sum.knows('n')], [true, false]);
    const elsewhere = { ...other('n', 'n', 2n), target: { ...candidate.target, id: 'r/d' } };
    assert.throws(() => sum.takeModel('n', [channelOf(elsewhere)]), /No channel serves both "m" and "n"/);
    assert.throws(() => sum.takeModel('n', [channelOf(other('n', 'up-latest', 2n))]), /one model of the provider/);
    assert.throws(() => sum.takeModel('n', [channelOf(other('n', 'up-20250929', 2n))]), /cannot be told apart/);
    sum.takeModel('n', [channelOf(elsewhere), channelOf(other('n', 'down', 2n))]);
    sum.add(call({ model: 'n', limit: 20 }), '/v1/chat/completions');
    assert.equal(sum.amountNanoUsd - one, sumOf(call({ limit: 20 })).amountNanoUsd * 2n);
    assert.deepEqual(sum.lines, [
      { limit: 50, plan: 0 },
      { limit: 20, plan: 1 },
    ]);
    const { model, models, together } = sum.callOf(openai.chat.OpenAI);
    assert.deepEqual(
      [model, models?.map(({ candidate: { upstreamModel }, bounds }) => [upstreamModel, bounds.outputTokens])],
      [
        'm',
        [
          ['up', 50],
          ['down', 20],
        ],
      ],
    );
    assert.equal(together?.amountNanoUsd, sum.amountNanoUsd);
  });
  it('is of one endpoint, also where two are of one kind', () => {
    const sum = sumOf(call());
    const add = (): void => sum.add(call(), '/v1/responses');
    assert.throws(add, /for \/v1\/responses, and the first for \/v1\/chat\/completions/);
    assert.equal(sum.callOf(openai.chat.OpenAI).batchOf, '/v1/chat/completions');
  });
  it('of nothing is no call', () => {
    assert.throws(() => sumOf().callOf(openai.chat.OpenAI), /no requests/);
  });
});
