/** A batch costs the exact sum of its requests, rounded once, each in a context tier of its own. */
import assert from 'node:assert/strict';
import { deserialize } from 'node:v8';
import { describe, it } from 'vitest';
import { BillSum } from '#price/price.ts';
import { compilePrice } from '#price/sheet.ts';
import { BatchBill } from '../../../../dataplane/pipeline/batches/batch-bill.ts';
import { decodeBatchTerms, decodeTerms, encodeTerms, isOfBatch } from '../../../../dataplane/pipeline/billing-terms.ts';
import { areConfusable, mayBeServedAs } from '../../../../dataplane/pipeline/batches/served-name.ts';
import { worstCaseProgress } from '../../../../dataplane/pipeline/consumption.ts';
import type { BillingTerms } from '../../../../dataplane/pipeline/consumption.ts';
import type { BatchModel, CallBounds } from '../../../../dataplane/pipeline/context.ts';
import type { UsedResult } from '../../../../dataplane/protocol/batches/results.ts';
import type { ReportedUsage } from '../../../../dataplane/protocol/converter.ts';
import { UNREPORTED_USAGE } from '../../../../dataplane/protocol/usage.ts';

const E9 = 10n ** 9n;
/** $0.0013 in and $0.0017 out per million; a third of it in a batch, rounded to billionths; twice above 100 tokens. */
const price = compilePrice(
  {
    quotaType: 'Token',
    ratioBaseUsdE9: E9,
    modelRatioE9: 0n,
    completionRatioE9: 0n,
    cacheRatioE9: 0n,
    cacheWriteRatioE9: 0n,
    requestNanoUsd: 0n,
    usdPerMillion: { input: 1_300_000n, output: 1_700_000n },
    contextTiers: [{ above: 100, usdPerMillion: undefined, inputMultiplierE9: 2n * E9, outputMultiplierE9: 2n * E9 }],
    serviceTiers: [{ name: 'batch', usdPerMillion: undefined, multiplierE9: 333_333_333n, contextTiers: [] }],
  },
  E9 * E9,
);

const together: CallBounds = {
  price,
  reach: { oneHourCache: false, serviceTiers: ['batch'] },
  requestTokens: 1_000,
  inputTokens: 1_000,
  estimatedInputTokens: 10,
  outputTokens: 50,
  amountNanoUsd: 77n,
  minimumNanoUsd: 77n,
};

const TERMS: BillingTerms = {
  bounds: together,
  outputLimit: 50,
  candidate: {
    clientDisconnect: 'Cancel',
    onTimeout: 'BillNothing',
    upstreamModel: 'm',
    model: { reasoning: 'Auto' },
    cost: price,
    costOf: () => undefined,
    priceOf: () => undefined,
  },
  routed: {
    call: {
      output: { maxTokens: undefined, answers: 1, predictionTokens: 0, thinkingBudget: undefined, fixed: true },
      generations: 1,
      stream: false,
      asksForReasoning: false,
      background: true,
      onlyTier: 'batch',
      together,
      modalities: [],
      unbounded: () => false,
    },
    offer: { quotaType: 'Token' },
  },
};

function used(input: number, output: number, more: Partial<ReportedUsage> = {}, model = 'm'): UsedResult {
  return { meter: { reported: { ...UNREPORTED_USAGE, input, output, ...more }, final: true, outputBytes: 1 }, model };
}

/** By the definition: billionths of nano-USD per token, summed, and rounded half up. */
function expected(requests: readonly (readonly [input: number, output: number])[]): bigint {
  const sum = requests.reduce((all, [input, output]) => {
    const times = input > 100 ? 2n : 1n;
    // 1.3 and 1.7 nano-USD per token, times a third
    return all + times * (13n * BigInt(input) + 17n * BigInt(output)) * 333_333_333n;
  }, 0n);
  const unit = 10n * E9;
  return (sum + unit / 2n) / unit;
}

