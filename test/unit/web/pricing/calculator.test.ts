import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { costNanoUsd } from '#ledger/price.ts';
import { compilePrice } from '#ledger/price-sheet.ts';
import { ONE_E9 } from '#snapshot/decimal.ts';
import { countsOf, parseCalculation, parseCount, resolveCalculation } from '#web/pricing/calculation.ts';
import { amountOf, baseFigures, estimate, offeredFigures } from '#web/pricing/estimate.ts';
import type { Counts } from '#web/pricing/estimate.ts';
import type { PricingRow } from '#web/pricing/price-list.ts';
import { renderCalculationPart, renderPrices } from '#web/pricing/prices.ts';
import { parsePricingQuery } from '#web/pricing/query.ts';
import { REALISTIC, sampleState } from '../../dataplane/pricing/sample.ts';
import { pattern } from '../../../support/pattern.ts';

const state = sampleState(REALISTIC);

function page(search: string): string {
  return renderPrices(state, parsePricingQuery(new URLSearchParams(search), state.pricing), { modelRoot: '' }).markup;
}

function part(search: string): string {
  return renderCalculationPart(state, parsePricingQuery(new URLSearchParams(search), state.pricing))?.markup ?? '';
}

function textOf(markup: string): string {
  return markup.replace(/<span data-term="\w+" hidden>.*?<\/span>.*?<\/span>/gs, '').replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}

function sumOf(markup: string): string {
  return /data-sum>([^<]*)</.exec(markup)?.[1] ?? '';
}

describe('what a call costs', () => {
  const ratio = fc.bigInt(0n, 10n ** 19n - 1n);
  const count = fc.integer({ min: 0, max: 10 ** 12 });
  const tokens = fc.record({ input: count, cached: count, cacheWrite5m: count, cacheWrite1h: count, output: count });
  const price = fc.record({
    ratioBaseUsdE9: ratio, modelRatioE9: ratio, completionRatioE9: ratio, cacheRatioE9: ratio, cacheWriteRatioE9: ratio,
    cacheWrite1hRatioE9: fc.option(ratio, { nil: undefined }), requestNanoUsd: ratio,
  });
  const counted = (consumed: Record<string, number>, generations: number): Counts => ({
    ...Object.fromEntries(Object.entries(consumed).map(([name, value]) => [name, BigInt(value)])), generations:
      BigInt(generations),
  }) as Counts;

  test('is what the ledger bills, for any price, group and tokens', () => {
    fc.assert(fc.property(fc.record({
      figures: price, quotaType: fc.constantFrom('Token', 'Request'), groupRatioE9: ratio,
    }), tokens, count, ({ figures, quotaType, groupRatioE9 }, consumed, generations) => {
      const { cacheWrite1hRatioE9, ...rest } = figures;
      const compiled = compilePrice({
        ...rest, quotaType, ...(cacheWrite1hRatioE9 === undefined ? {} : { cacheWrite1hRatioE9 }),
      }, groupRatioE9 * ONE_E9);
      const { low, high } = estimate([compiled], counted(consumed, generations));
      assert.equal(low, costNanoUsd(compiled, { tokens: consumed, generations }));
      assert.equal(high, low);
    }));
  });

  test('at base prices is what a group of ratio 1 pays', () => {
    fc.assert(fc.property(price, fc.constantFrom('Token', 'Request'), tokens, count, (
      figures, quotaType, consumed, generations,
    ) => {
      const { cacheWrite1hRatioE9, ratioBaseUsdE9, ...rest } = figures;
      const row: PricingRow = {
        ...rest, modelName: 'm', vendor: 'v', quotaType, ratioBaseE9: ratioBaseUsdE9, enabledGroups: [],
        facts: undefined, figures: undefined, dimensions: {
          usdPerMillion: undefined, contextTiers: [], serviceTiers: [], perUse: undefined, regions: [], perImage: [],
        }, stated: { output: true, cache: true, cacheWrite5m: true, cacheWrite1h: true },
        cacheWrite1hRatioE10:
          cacheWrite1hRatioE9 === undefined ? rest.cacheWriteRatioE9 * 16n : cacheWrite1hRatioE9 * 10n,
      };
      const compiled = compilePrice({
        ...rest, quotaType, ratioBaseUsdE9, ...(cacheWrite1hRatioE9 === undefined ? {} : { cacheWrite1hRatioE9 }),
      }, ONE_E9 * ONE_E9);
      assert.equal(estimate(baseFigures(row), counted(consumed, generations)).low, costNanoUsd(
        compiled, { tokens: consumed, generations },
      ));
    }));
  });

  test('has parts that add up to it', () => {
    fc.assert(fc.property(price, tokens, (figures, consumed) => {
      const { cacheWrite1hRatioE9: _, ...rest } = figures;
      const compiled = compilePrice({ ...rest, quotaType: 'Token' }, ONE_E9 * ONE_E9);
      const counts = counted(consumed, 0);
      const parts = (['input', 'cached', 'cacheWrite5m', 'cacheWrite1h', 'output'] as const).reduce((sum, name) => sum +
        amountOf([compiled], name, counts[name]).low.numerator, 0n);
      assert.equal((2n * parts + compiled.denominator) / (2n * compiled.denominator), estimate([compiled], counts).low);
    }));
  });

  test('where members of a group differ is a range', () => {
    const offer = state.groups.get('smart')?.offers.get('claude-sonnet-4-5');
    assert.ok(offer);
    const { low, high } = estimate(offeredFigures(offer), {
      input: 1000n, cached: 20_000n, cacheWrite5m: 3000n, cacheWrite1h: 1000n, output: 500n, generations: 0n,
    });
    assert.deepEqual([low, high], [33_750_000n, 50_625_000n]);
  });
});

