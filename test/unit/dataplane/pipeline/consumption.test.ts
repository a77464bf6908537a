/** Whatever a provider reports, a call costs no more than what was held for it. */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { worstCaseNanoUsd } from '#price/price.ts';
import type { ConsumptionBounds } from '#price/price.ts';
import { compilePrice } from '#price/sheet.ts';
import type { CallProgress } from '#usage/record.ts';
import type { BillLine } from '#price/bill.ts';
import { progressOf } from '../../../../dataplane/pipeline/consumption.ts';
import type { BillingTerms } from '../../../../dataplane/pipeline/consumption.ts';
import { modalitiesOf } from '../../../../dataplane/pipeline/endpoints/conversation.ts';
import { readChatFacts } from '../../../../dataplane/protocol/openai/facts.ts';
import type { Meter, ReportedUsage } from '../../../../dataplane/protocol/converter.ts';
import { UNREPORTED_USAGE } from '../../../../dataplane/protocol/usage.ts';

const E9 = 10n ** 9n;
const CONTEXT = 6000;
const OUTPUT = 100;
/** $1 in and $2 out per million; ten times as much where no request can be. */
const price = compilePrice(
  {
    quotaType: 'Token',
    ratioBaseUsdE9: E9,
    modelRatioE9: 0n,
    completionRatioE9: 0n,
    cacheRatioE9: 0n,
    cacheWriteRatioE9: 0n,
    requestNanoUsd: 0n,
    usdPerMillion: {
      input: E9,
      output: 2n * E9,
      cacheRead: E9,
      cacheWrite5m: E9,
      cacheWrite1h: E9,
      imageInput: 3n * E9,
      audioInput: 40n * E9,
      audioOutput: 80n * E9,
    },
    contextTiers: [
      {
        above: CONTEXT,
        usdPerMillion: undefined,
        inputMultiplierE9: 10n * E9,
        outputMultiplierE9: 10n * E9,
      },
    ],
  },
  E9 * E9,
);

interface Call extends Pick<ConsumptionBounds, 'modalities'> {
  readonly requests?: number;
  readonly hidesReasoning?: boolean;
}

function held({ modalities, requests }: Call): bigint {
  return worstCaseNanoUsd(price, {
    inputTokens: CONTEXT,
    outputTokens: OUTPUT,
    oneHourCache: false,
    generations: 1,
    modalities,
    requests,
  });
}

function billed(call: Call, reported: Partial<ReportedUsage>, seen: Partial<Meter> = {}): CallProgress {
  const { modalities, requests = 1, hidesReasoning = false } = call;
  const terms = {
    outputLimit: OUTPUT,
    bounds: {
      price,
      requestTokens: CONTEXT,
      inputTokens: CONTEXT * requests,
      estimatedInputTokens: 10,
      reach: { oneHourCache: false, modalities, requests },
    },
    candidate: {
      upstreamModel: 'm',
      model: { reasoning: hidesReasoning ? 'Hidden' : 'Shown' },
      clientDisconnect: 'Cancel',
      priceOf: () => undefined,
    },
    routed: {
      call: {
        generations: 1,
        unbounded: () => false,
        output: { answers: 1, predictionTokens: 0 },
        modalities,
        stream: true,
      },
      offer: { quotaType: 'Token' },
    },
  } as unknown as BillingTerms;
  return progressOf(
    {
      meter: { final: true, outputBytes: 0, ...seen, reported: { ...UNREPORTED_USAGE, ...reported } },
      sent: true,
      produced: true,
      holdLost: false,
      timedOut: false,
      countedOutput: undefined,
    },
    terms,
    seen.final === false ? 'ClientClosed' : 'Succeeded',
  );
}

function named({ lines = [] }: CallProgress): readonly (readonly [string, number, string])[] {
  return lines.map(({ dimension, quantity, rateUsd }: BillLine) => [dimension, quantity, rateUsd] as const);
}

