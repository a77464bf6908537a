import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { billedGeneration, generationRate } from '#price/generation.ts';
import type { GenerationAttributes } from '#price/generation.ts';
import { affordableOutputTokens, billOf, costNanoUsd, worstCaseNanoUsd } from '#price/price.ts';
import type { Consumption } from '#price/price.ts';
import { compilePrice, isFree } from '#price/sheet.ts';
import type { CatalogPrice } from '#price/sheet.ts';
import { viewLines } from '#price/bill.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import type { TokenCounts } from '#price/tokens.ts';
import { parseDecimal } from '#snapshot/decimal.ts';

const E9 = 10n ** 9n;

function e9(text: string): bigint {
  const value = parseDecimal(text);
  assert.ok(value !== undefined, text);
  return value;
}

interface TokenRatios {
  readonly model: string;
  readonly completion?: string;
  readonly cache?: string;
  readonly write?: string;
  readonly write1h?: string;
  readonly base?: string;
}

function tokenPrice({
  model,
  completion = '1',
  cache = '1',
  write = '1.25',
  write1h,
  base = '2',
}: TokenRatios): CatalogPrice {
  return {
    quotaType: 'Token',
    ratioBaseUsdE9: e9(base),
    modelRatioE9: e9(model),
    completionRatioE9: e9(completion),
    cacheRatioE9: e9(cache),
    cacheWriteRatioE9: e9(write),
    ...(write1h === undefined ? {} : { cacheWrite1hRatioE9: e9(write1h) }),
    requestNanoUsd: 0n,
  };
}

function requestPrice(usd: string): CatalogPrice {
  return { ...tokenPrice({ model: '7' }), quotaType: 'Request', requestNanoUsd: e9(usd) };
}

function tokens(over: Partial<TokenCounts>): TokenCounts {
  return { ...NO_TOKENS, ...over };
}

const SONNET = tokenPrice({ model: '1.5', completion: '5', cache: '0.1' });

describe('the check values of the contract', () => {
  test('a model of $3/$15 with every cache class costs $0.03375', () => {
    const used = tokens({ input: 1000, cached: 20_000, cacheWrite5m: 3000, cacheWrite1h: 1000, output: 500 });
    assert.equal(costNanoUsd(compilePrice(SONNET, e9('1') * E9), { tokens: used, generations: 0 }), 33_750_000n);
  });

  test('a model of $2.5/$10 at group ratio 0.8, mostly cached, costs $0.0204', () => {
    const price = compilePrice(tokenPrice({ model: '1.25', completion: '4', cache: '0.5' }), e9('0.8') * E9);
    assert.equal(
      costNanoUsd(price, { tokens: tokens({ input: 2000, cached: 10_000, output: 800 }), generations: 0 }),
      20_400_000n,
    );
  });

  test('a request of $0.04 at group ratio 1.5 costs $0.06', () => {
    assert.equal(
      costNanoUsd(compilePrice(requestPrice('0.04'), e9('1.5') * E9), { tokens: NO_TOKENS, generations: 1 }),
      60_000_000n,
    );
  });
});

