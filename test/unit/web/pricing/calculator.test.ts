import assert from 'node:assert/strict';
import { Script } from 'node:vm';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { costNanoUsd } from '#price/price.ts';
import type { TokenDetails } from '#price/price.ts';
import { compilePrice } from '#price/sheet.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import type { TokenCounts } from '#price/tokens.ts';
import { ONE_E9 } from '#snapshot/decimal.ts';
import { COUNT_NAMES, countsOf, parseCalculation, parseCount, resolveCalculation } from '#web/pricing/calculation.ts';
import { offeredFigures } from '#web/pricing/dollars.ts';
import { withPriceFunctions } from '#web/pricing/calculator-script.ts';
import { amountOf, estimate, flatPrices } from '#web/pricing/estimate.ts';
import type { Counts } from '#web/pricing/estimate.ts';
import type { DetailClass } from '#web/pricing/price-list.ts';
import { renderCalculationPart, renderPrices } from '#web/pricing/prices.ts';
import { parsePricingQuery } from '#web/pricing/query.ts';
import { REALISTIC, sampleState } from '../../dataplane/server/pricing/sample.ts';
import { pageMarkup } from '../../../support/page-markup.ts';
import { pattern } from '../../../support/pattern.ts';

const state = sampleState(REALISTIC);

function page(search: string): string {
  const query = parsePricingQuery(new URLSearchParams(search), state.pricing);
  return pageMarkup(renderPrices(state, query, { modelRoot: '' }).markup);
}

function part(search: string): string {
  const query = parsePricingQuery(new URLSearchParams(search), state.pricing);
  return pageMarkup(renderCalculationPart(state, query)?.markup ?? '');
}