describe('a call costs no more than its hold', () => {
  test('of several requests that the provider does not list, none is above the context', () => {
    const searching = { requests: 3 };
    const bill = billed(searching, { input: 3 * CONTEXT, output: OUTPUT });
    assert.deepEqual(named(bill), [
      ['input', 3 * CONTEXT, '1'],
      ['output', OUTPUT, '2'],
    ]);
    assert.equal(bill.costNanoUsd, held(searching));
  });

  test('tokens of a modality that the request neither has nor asks for are plain ones', () => {
    const details = { imageInput: 1000, audioInput: 2000, audioOutput: 50 };
    const bill = billed({}, { input: CONTEXT, output: OUTPUT, details });
    assert.deepEqual(named(bill), [
      ['input', CONTEXT, '1'],
      ['output', OUTPUT, '2'],
    ]);
    assert.ok(bill.costNanoUsd <= held({}));
  });

  test('tokens of the modalities that it has or asks for have their own rates', () => {
    const call: Call = { modalities: ['imageInput', 'audioInput', 'audioOutput'] };
    const bill = billed(call, {
      input: CONTEXT,
      output: OUTPUT,
      details: { imageInput: 1000, audioInput: 2000, audioOutput: 50 },
    });
    assert.deepEqual(named(bill), [
      ['imageInput', 1000, '3'],
      ['audioInput', 2000, '40'],
      ['input', 3000, '1'],
      ['audioOutput', 50, '80'],
      ['output', 50, '2'],
    ]);
    assert.ok(bill.costNanoUsd <= held(call));
  });

  test('with hidden reasoning and its client gone, whatever its input is said to be', () => {
    const call = { hidesReasoning: true, requests: 2 };
    const bill = billed(
      call,
      {
        input: 9 * CONTEXT,
        output: 1,
        parts: [{ ...UNREPORTED_USAGE, input: 9 * CONTEXT, output: 1 }],
      },
      { final: false },
    );
    assert.equal(bill.costNanoUsd, held(call));
  });
});

test('a call that breaks off after it listed requests is billed for the output that was seen', () => {
  const parts = [
    { ...UNREPORTED_USAGE, input: 1000, output: 1 },
    { ...UNREPORTED_USAGE, input: 2000, output: 20 },
  ];
  const bill = billed({ requests: 2 }, { input: 3000, output: 21, parts }, { final: false, outputBytes: 240 });
  assert.equal(bill.tokens.output, 60);
  assert.deepEqual(named(bill), [
    ['input', 3000, '1'],
    ['output', 60, '2'],
  ]);
});

test('a file may be a video with sound: the hold covers images and audio', () => {
  const body = {
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'data:video/mp4;base64,AAAA' } }] }],
  };
  const facts = readChatFacts(Buffer.from(JSON.stringify(body)), body);
  assert.deepEqual(modalitiesOf(facts), ['imageInput', 'audioInput']);
});

test('an image dearer than what was asked for costs the platform what it costs', () => {
  const sized = compilePrice(
    {
      quotaType: 'Request',
      modelRatioE9: 0n,
      completionRatioE9: 0n,
      cacheRatioE9: 0n,
      cacheWriteRatioE9: 0n,
      requestNanoUsd: 0n,
      ratioBaseUsdE9: 0n,
      perImage: [
        { size: '', quality: 'low', nanoUsd: 10n },
        { size: '', quality: 'high', nanoUsd: 70n },
      ],
    },
    E9 * E9,
  );
  const terms = {
    outputLimit: 0,
    bounds: { price: sized, reach: {} },
    candidate: { cost: sized, priceOf: () => undefined, costOf: () => undefined },
    routed: {
      call: { generations: 1, made: { quality: 'low' }, unbounded: () => false, output: undefined },
      offer: { quotaType: 'Request' },
    },
  } as unknown as BillingTerms;
  const { costNanoUsd, upstreamCostNanoUsd } = progressOf(
    {
      meter: { final: true, outputBytes: 0, reported: UNREPORTED_USAGE, images: 1, served: { quality: 'high' } },
      sent: true,
      produced: true,
      holdLost: false,
      timedOut: false,
      countedOutput: undefined,
    },
    terms,
    'Succeeded',
  );
  assert.deepEqual([costNanoUsd, upstreamCostNanoUsd], [10n, 70n]);
});

test('images that did not come are not billed, unless the client left', () => {
  const flat = compilePrice(
    {
      quotaType: 'Request',
      modelRatioE9: 0n,
      completionRatioE9: 0n,
      cacheRatioE9: 0n,
      cacheWriteRatioE9: 0n,
      requestNanoUsd: 10n,
      ratioBaseUsdE9: 0n,
    },
    E9 * E9,
  );
  const terms = {
    outputLimit: 0,
    bounds: { price: flat, reach: {} },
    candidate: { priceOf: () => undefined, costOf: () => undefined, clientDisconnect: 'Drain' },
    routed: {
      call: { generations: 4, unbounded: () => false, output: undefined },
      offer: { quotaType: 'Request' },
    },
  } as unknown as BillingTerms;
  const cost = (images: number, status: 'Succeeded' | 'ProviderCut' | 'ClientClosed'): bigint =>
    progressOf(
      {
        meter: { final: false, outputBytes: 0, reported: UNREPORTED_USAGE, images },
        sent: true,
        produced: true,
        holdLost: false,
        timedOut: false,
        countedOutput: undefined,
      },
      terms,
      status,
    ).costNanoUsd;
  assert.deepEqual(
    [0, 1, 4, 8].map((images) => cost(images, 'Succeeded')),
    [0n, 10n, 40n, 40n],
  );
  assert.deepEqual(
    [0, 1].map((images) => cost(images, 'ProviderCut')),
    [0n, 10n],
  );
  assert.equal(cost(1, 'ClientClosed'), 40n);
});