describe('cost', () => {
  test('list prices come out as the provider prints them', () => {
    const million = 1_000_000;
    const price = compilePrice(SONNET, E9 * E9);
    const cost = (used: Partial<TokenCounts>): bigint => costNanoUsd(price, { tokens: tokens(used), generations: 0 });
    assert.equal(cost({ input: million }), e9('3'));
    assert.equal(cost({ output: million }), e9('15'));
    assert.equal(cost({ cached: million }), e9('0.3'));
    assert.equal(cost({ cacheWrite5m: million }), e9('3.75'));
    assert.equal(cost({ cacheWrite1h: million }), e9('6'));
  });

  test("an automatic group multiplies its ratio with the member's", () => {
    const price = compilePrice(SONNET, e9('0.8') * e9('1.25'));
    assert.deepEqual(price, compilePrice(SONNET, E9 * E9));
  });

  test('the default one-hour ratio is 1.6 of the write ratio, exactly, where billionths do not hold it', () => {
    const price = compilePrice(tokenPrice({ model: '1000', write: '0.000000001' }), E9 * E9);
    // 10¹² tokens · 0.0000000016 · 1000 · $2/10⁶
    assert.equal(costNanoUsd(price, { tokens: tokens({ cacheWrite1h: 10 ** 12 }), generations: 0 }), e9('3.2'));
  });

  test('a given one-hour ratio is used, also when it is 0', () => {
    const million = tokens({ cacheWrite1h: 1_000_000 });
    assert.equal(
      costNanoUsd(compilePrice(tokenPrice({ model: '1', write1h: '0' }), E9 * E9), { tokens: million, generations: 0 }),
      0n,
    );
    assert.equal(
      costNanoUsd(compilePrice(tokenPrice({ model: '1', write1h: '3' }), E9 * E9), { tokens: million, generations: 0 }),
      e9('6'),
    );
  });

  test('it is rounded half up, once per call', () => {
    // half a nano-USD per input token, a quarter per cached one
    const price = compilePrice(tokenPrice({ model: '0.00025', cache: '0.5' }), E9 * E9);
    const cost = (used: Partial<TokenCounts>): bigint => costNanoUsd(price, { tokens: tokens(used), generations: 0 });
    assert.equal(cost({ input: 1 }), 1n);
    assert.equal(cost({ cached: 1 }), 0n);
    assert.equal(cost({ cached: 2 }), 1n);
    assert.equal(cost({ input: 1, cached: 1 }), 1n);
    assert.equal(cost({ input: 2, cached: 2 }), 2n);
    assert.equal(cost({ input: 3 }), 2n);
  });

  test('a price per request ignores tokens and counts generations; a price per token ignores generations', () => {
    const used = tokens({ input: 1_000_000, output: 1_000_000 });
    assert.equal(
      costNanoUsd(compilePrice(requestPrice('0.04'), E9 * E9), { tokens: used, generations: 3 }),
      e9('0.12'),
    );
    assert.equal(costNanoUsd(compilePrice(SONNET, E9 * E9), { tokens: NO_TOKENS, generations: 3 }), 0n);
  });

  test('ratio 0 is free', () => {
    const free = compilePrice(SONNET, 0n);
    assert.equal(costNanoUsd(free, { tokens: tokens({ input: 10 ** 9, output: 10 ** 9 }), generations: 1 }), 0n);
    assert.equal(
      affordableOutputTokens(free, 0n, { inputTokens: 10 ** 9, oneHourCache: true }),
      Number.MAX_SAFE_INTEGER,
    );
  });

  test('the largest figures that the API takes stay exact', () => {
    const most = '9999999999.999999999';
    const price = compilePrice(tokenPrice({ model: most, completion: most, base: most }), e9(most) * e9(most));
    const expected = 7n * e9(most) ** 5n;
    const unit = 10n ** 42n;
    assert.equal(
      costNanoUsd(price, { tokens: tokens({ output: 7 }), generations: 0 }),
      (2n * expected + unit) / (2n * unit),
    );
  });

  test('figures that are no counts neither lower a price nor throw', () => {
    const price = compilePrice(SONNET, E9 * E9);
    const cost = (input: number): bigint =>
      costNanoUsd(price, { tokens: tokens({ input, output: 1 }), generations: 0 });
    assert.equal(cost(-5), cost(0));
    assert.equal(cost(Number.NaN), cost(0));
    assert.equal(cost(1.5), cost(2));
    assert.equal(cost(Number.POSITIVE_INFINITY), cost(Number.MAX_SAFE_INTEGER));
  });
});