describe('the bill of a batch', () => {
  it('is the exact sum of its requests, also after its terms were stored', () => {
    const requests = Array.from({ length: 500 }, (_, index) => [(index * 37) % 190, (index * 11) % 40] as const);
    const stored = encodeTerms(TERMS);
    assert.ok(isOfBatch(stored));
    const terms = decodeBatchTerms(stored);
    assert.ok(terms);
    for (const each of [[TERMS], terms]) {
      const bill = new BatchBill(each);
      for (const [input, output] of requests) bill.add(used(input, output, { serviceTier: 'standard' }));
      const { costNanoUsd, upstreamCostNanoUsd, tokens, usageSource, lines = [] } = bill.progress;
      assert.deepEqual([costNanoUsd, upstreamCostNanoUsd], [expected(requests), expected(requests)]);
      assert.equal(bill.count, 500);
      assert.equal(
        tokens.input,
        requests.reduce((sum, [input]) => sum + input, 0),
      );
      assert.equal(usageSource, 'Provider');
      assert.deepEqual(
        lines.map(({ dimension, serviceTier, above }) => `${dimension} ${serviceTier} ${above ?? 0}`).sort(),
        ['input batch 0', 'input batch 100', 'output batch 0', 'output batch 100'],
      );
      assert.equal(
        lines.reduce((sum, { quantity }) => sum + quantity, 0),
        tokens.input + tokens.output,
      );
    }
  });
  it('of nothing is nothing', () => {
    const { costNanoUsd, tokens, lines } = new BatchBill([TERMS]).progress;
    assert.deepEqual([costNanoUsd, tokens.input, lines], [0n, 0, []]);
  });
  it('caps each request at the largest bounds, and says so', () => {
    const bill = new BatchBill([TERMS]);
    bill.add(used(5, 1));
    bill.add(used(10_000, 10_000));
    const { tokens, usageSource, costNanoUsd } = bill.progress;
    assert.deepEqual([tokens.input, tokens.output, usageSource], [1_005, 51, 'Implausible']);
    assert.equal(
      costNanoUsd,
      expected([
        [5, 1],
        [1_000, 50],
      ]),
    );
  });
  it('of a response without usage takes the average estimate of the input', () => {
    const bill = new BatchBill([TERMS]);
    bill.add({ meter: { reported: UNREPORTED_USAGE, final: false, outputBytes: 0 }, model: 'm' });
    const { tokens, usageSource } = bill.progress;
    assert.deepEqual([tokens.input, usageSource], [10, 'Estimated']);
  });
});

describe('the bill of a batch for several models', () => {
  const dear = compilePrice(
    {
      quotaType: 'Token',
      ratioBaseUsdE9: E9,
      modelRatioE9: 0n,
      completionRatioE9: 0n,
      cacheRatioE9: 0n,
      cacheWriteRatioE9: 0n,
      requestNanoUsd: 0n,
      usdPerMillion: { input: 5n * E9, output: 25n * E9 },
    },
    E9 * E9,
  );
  const { candidate } = TERMS;
  const model = (upstreamModel: string, bounds: CallBounds): BatchModel => ({
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    candidate: { ...candidate, upstreamModel } as BatchModel['candidate'],
    bounds,
    oneHourCache: false,
    asksForReasoning: false,
    modalities: [],
  });
  const models = [model('claude-haiku', together), model('claude-opus', { ...together, price: dear })];
  const terms: BillingTerms = { ...TERMS, routed: { ...TERMS.routed, call: { ...TERMS.routed.call, models } } };
  const stored = encodeTerms(terms);

  it('counts each request at the price of its model, and one of an unknown model at the dearest', () => {
    assert.ok(isOfBatch(stored));
    assert.equal(decodeTerms(stored), undefined, 'they are no terms of a single call');
    const read = decodeBatchTerms(stored);
    assert.equal(read?.length, 2);
    const bill = new BatchBill(read);
    bill.add(used(3, 1, {}, 'claude-haiku-20251001'));
    bill.add(used(5, 2, {}, 'claude-opus'));
    const cheap = 3n * 13n + 17n;
    const { costNanoUsd, tokens } = bill.progress;
    // $5 and $25 per million are 5,000 and 25,000 nano-USD per token
    assert.equal(costNanoUsd, 75_000n + (cheap * 333_333_333n + 5_000_000_000n) / 10_000_000_000n);
    assert.deepEqual([tokens.input, tokens.output], [8, 3]);
    bill.add(used(1, 0, {}, 'another'));
    assert.equal(bill.progress.costNanoUsd - costNanoUsd, 5_000n);
  });
  it('caps a result at none of the names that have smaller bounds than another that it may be of', () => {
    const tiny = { ...together, requestTokens: 1, inputTokens: 1, outputTokens: 1 };
    const names = [model('claude-sonnet-4-5', together), model('claude-sonnet-4-5-20250929', tiny)];
    const call = { ...TERMS.routed.call, models: names };
    const both = decodeBatchTerms(encodeTerms({ ...TERMS, routed: { ...TERMS.routed, call } }));
    assert.ok(both);
    const bill = new BatchBill(both);
    bill.add(used(40, 30, {}, 'claude-sonnet-4-5-20250929'));
    assert.equal(bill.progress.costNanoUsd, expected([[40, 30]]));
  });
  it('of a batch for one model is stored as before', () => {
    assert.match(encodeTerms(TERMS), /^batch1:[\w+/=]+$/);
    assert.equal(decodeBatchTerms('batch1:others:x'), undefined);
    assert.equal(decodeBatchTerms('batch3:x'), undefined);
  });
  it('is a batch that earlier versions leave to others', () => {
    // as they ask for it, and as they read it
    assert.ok(stored.startsWith('batch1:'));
    assert.throws(() => deserialize(Buffer.from(stored.slice('batch1:'.length), 'base64')));
  });
});