describe('the calculator', () => {
  test('works out the contract\'s examples', () => {
    assert.equal(
      sumOf(part('calc=claude-sonnet-4-5&input=1000&cached=20000&write5m=3000&write1h=1000&output=500')), '$0.03375',
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
    const words = textOf(/<p class="formula">.*<\/p>/s.exec(
      part('calc=claude-sonnet-4-5&at=vip&input=2000&cached=10000&output=800'),
    )?.[0] ?? '');
    assert.match(words, pattern(
      /\( 2,000 input \+ 10,000 cached × 0\.1 \+ 800 output × 5 \)/,
      / × model ratio 1\.5 × \$2 ÷ 1,000,000 × group ratio 1\.5/,
    ));
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
    assert.deepEqual(state.pricing.rows.filter(({ quotaType }) => quotaType === 'Request').map((row) =>
      countsOf(row).join()), ['generations', 'generations', 'generations', 'generations']);
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

  test('goes on where a model or group is gone, and begins with the list\'s group', () => {
    const query = parsePricingQuery(new URLSearchParams('calc=gone&at=gone&group=vip'), state.pricing);
    const example = state.pricing.rows.find(({ modelName }) => modelName === 'gpt-5');
    assert.equal(resolveCalculation(state, query.calculation, query.group, example)?.row.modelName, 'gpt-5');
    assert.equal(resolveCalculation(state, query.calculation, query.group, example)?.group, '');
    assert.equal(resolveCalculation(state, undefined, 'vip', example)?.group, 'vip');
    assert.equal(resolveCalculation(sampleState({}), undefined, undefined, undefined), undefined);
    assert.equal(parseCalculation(new URLSearchParams('q=x')), undefined);
  });

  test('keeps the list\'s view', () => {
    const markup = page('calc=gpt-5&q=gpt&vendor=OpenAI&type=token&group=vip&sort=-model');
    for (const [name, value] of [
      ['q', 'gpt'], ['vendor', 'OpenAI'], ['type', 'token'], ['group', 'vip'], ['sort', '-model'],
    ] as const)
      assert.ok(markup.includes(`<input type="hidden" name="${name}" value="${value}">`), name);
  });

  test('reads counts as people write them, and nothing else', () => {
    const counts: readonly (readonly [string, bigint])[] = [
      ['', 0n], [
        '12,000', 12_000n,
      ], ['12 000', 12_000n], ['1_000', 1000n], ["1'000", 1000n], ['999999999999999', 999_999_999_999_999n],
    ];
    for (const [typed, expected] of counts) assert.equal(parseCount(typed), expected, typed);
    for (const typed of ['-1', '1.5', '1e3', 'x', '0x10', '1000000000000000', '١٢'])
      assert.equal(parseCount(typed), undefined, typed);
  });
});