const ratio = fc.oneof(
  fc.bigInt({
    min: 0n,
    max: 20n * E9,
  }),
  fc.bigInt({ min: 0n, max: 100n }),
  fc.bigInt({ min: 0n, max: 10n ** 19n - 1n }),
);
const count = fc.oneof(fc.nat({ max: 300_000 }), fc.nat({ max: 3 }));
const anyPrice: fc.Arbitrary<CatalogPrice> = fc.record(
  {
    quotaType: fc.constantFrom('Token', 'Request'),
    ratioBaseUsdE9: ratio,
    modelRatioE9: ratio,
    completionRatioE9: ratio,
    cacheRatioE9: ratio,
    cacheWriteRatioE9: ratio,
    cacheWrite1hRatioE9: ratio,
    requestNanoUsd: ratio,
  },
  {
    requiredKeys: [
      'quotaType',
      'ratioBaseUsdE9',
      'modelRatioE9',
      'completionRatioE9',
      'cacheRatioE9',
      'cacheWriteRatioE9',
      'requestNanoUsd',
    ],
  },
);
const anyTokens: fc.Arbitrary<TokenCounts> = fc.record({
  input: count,
  cached: count,
  cacheWrite5m: count,
  cacheWrite1h: count,
  output: count,
});
const groupRatioE18 = fc.oneof(
  ratio.map((e9) => e9 * E9),
  fc.tuple(ratio, ratio).map(([a, b]) => a * b),
);

/** The documented formula, term by term, on unreduced fractions. */
function formula(
  price: CatalogPrice,
  groupE18: bigint,
  used: TokenCounts,
  generations: number,
): { over: bigint; under: bigint } {
  if (price.quotaType === 'Request')
    return { over: price.requestNanoUsd * BigInt(generations) * groupE18, under: 10n ** 18n };
  const write1h =
    price.cacheWrite1hRatioE9 === undefined
      ? { over: price.cacheWriteRatioE9 * 16n, under: 10n * E9 }
      : { over: price.cacheWrite1hRatioE9, under: E9 };
  const terms = [
    { over: BigInt(used.input), under: 1n },
    { over: BigInt(used.cached) * price.cacheRatioE9, under: E9 },
    { over: BigInt(used.cacheWrite5m) * price.cacheWriteRatioE9, under: E9 },
    { over: BigInt(used.cacheWrite1h) * write1h.over, under: write1h.under },
    { over: BigInt(used.output) * price.completionRatioE9, under: E9 },
  ];
  const sum = terms.reduce((a, b) => ({ over: a.over * b.under + b.over * a.under, under: a.under * b.under }));
  // USD to nano-USD: 10⁹
  return {
    over: sum.over * price.modelRatioE9 * price.ratioBaseUsdE9 * groupE18 * E9,
    under: sum.under * E9 * E9 * 1_000_000n * 10n ** 18n,
  };
}