function textOf(markup: string): string {
  return markup
    .replace(/<span data-term="\w+" hidden>.*?<\/span>.*?<\/span>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}

function sumOf(markup: string): string {
  return /data-sum>([^<]*)</.exec(markup)?.[1] ?? '';
}

describe('what a call costs', () => {
  const ratio = fc.bigInt(0n, 10n ** 12n);
  const optional = fc.option(ratio, { nil: undefined });
  const rates = fc.record({
    input: ratio,
    output: optional,
    cacheRead: optional,
    cacheWrite5m: optional,
    cacheWrite1h: optional,
    reasoning: optional,
    audioInput: optional,
    audioOutput: optional,
    imageInput: optional,
    imageOutput: optional,
  });
  const contextTiers = fc.uniqueArray(
    fc.record({
      above: fc.constantFrom(10_000, 200_000, 10 ** 12),
      usdPerMillion: fc.option(rates, { nil: undefined }),
      inputMultiplierE9: optional,
      outputMultiplierE9: optional,
    }),
    { selector: ({ above }) => above, maxLength: 3 },
  );
  const tokenPrice = fc.record({
    quotaType: fc.constant('Token' as const),
    ratioBaseUsdE9: ratio,
    modelRatioE9: ratio,
    completionRatioE9: ratio,
    cacheRatioE9: ratio,
    cacheWriteRatioE9: ratio,
    cacheWrite1hRatioE9: optional,
    requestNanoUsd: fc.constant(0n),
    usdPerMillion: fc.option(rates, { nil: undefined }),
    contextTiers,
    serviceTiers: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('standard', 'priority', 'flex'),
        multiplierE9: optional,
        usdPerMillion: fc.option(rates, { nil: undefined }),
        contextTiers,
      }),
      { selector: ({ name }) => name },
    ),
    regions: fc.uniqueArray(fc.record({ name: fc.constantFrom('eu', 'us'), multiplierE9: ratio }), {
      selector: ({ name }) => name,
    }),
    perUse: fc.option(
      fc.record({
        webSearchNanoUsd: optional,
        webFetchNanoUsd: optional,
        fileSearchNanoUsd: optional,
      }),
      { nil: undefined },
    ),
  });
  const requestPrice = fc
    .record({
      quotaType: fc.constant('Request' as const),
      ratioBaseUsdE9: ratio,
      modelRatioE9: fc.constant(0n),
      completionRatioE9: fc.constant(0n),
      cacheRatioE9: fc.constant(0n),
      cacheWriteRatioE9: fc.constant(0n),
      requestNanoUsd: ratio,
      perSecondNanoUsd: optional,
      perSecond: fc.uniqueArray(fc.record({ size: fc.constantFrom('', '1280x720', '1792x1024'), nanoUsd: ratio }), {
        selector: ({ size }) => size,
      }),
      perImage: fc.uniqueArray(
        fc.record({
          size: fc.constantFrom('', '1024x1024', '1536x1024'),
          quality: fc.constantFrom('', 'low', 'high'),
          nanoUsd: ratio,
        }),
        { selector: ({ size, quality }) => `${size} ${quality}`, maxLength: 4 },
      ),
    })
    .filter(
      ({ perSecond, perSecondNanoUsd, perImage }) =>
        perImage.length === 0 || (perSecondNanoUsd === undefined && perSecond.length === 0),
    );
  const count = fc.integer({ min: 0, max: 10 ** 12 });
  const tokens = fc.record({ input: count, cached: count, cacheWrite5m: count, cacheWrite1h: count, output: count });
  const details = fc.record({
    imageInput: count,
    audioInput: count,
    reasoning: count,
    imageOutput: count,
    audioOutput: count,
  });
  const uses = fc.record({ webSearch: count, webFetch: count, fileSearch: count });
  const ANY = { tier: '', region: '', image: undefined };

  /** The fields of the calculator hold parts of the input and of the output; records hold the sums, parts included. */
  function consumed(
    typed: Readonly<Record<keyof TokenCounts, number>>,
    parts: Readonly<Record<DetailClass, number>>,
  ): { readonly tokens: TokenCounts; readonly details: TokenDetails } {
    return {
      details: parts,
      tokens: {
        ...typed,
        input: typed.input + parts.imageInput + parts.audioInput,
        output: typed.output + parts.reasoning + parts.imageOutput + parts.audioOutput,
      },
    };
  }

  function counted(...typed: readonly Readonly<Record<string, number>>[]): Counts {
    return Object.fromEntries(
      typed.flatMap((some) => Object.entries(some)).map(([name, value]) => [name, BigInt(value)]),
    );
  }

  test('is what the gateway bills for tokens, in any tier, region and class, and for uses of tools', () => {
    fc.assert(
      fc.property(
        fc.record({
          price: tokenPrice,
          groupRatioE9: ratio,
          channelE9: optional,
          tier: fc.constantFrom('', 'priority', 'flex'),
          region: fc.constantFrom('', 'eu', 'us'),
        }),
        tokens,
        details,
        uses,
        ({ price, groupRatioE9, channelE9, tier, region }, typed, parts, used) => {
          const compiled = compilePrice(price, groupRatioE9 * ONE_E9, channelE9);
          const counts = counted(typed, parts, used);
          const { low, high } = estimate(flatPrices([compiled], { tier, region, image: undefined }, counts), counts);
          assert.equal(
            low,
            costNanoUsd(compiled, {
              ...consumed(typed, parts),
              generations: 0,
              uses: used,
              ...(tier !== '' && { serviceTiers: [tier] }),
              ...(region !== '' && { regions: [region] }),
            }),
          );
          assert.equal(high, low);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('is what the gateway bills for images of a size and quality, for seconds, and for requests', () => {
    fc.assert(
      fc.property(requestPrice, ratio, count, fc.nat(3), (price, groupRatioE9, generations, chosen) => {
        const compiled = compilePrice(price, groupRatioE9 * ONE_E9);
        const { perImage, perSecond } = compiled;
        const sized = perSecond ?? perImage;
        const image = sized.length === 0 ? undefined : chosen % sized.length;
        // an entry of any size or quality is chosen for those that no other entry names
        const { size = '512x512', quality = 'medium' } = sized[image ?? 0] ?? {};
        const counts = counted({ generations });
        const bill = costNanoUsd(
          compiled,
          perSecond === undefined
            ? { tokens: NO_TOKENS, generations, made: { size, quality } }
            : { tokens: NO_TOKENS, generations: 1, made: { seconds: generations, size } },
        );
        assert.equal(estimate(flatPrices([compiled], { ...ANY, image }, counts), counts).low, bill);
      }),
      { numRuns: 500 },
    );
  });

  test('is what the gateway bills for seconds and characters of audio', () => {
    const nanoUsd = fc.oneof(fc.record({ perMinuteNanoUsd: ratio }), fc.record({ perMillionCharactersNanoUsd: ratio }));
    fc.assert(
      fc.property(requestPrice, nanoUsd, ratio, count, (price, audio, groupRatioE9, units) => {
        const alone = { ...price, requestNanoUsd: 0n, perSecondNanoUsd: undefined, perSecond: [], perImage: [] };
        const compiled = compilePrice({ ...alone, ...audio }, groupRatioE9 * ONE_E9);
        const counts = counted({ generations: units });
        const bill = costNanoUsd(compiled, {
          tokens: NO_TOKENS,
          generations: 1,
          made: { seconds: units, characters: units },
        });
        assert.equal(estimate(flatPrices([compiled], ANY, counts), counts).low, bill);
      }),
      { numRuns: 200 },
    );
  });

  test('is computed in browsers by the same functions', () => {
    const script = new Script(
      withPriceFunctions('result.cost = roundHalfUp(sumOf(price.rates, counts), price.denominator);\n'),
    );
    fc.assert(
      fc.property(tokenPrice, tokens, details, uses, (price, ...typed) => {
        const compiled = compilePrice(price, ONE_E9 * ONE_E9);
        const counts = counted(...typed);
        const flat = flatPrices([compiled], ANY, counts);
        const result: { cost?: bigint } = {};
        script.runInNewContext({ price: flat[0], counts, result });
        assert.equal(result.cost, estimate(flat, counts).low);
      }),
      { numRuns: 50 },
    );
  });

  test('has parts that add up to it', () => {
    fc.assert(
      fc.property(tokenPrice, tokens, details, uses, (price, ...typed) => {
        const compiled = compilePrice(price, ONE_E9 * ONE_E9);
        const counts = counted(...typed);
        const flat = flatPrices([compiled], ANY, counts);
        const parts = COUNT_NAMES.reduce(
          (sum, name) => sum + amountOf(flat, name, counts[name] ?? 0n).low.numerator,
          0n,
        );
        assert.equal((2n * parts + compiled.denominator) / (2n * compiled.denominator), estimate(flat, counts).low);
      }),
    );
  });

  test('where members of a group differ is a range', () => {
    const offer = state.groups.get('smart')?.offers.get('claude-sonnet-4-5');
    assert.ok(offer);
    const counts = { input: 1000n, cached: 20_000n, cacheWrite5m: 3000n, cacheWrite1h: 1000n, output: 500n };
    const { low, high } = estimate(flatPrices(offeredFigures(offer), ANY, counts), counts);
    assert.deepEqual([low, high], [33_750_000n, 50_625_000n]);
  });
});

describe('the calculator', () => {
  test("works out the contract's examples", () => {
    assert.equal(
      sumOf(part('calc=claude-sonnet-4-5&input=1000&cached=20000&write5m=3000&write1h=1000&output=500')),
      '$0.03375',
    );
    assert.equal(sumOf(part('calc=flux-1.1-pro&at=vip&n=1')), '$0.06');
    assert.equal(sumOf(part('calc=gpt-4o-mini&at=budget&input=2,000&cached=10 000&output=800')), '$0.001224');
  });

  test('takes what is left out beside other counts as none, and all left out as its example', () => {
    assert.equal(sumOf(part('calc=claude-sonnet-4-5&output=1000')), '$0.015');
    assert.equal(sumOf(part('calc=claude-sonnet-4-5')), '$0.021');
    assert.equal(sumOf(part('calc=claude-sonnet-4-5&n=3')), '$0.021');
    assert.equal(sumOf(part('calc=flux-1.1-pro&output=3')), '$0.04');
  });

  test('says the sum in words, without what is not there', () => {
    const words = textOf(
      /<p class="formula">.*<\/p>/s.exec(
        part('calc=claude-sonnet-4-5&at=vip&input=2000&cached=10000&output=800'),
      )?.[0] ?? '',
    );
    assert.match(
      words,
      pattern(
        /\( 2,000 input \+ 10,000 cached × 0\.1 \+ 800 output × 5 \)/,
        / × model ratio 1\.5 × \$2 ÷ 1,000,000 × group ratio 1\.5/,
      ),
    );
    assert.doesNotMatch(words, /written/);
    assert.match(part('calc=claude-sonnet-4-5&at=smart'), /the ratio of the member that serves the call/);
    assert.match(textOf(part('calc=sora-2&n=3')), /3 × \$0\.80 × group ratio 1/);
  });

  test('asks for what the model is priced by', () => {
    const [token, request] = [page('calc=gpt-5'), page('calc=sora-2')];
    assert.match(token, /name="input"/);
    assert.doesNotMatch(token, /name="n"/);
    assert.match(request, /name="n"/);
    assert.doesNotMatch(request, /name="input"/);
    assert.deepEqual(
      state.pricing.rows.filter(({ quotaType }) => quotaType === 'Request').map((row) => countsOf(row).join()),
      ['generations', 'generations', 'generations', 'generations'],
    );
  });

  test('keeps what was typed, and says what is wrong with it', () => {
    const markup = page('calc=gpt-5&input=abc&output=-1&cached=1e3');
    assert.match(markup, /value="abc"[^>]* aria-invalid="true"><p class="fault" id="calc-input-fault">/);
    assert.equal(markup.match(/aria-invalid="true"/g)?.length, 3);
    assert.equal(sumOf(markup), '—');
    assert.match(page('calc=gpt-5&input="><script>'), /value="&quot;&gt;&lt;script&gt;"/);
  });

  test('says so where a group does not offer the model', () => {
    assert.match(textOf(part('calc=sora-2&at=vip')), /VIP does not offer sora-2/);
  });

  test("goes on where a model or group is gone, and begins with the list's group", () => {
    const query = parsePricingQuery(new URLSearchParams('calc=gone&at=gone&group=vip'), state.pricing);
    const example = state.pricing.rows.find(({ modelName }) => modelName === 'gpt-5');
    assert.equal(resolveCalculation(state, query.calculation, query.group, example)?.row.modelName, 'gpt-5');
    assert.equal(resolveCalculation(state, query.calculation, query.group, example)?.group, '');
    assert.equal(resolveCalculation(state, undefined, 'vip', example)?.group, 'vip');
    assert.equal(resolveCalculation(sampleState({}), undefined, undefined, undefined), undefined);
    assert.equal(parseCalculation(new URLSearchParams('q=x')), undefined);
  });

  test("keeps the list's view", () => {
    const markup = page('calc=gpt-5&q=gpt&vendor=OpenAI&type=token&group=vip&sort=-model');
    for (const [name, value] of [
      ['q', 'gpt'],
      ['vendor', 'OpenAI'],
      ['type', 'token'],
      ['group', 'vip'],
      ['sort', '-model'],
    ] as const)
      assert.ok(markup.includes(`<input type="hidden" name="${name}" value="${value}">`), name);
  });

  test('reads counts as people write them, and nothing else', () => {
    const counts: readonly (readonly [string, bigint])[] = [
      ['', 0n],
      ['12,000', 12_000n],
      ['12 000', 12_000n],
      ['1_000', 1000n],
      ["1'000", 1000n],
      ['999999999999999', 999_999_999_999_999n],
    ];
    for (const [typed, expected] of counts) assert.equal(parseCount(typed), expected, typed);
    for (const typed of ['-1', '1.5', '1e3', 'x', '0x10', '1000000000000000', '١٢'])
      assert.equal(parseCount(typed), undefined, typed);
  });
});
