/** The terms of a job's bill outlive the process that wrote them, and the version of the program. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { deserialize } from 'node:v8';
import { describe, it } from 'vitest';
import { decodeTerms, encodeTerms } from '../../../../dataplane/pipeline/billing-terms.ts';
import { progressOf } from '../../../../dataplane/pipeline/consumption.ts';
import type { BillingTerms } from '../../../../dataplane/pipeline/consumption.ts';
import { compilePrice } from '#price/sheet.ts';

/** Written by the first version; a change of the shape needs another version, and this one stays readable. */
const STORED = new URL('../testdata/billing-terms-1.txt', import.meta.url);
const ONE_E18 = 10n ** 18n;

const price = compilePrice(
  {
    quotaType: 'Token',
    modelRatioE9: 0n,
    completionRatioE9: 0n,
    cacheRatioE9: 0n,
    cacheWriteRatioE9: 0n,
    requestNanoUsd: 0n,
    ratioBaseUsdE9: 2_000_000_000n,
    usdPerMillion: {
      input: 3_000_000_000n,
      output: 15_000_000_000n,
      reasoning: 20_000_000_000n,
      imageInput: 5_000_000_000n,
    },
    contextTiers: [
      {
        above: 1_000,
        usdPerMillion: undefined,
        inputMultiplierE9: 2_000_000_000n,
        outputMultiplierE9: 1_500_000_000n,
      },
    ],
    serviceTiers: [{ name: 'priority', usdPerMillion: undefined, multiplierE9: 2_000_000_000n, contextTiers: [] }],
    regions: [{ name: 'us', multiplierE9: 1_100_000_000n }],
  },
  ONE_E18,
);

const TERMS: BillingTerms = {
  bounds: {
    price,
    requestTokens: 2_000,
    inputTokens: 2_000,
    estimatedInputTokens: 1_500,
    reach: {
      oneHourCache: false,
      serviceTiers: ['standard', 'priority'],
      regions: ['us'],
      modalities: [],
      uses: {},
      requests: 1,
    },
  },
  outputLimit: 500,
  candidate: {
    clientDisconnect: 'Cancel',
    onTimeout: 'BillNothing',
    upstreamModel: 'gpt-5',
    model: { reasoning: 'Auto' },
    cost: undefined,
    costOf: () => undefined,
    priceOf: () => undefined,
  },
  routed: {
    call: {
      output: { maxTokens: 500, answers: 1, predictionTokens: 0, thinkingBudget: undefined, fixed: false },
      generations: 1,
      serviceTier: 'priority',
      region: 'us',
      modalities: ['imageInput'],
      stream: false,
      asksForReasoning: true,
      unbounded: () => false,
    },
    offer: { quotaType: 'Token' },
  },
};

function costBy(terms: BillingTerms | undefined): bigint {
  assert.ok(terms);
  const reported = {
    input: 1_200,
    cached: 0,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    output: 100,
    details: { reasoning: 60, imageInput: 200 },
    serviceTier: 'priority',
    region: 'us',
  };
  return progressOf(
    {
      meter: { reported, final: true, outputBytes: 10 },
      sent: true,
      produced: true,
      holdLost: false,
      timedOut: false,
      countedOutput: undefined,
    },
    terms,
    'Succeeded',
  ).costNanoUsd;
}

/** The value with all integers of prices alike. */
function shapeOf(value: unknown): unknown {
  if (typeof value === 'bigint') return 'an integer';
  if (value instanceof Map) return new Map([...value].map(([key, each]) => [key, shapeOf(each)]));
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null || value instanceof Set) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shapeOf(each)]));
}

describe('the terms of a bill', () => {
  // ((1000 · 3 + 200 · 5) · 2 + (40 · 15 + 60 · 20) · 1.5) · 2 · 1.1 USD per million
  const cost = 23_540_000n;

  it('give the same cost after they were stored', () => {
    assert.equal(costBy(TERMS), cost);
    assert.equal(costBy(decodeTerms(encodeTerms(TERMS))), cost);
  });
  it('of the first version are still read, and still written', () => {
    const stored = readFileSync(STORED, 'utf8').trim();
    assert.equal(costBy(decodeTerms(stored)), cost);
    const valueOf = (text: string): unknown => deserialize(Buffer.from(text.slice('1:'.length), 'base64'));
    // a price may be over another denominator, which its cost does not show
    assert.deepEqual(shapeOf(valueOf(encodeTerms(TERMS))), shapeOf(valueOf(stored)));
  });
  it('have the price and the cost at the provider as they were compiled', () => {
    const { bounds, candidate } = TERMS;
    const decoded = decodeTerms(encodeTerms({ ...TERMS, candidate: { ...candidate, cost: price } }));
    assert.deepEqual([decoded?.bounds.price, decoded?.candidate.cost], [bounds.price, price]);
  });
  it('of another version, or damaged, are not', () => {
    for (const text of ['', '2:AAAA', '1:', '1:AAAA', `1:${Buffer.from('nothing').toString('base64')}`])
      assert.equal(decodeTerms(text), undefined, text);
  });
});