describe('properties', () => {
  test('cost is the formula, rounded half up', () => {
    fc.assert(
      fc.property(anyPrice, groupRatioE18, anyTokens, fc.nat({ max: 10 }), (price, group, used, generations) => {
        const { over, under } = formula(price, group, used, generations);
        let expected = over / under;
        if ((over % under) * 2n >= under) expected += 1n;
        assert.equal(costNanoUsd(compilePrice(price, group), { tokens: used, generations }), expected);
      }),
      { numRuns: 300 },
    );
  });

  test('cost never falls when more is consumed', () => {
    fc.assert(
      fc.property(anyPrice, groupRatioE18, anyTokens, anyTokens, (price, group, used, more) => {
        const compiled = compilePrice(price, group);
        const sum = {
          input: used.input + more.input,
          cached: used.cached + more.cached,
          cacheWrite5m: used.cacheWrite5m + more.cacheWrite5m,
          cacheWrite1h: used.cacheWrite1h + more.cacheWrite1h,
          output: used.output + more.output,
        };
        assert.ok(
          costNanoUsd(compiled, { tokens: sum, generations: 2 }) >=
            costNanoUsd(compiled, { tokens: used, generations: 1 }),
        );
      }),
      { numRuns: 200 },
    );
  });

  test('the worst case covers every usage within it, however the input splits into classes', () => {
    fc.assert(
      fc.property(anyPrice, groupRatioE18, anyTokens, fc.boolean(), (price, group, split, oneHourCache) => {
        const compiled = compilePrice(price, group);
        const used = oneHourCache ? split : { ...split, cacheWrite1h: 0 };
        const inputTokens = used.input + used.cached + used.cacheWrite5m + used.cacheWrite1h;
        const worst = worstCaseNanoUsd(compiled, {
          inputTokens,
          outputTokens: used.output,
          oneHourCache,
          generations: 2,
        });
        assert.ok(worst >= costNanoUsd(compiled, { tokens: used, generations: 2 }));
        // and it is tight up to its rounding: some split reaches it
        const { perToken } = compiled;
        const classes: (keyof TokenCounts)[] = oneHourCache
          ? ['input', 'cached', 'cacheWrite5m', 'cacheWrite1h']
          : ['input', 'cached', 'cacheWrite5m'];
        const dearest = classes.reduce((a, b) => (perToken[a] >= perToken[b] ? a : b));
        const reached = costNanoUsd(compiled, {
          tokens: tokens({ [dearest]: inputTokens, output: used.output }),
          generations: 2,
        });
        assert.ok(worst - reached <= 1n);
      }),
      { numRuns: 300 },
    );
  });

  test('the affordable output is the largest whose worst case fits', () => {
    fc.assert(
      fc.property(
        anyPrice,
        groupRatioE18,
        fc.record({
          inputTokens: count,
          oneHourCache: fc.boolean(),
        }),
        fc.bigInt({ min: 0n, max: 10n ** 14n }),
        (price, group, { inputTokens, oneHourCache }, budget) => {
          const compiled = compilePrice({ ...price, requestNanoUsd: 0n }, group);
          const worst = (outputTokens: number): bigint =>
            worstCaseNanoUsd(compiled, { inputTokens, outputTokens, oneHourCache, generations: 0 });
          const affordable = affordableOutputTokens(compiled, budget, { inputTokens, oneHourCache });
          if (worst(0) > budget) assert.equal(affordable, 0);
          else assert.ok(worst(affordable) <= budget);
          if (affordable < Number.MAX_SAFE_INTEGER) assert.ok(worst(affordable + 1) > budget);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('figures that numbers cannot hold', () => {
  test('cost what their whole product is', () => {
    const cent = compilePrice(requestPrice('0.01'), E9 * E9);
    for (const generations of [900_719_925, 900_719_926, 450_359_962, 450_359_963, 2 ** 40])
      assert.equal(
        costNanoUsd(cent, { tokens: NO_TOKENS, generations }),
        BigInt(generations) * 10_000_000n,
        `${generations}`,
      );
  });
});

test('a compiled price has integers without zeros that all share', () => {
  const short = compilePrice(requestPrice('0.04'), E9 * E9);
  assert.deepEqual([short.perGeneration, short.denominator], [40_000_000n, 1n]);
  const ratio = compilePrice(tokenPrice({ model: '1.25' }), e9('0.9') * E9);
  assert.ok(ratio.denominator <= 10n ** 6n, String(ratio.denominator));
});

describe('images by size and quality, videos by the second', () => {
  const image = (size: string, quality: string, usd: string): { size: string; quality: string; nanoUsd: bigint } => ({
    size,
    quality,
    nanoUsd: e9(usd),
  });
  const pictures: CatalogPrice = {
    ...requestPrice('0'),
    perImage: [image('1024x1024', 'low', '0.011'), image('1024x1024', 'high', '0.167'), image('1536x1024', '', '0.25')],
  };
  const compiled = compilePrice(pictures, e9('1.5') * E9);
  const bounds = { inputTokens: 0, outputTokens: 0, oneHourCache: false };
  const cost = (consumption: Pick<Consumption, 'generations' | 'made' | 'served'>): bigint =>
    costNanoUsd(compiled, { tokens: NO_TOKENS, ...consumption });

  test('an image of a size and quality costs what its entry says, times n and the group ratio', () => {
    assert.equal(cost({ generations: 3, made: { size: '1024x1024', quality: 'low' } }), e9('0.0495'));
    assert.equal(cost({ generations: 1, made: { size: '1536X1024', quality: 'low' } }), e9('0.375'));
  });

  test('an image whose size or quality the provider chooses holds for the dearest that fits', () => {
    const hold = (made: GenerationAttributes): bigint =>
      worstCaseNanoUsd(compiled, { ...bounds, generations: 2, made });
    assert.equal(hold({}), e9('0.75'));
    assert.equal(hold({ size: '1024x1024' }), e9('0.501'));
    assert.equal(hold({ quality: 'low' }), e9('0.75'));
  });

  test('the size and quality that the answer names are billed; without, the dearest that fits', () => {
    assert.equal(cost({ generations: 1, made: {}, served: { size: '1024x1024', quality: 'low' } }), e9('0.0165'));
    assert.equal(cost({ generations: 1, made: {}, served: {} }), e9('0.375'));
    assert.equal(
      cost({ generations: 1, made: { size: '1024x1024' }, served: { size: '9x9', quality: 'x' } }),
      e9('0.2505'),
    );
  });

  test('an image dearer than the dearest that was asked for costs no more than that', () => {
    const high = { size: '1024x1024', quality: 'high' };
    assert.equal(cost({ generations: 1, made: { size: '1024x1024', quality: 'low' }, served: high }), e9('0.0165'));
    assert.equal(cost({ generations: 1, made: high, served: { size: '1536x1024' } }), e9('0.2505'));
    assert.equal(cost({ generations: 1, made: high, served: { quality: 'low' } }), e9('0.0165'));
  });

  test('the lines name what was billed', () => {
    const { lines } = billOf(compiled, {
      tokens: NO_TOKENS,
      generations: 2,
      made: { size: '1024x1024', quality: 'high' },
    });
    assert.deepEqual(lines, [
      { dimension: 'generation', quantity: 2, rateUsd: '0.2505', size: '1024x1024', quality: 'high' },
    ]);
  });

  test('an entry without size and quality prices every other image, and never one that has an entry', () => {
    const { perImage: rates, denominator } = compilePrice(
      {
        ...pictures,
        perImage: [image('', '', '9'), image('', 'low', '2'), image('1x1', '', '3'), image('1x1', 'low', '1')],
      },
      E9 * E9,
    );
    const usd = (made: GenerationAttributes): bigint => (generationRate(rates, made) ?? 0n) / denominator;
    assert.equal(usd({ size: '1x1', quality: 'low' }), e9('1'));
    assert.equal(usd({ size: '2x2', quality: 'low' }), e9('2'));
    assert.equal(usd({ size: '1x1', quality: 'high' }), e9('3'));
    assert.equal(usd({ size: '2x2', quality: 'high' }), e9('9'));
  });

  test('what no entry fits has no price', () => {
    assert.equal(generationRate(compiled.perImage, { size: '512x512', quality: 'low' }), undefined);
    const ofGoogle = [
      { size: undefined, quality: undefined, rate: 134n },
      { size: '4K', quality: undefined, rate: 240n },
      { size: '1024x1024', quality: undefined, rate: 150n },
    ];
    for (const [size, convertedSize, rate] of [
      ['4096x4096', '4K', 240n],
      ['4k', '4K', 240n],
      ['1024x1024', '1K', 150n],
      ['1536x1024', '1K', 134n],
      ['4096x4096', undefined, 134n],
      [undefined, undefined, 240n],
    ] as const) {
      assert.equal(generationRate(ofGoogle, { size, convertedSize }), rate);
      assert.equal(billedGeneration(ofGoogle, { size, convertedSize }, {})?.rate, rate);
    }
    const [, ofResolution] = ofGoogle;
    assert.ok(ofResolution);
    assert.equal(generationRate([ofResolution], { size: '4096x4096', convertedSize: '4K' }), 240n);
    assert.equal(generationRate([ofResolution], { size: '1024x1024', convertedSize: '1K' }), undefined);
    // what the response names counts
    assert.equal(billedGeneration(ofGoogle, { size: '4096x4096', convertedSize: '4K' }, { size: '1K' })?.rate, 134n);
    assert.equal(generationRate(compiled.perImage, { size: '1024x1024', quality: 'hd' }), undefined);
  });

  test('a second of a video is billed as often as there are seconds and videos', () => {
    const film = compilePrice({ ...requestPrice('0'), perSecondNanoUsd: e9('0.1') }, e9('0.5') * E9);
    assert.equal(worstCaseNanoUsd(film, { ...bounds, generations: 2, made: { seconds: 8 } }), e9('0.8'));
    const bill = billOf(film, { tokens: NO_TOKENS, generations: 2, made: { seconds: 8 }, served: { seconds: 4 } });
    assert.equal(bill.costNanoUsd, e9('0.4'));
    assert.deepEqual(bill.lines, [{ dimension: 'second', quantity: 8, rateUsd: '0.05' }]);
    const longer = { tokens: NO_TOKENS, generations: 2, made: { seconds: 8 }, served: { seconds: 8000 } };
    assert.equal(costNanoUsd(film, longer), e9('0.8'));
    assert.equal(isFree(film), false);
  });

  test('a minute of audio is billed by the second, and no longer than was held', () => {
    const whisper = compilePrice({ ...requestPrice('0'), perMinuteNanoUsd: e9('0.006') }, e9('0.5') * E9);
    // 61 · 0.006 / 60 · 0.5
    assert.equal(worstCaseNanoUsd(whisper, { ...bounds, generations: 1, made: { seconds: 61 } }), e9('0.00305'));
    const bill = billOf(whisper, { tokens: NO_TOKENS, generations: 1, made: { seconds: 61 }, served: { seconds: 8 } });
    assert.equal(bill.costNanoUsd, e9('0.0004'));
    assert.deepEqual(bill.lines, [{ dimension: 'audioSecond', quantity: 8, rateUsd: '0.003' }]);
    assert.deepEqual(
      viewLines(bill.lines).map(({ per, amount_usd }) => [per, amount_usd]),
      [[60, '0.0004']],
    );
    const longer = { tokens: NO_TOKENS, generations: 1, made: { seconds: 61 }, served: { seconds: 8000 } };
    assert.equal(costNanoUsd(whisper, longer), e9('0.00305'));
    assert.equal(isFree(whisper), false);
  });

  test('thirds of a minute are exact until the one rounding, which a hold does upwards', () => {
    // 0.04 an hour, as a minute of nine places: 7 · 0.000666667 / 60 = 0.0000777778166…
    const turbo = compilePrice({ ...requestPrice('0'), perMinuteNanoUsd: e9('0.000666667') }, E9 * E9);
    const bill = billOf(turbo, { tokens: NO_TOKENS, generations: 1, made: { seconds: 7 } });
    assert.equal(bill.costNanoUsd, 77_778n);
    assert.equal(worstCaseNanoUsd(turbo, { ...bounds, generations: 1, made: { seconds: 7 } }), 77_778n);
    assert.equal(worstCaseNanoUsd(turbo, { ...bounds, generations: 1, made: { seconds: 1 } }), 11_112n);
    assert.deepEqual(
      viewLines(bill.lines).map(({ rate_usd, amount_usd }) => [rate_usd, amount_usd]),
      [['0.000666667', '0.0000777778167']],
    );
    // 30 · 0.000666667 / 60 is exactly half of a nano-dollar more than 333,333
    assert.equal(costNanoUsd(turbo, { tokens: NO_TOKENS, generations: 1, made: { seconds: 30 } }), 333_334n);
    assert.deepEqual(
      billOf(compilePrice({ ...requestPrice('0'), perMinuteNanoUsd: e9('6000') }, E9 * E9), {
        tokens: NO_TOKENS,
        generations: 1,
        made: { seconds: 1 },
      }).lines,
      [{ dimension: 'audioSecond', quantity: 1, rateUsd: '6000' }],
    );
  });

  test('a million characters of speech are billed by the character', () => {
    const tts = compilePrice({ ...requestPrice('0'), perMillionCharactersNanoUsd: e9('15') }, e9('1.5') * E9);
    // 4096 · 15 / 10⁶ · 1.5
    assert.equal(worstCaseNanoUsd(tts, { ...bounds, generations: 1, made: { characters: 4096 } }), e9('0.09216'));
    const bill = billOf(tts, { tokens: NO_TOKENS, generations: 1, made: { characters: 1 } });
    assert.equal(bill.costNanoUsd, 22_500n);
    assert.deepEqual(viewLines(bill.lines), [
      {
        dimension: 'character',
        quantity: 1,
        per: 1_000_000,
        rate_usd: '22.5',
        amount_usd: '0.0000225',
        service_tier: null,
        context_above: null,
        region: null,
        model: null,
      },
    ]);
  });

  describe('a second of a video by its size', () => {
    const second = (size: string, usd: string): { size: string; nanoUsd: bigint } => ({ size, nanoUsd: e9(usd) });
    const sized = [second('1280x720', '0.1'), second('1792x1024', '0.3'), second('', '0.5')];
    // the price for proxies that do not know sizes counts for none that does
    const film = compilePrice({ ...requestPrice('0'), perSecond: sized, perSecondNanoUsd: e9('0.5') }, e9('0.5') * E9);
    const listed = compilePrice({ ...requestPrice('0'), perSecond: sized.slice(0, 2) }, E9 * E9);
    const hold = (made: GenerationAttributes, price = film): bigint =>
      worstCaseNanoUsd(price, { ...bounds, generations: 2, made });
    const bill = (made: GenerationAttributes, served: GenerationAttributes): bigint =>
      costNanoUsd(film, { tokens: NO_TOKENS, generations: 2, made, served });

    // two videos of 8 seconds at half the price: 2 · 8 · 0.1 · 0.5, …
    test.each([
      ['a size of the list', { size: '1280x720' }, '0.8'],
      ['a size of the list in another case', { size: '1792X1024' }, '2.4'],
      ['any other size', { size: '720x1280' }, '4'],
      ['a size that nobody names', {}, '4'],
    ])('is held for %s', (_, made, usd) => assert.equal(hold({ ...made, seconds: 8 }), e9(usd)));

    test('holds for the highest of the list where no entry is for other sizes', () => {
      assert.equal(hold({ seconds: 8 }, listed), e9('4.8'));
      assert.equal(generationRate(listed.perSecond ?? [], { size: '720x1280' }), undefined);
    });

    test.each([
      ['what the response names, if it is cheaper', { size: '1792x1024' }, { size: '1280x720' }, '0.8'],
      ['no more than was asked for', { size: '1280x720' }, { size: '1792x1024' }, '0.8'],
      ['what the response names, if nobody asked for a size', {}, { size: '1792x1024' }, '2.4'],
      ['the highest that it can be, if nobody names it', {}, {}, '4'],
      ['fewer seconds at the size that was asked for', { size: '1792x1024' }, { seconds: 4 }, '1.2'],
      ['neither more seconds nor a larger size', { size: '1280x720' }, { seconds: 8000, size: 'x' }, '0.8'],
    ])('is billed for %s', (_, made, served, usd) => {
      assert.equal(bill({ ...made, seconds: 8 }, served), e9(usd));
    });

    test('has a line that names the size of the video, also where an entry for other sizes counts', () => {
      const lines = (made: GenerationAttributes, served: GenerationAttributes) =>
        billOf(film, { tokens: NO_TOKENS, generations: 1, made: { ...made, seconds: 4 }, served }).lines;
      assert.deepEqual(lines({ size: '1792x1024' }, { size: '720x1280' }), [
        { dimension: 'second', quantity: 4, rateUsd: '0.15', size: '1792x1024' },
      ]);
      assert.deepEqual(lines({}, { size: '720x1280' }), [
        { dimension: 'second', quantity: 4, rateUsd: '0.25', size: '720x1280' },
      ]);
      assert.deepEqual(lines({}, {}), [{ dimension: 'second', quantity: 4, rateUsd: '0.25' }]);
    });

    test('is free only if all sizes are', () => {
      assert.equal(isFree(film), false);
      assert.equal(isFree(compilePrice({ ...requestPrice('0'), perSecond: [second('', '0')] }, E9 * E9)), true);
    });
  });

  test('an entry for other images counts for none whose known part has entries for every case', () => {
    const rates = compilePrice(
      {
        ...pictures,
        perImage: [
          image('1024x1024', 'low', '0.011'),
          image('1024x1024', 'high', '0.167'),
          image('1024x1024', '', '0.05'),
          image('', '', '0.25'),
        ],
      },
      E9 * E9,
    );
    const usd = (made: GenerationAttributes): bigint =>
      costNanoUsd(rates, { tokens: NO_TOKENS, generations: 1, made, served: {} });
    assert.equal(usd({ size: '1024x1024' }), e9('0.167'));
    assert.equal(usd({ size: '1024x1024', quality: 'medium' }), e9('0.05'));
    assert.equal(usd({ quality: 'low' }), e9('0.25'));
    assert.equal(usd({}), e9('0.25'));
  });
});