describe('the model of a result', () => {
  it.each([
    ['claude-opus-4', [0]],
    ['claude-opus-4-20250514', [0]],
    ['claude-opus-4-1-20250805', [1]],
    ['claude-opus-4-1-20250805-v1', [1]],
    ['claude-haiku-20251001', [2]],
    ['claude-haiku-4-5-20251001', [2]],
    ['claude-haiku-latest', [2]],
    ['claude-opus', []],
    ['claude-opus-45', []],
  ] as const)('%s is found', (served, places) => {
    const asked = ['claude-opus-4', 'claude-opus-4-1', 'claude-haiku-latest'];
    const found = [...asked.keys()].filter((place) => mayBeServedAs(asked[place] ?? '', served));
    assert.deepEqual(found, places);
  });
  it.each([
    ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929', true],
    ['claude-sonnet-4-5@20250929', 'claude-sonnet-4-5', true],
    ['claude-sonnet-4-0', 'claude-sonnet-4-20250514', true],
    ['claude-haiku-latest', 'claude-haiku-4-5', true],
    ['claude-haiku', 'claude-haiku-4-5', true],
    ['kimi', 'kimi-k2', true],
    ['claude-opus-4', 'claude-opus-4-latest', true],
    ['claude-opus-4-latest', 'claude-opus-4-1', true],
    ['claude-opus-4-0', 'claude-opus-4-1', false],
    ['claude-opus-4-20250514', 'claude-opus-4-1-20250805', false],
    ['claude-sonnet-4-5', 'claude-haiku-4-5', false],
  ] as const)('of %s and %s may be one of the other: %s', (a, b, confusable) => {
    assert.deepEqual([areConfusable(a, b), areConfusable(b, a)], [confusable, confusable]);
  });
});

it('a batch that runs is charged with its whole sum', () => {
  const { costNanoUsd, usageSource } = worstCaseProgress(TERMS);
  assert.deepEqual([costNanoUsd, usageSource], [77n, 'Estimated']);
});

it('terms of single calls are no terms of a batch', () => {
  const { together: _sum, onlyTier: _tier, ...call } = TERMS.routed.call;
  assert.ok(!isOfBatch(encodeTerms({ ...TERMS, routed: { ...TERMS.routed, call } })));
  assert.ok(!isOfBatch(undefined));
});

it('sums at different prices are rounded once together', () => {
  const other = compilePrice(
    {
      quotaType: 'Token',
      ratioBaseUsdE9: E9,
      modelRatioE9: 0n,
      completionRatioE9: 0n,
      cacheRatioE9: 0n,
      cacheWriteRatioE9: 0n,
      requestNanoUsd: 0n,
      usdPerMillion: { input: 400_000n, output: 0n },
    },
    E9 * E9,
  );
  const tokens = { input: 1, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 };
  const sum = new BillSum();
  // 0.4 each
  for (let count = 0; count < 2; count++) sum.add(other, { tokens, generations: 1 });
  assert.equal(sum.bill.costNanoUsd, 1n);
  // 1.3 more
  sum.add(price, { tokens, generations: 1 });
  assert.equal(sum.bill.costNanoUsd, 2n);
});
