import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { compilePrice } from '#price/sheet.ts';
import { dimensionsJson, renderDimensions } from '#web/pricing/dimensions.ts';
import { baseDollars, formatRange, generationUnit } from '#web/pricing/dollars.ts';
import { pricingJson } from '#web/pricing/json.ts';
import { renderPricingPage } from '#web/pricing/page.ts';
import { makePricingRows } from '#web/pricing/price-rows.ts';
import { indexPrices } from '#price/model-prices.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { unpricedWays } from '../../../../operator/translate/unpriced-ways.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../../operator/support.ts';

const { snapshot } = translate(
  resourcesOf(`apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: openai}
spec:
  models:
  - name: gpt
    vendor: OpenAI
    quotaType: Token
    usdPerMillion: {input: "3", output: "22.5", cacheRead: "1", audioInput: "32"}
    contextTiers: [{above: 272000, usdPerMillion: {input: "6", output: "30", cacheRead: "2", audioInput: "64"}}]
    serviceTiers: {priority: {multiplier: "2"}}
    perUse: {webSearchUsd: "0.01"}
    regions: {us: "1.1"}
    channels: [{channel: openai/secret-name, multiplier: "1.5"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: openai}
spec:
  models: [{name: gpt, contextTokens: 400000, maxOutputTokens: 4000, allow: [ServerTools]}]
  channels: [{name: direct, protocol: OpenAI, baseUrl: "https://api.test/v1"}]
`),
  { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS },
);
const prices = [...indexPrices(snapshot.catalogs).values()];
const [row = assert.fail()] = makePricingRows({ prices, groups: [], served: [] });

describe('a price in dollars', () => {
  test('is in the price list as its catalog states it, and has no ratios', () => {
    const {
      data: [json = assert.fail()],
    } = pricingJson({ rows: [row], groups: [] });
    assert.deepEqual(dimensionsJson(row.dimensions), {
      usd_per_million: { input: '3', output: '22.5', cache_read: '1', audio_input: '32' },
      context_tiers: [
        {
          above: 272_000,
          usd_per_million: { input: '6', output: '30', cache_read: '2', audio_input: '64' },
          input_multiplier: null,
          output_multiplier: null,
        },
      ],
      service_tiers: { priority: { multiplier: '2', usd_per_million: null, context_tiers: null } },
      per_use_usd: { web_search: '0.01' },
      regions: { us: '1.1' },
      per_image: null,
      per_second: null,
      per_second_usd: null,
      per_minute_usd: null,
      per_million_characters_usd: null,
    });
    assert.deepEqual([json.model_ratio, json.completion_ratio, json.cache_ratio], [null, null, null]);
    assert.equal(json.varies_by_channel, true);
    assert.ok(!JSON.stringify(json).includes('secret-name'), "channels are nobody's business");
  });

  test('is exact on the page, also where a ratio would not be', () => {
    const dollars = baseDollars(row);
    assert.ok(dollars.quotaType === 'Token');
    assert.deepEqual([dollars.input, dollars.output, dollars.cached].map(formatRange), ['$3.00', '$22.50', '$1.00']);
  });

  test('has no ratio on the page, where others have theirs, and a range with one rounded end says so once', () => {
    const page = renderPricingPage(
      { pricing: { rows: [row], groups: [] }, groups: new Map() },
      {
        title: 'Prices',
        styleHref: 's.css',
        scriptHref: 's.js',
        iconHref: 'i.svg',
        consoleUrl: undefined,
      },
    );
    const text = page.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    assert.match(text, /Token-based — \$3\.00 input — \$22\.50 output — \$1\.00 cached/);
    const [low, high] = [
      { numerator: 3n * 10n ** 9n, denominator: 1n },
      { numerator: 10n ** 10n, denominator: 3n },
    ];
    assert.equal(formatRange({ low, high }), '≈ $3.00–$3.3333');
  });

  test('says what else counts', () => {
    const text = renderDimensions(row.dimensions)
      .markup.replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ');
    for (const words of [
      'audio input $32.00 per million tokens',
      'Above 272,000 tokens of input input $6.00, output $30.00',
      'Service tier priority × 2',
      'In the region us × 1.1',
      'A search of the web $0.01',
    ])
      assert.ok(text.includes(words), `${words} in ${text}`);
  });

  test('says the rules of steps and tiers only where it has them', () => {
    assert.match(renderDimensions(row.dimensions).markup, /above a step pays .*The service tier that the answer names/);
    const image = {
      ...row.dimensions,
      usdPerMillion: undefined,
      contextTiers: [],
      serviceTiers: [],
      perImage: [{ size: '1x1', quality: '', nanoUsd: 1n }],
    };
    assert.match(renderDimensions(image).markup, /<p class="soft">All of it is at group ratio 1\.<\/p>/);
  });

  test('has a line and an entry for each size of videos, and none for the highest price beside them', () => {
    const film = {
      ...row.dimensions,
      usdPerMillion: undefined,
      contextTiers: [],
      serviceTiers: [],
      regions: [],
      perUse: undefined,
      perSecond: [
        { size: '1280x720', nanoUsd: 100_000_000n },
        { size: '', nanoUsd: 300_000_000n },
      ],
      perSecondNanoUsd: 300_000_000n,
    };
    const text = renderDimensions(film).markup.replaceAll(/<[^>]+>/g, ' ');
    assert.match(text, /A second of a video, 1280x720 +\$0\.10 +A second of a video of any other size +\$0\.30/);
    assert.equal(text.match(/A second of a video/g)?.length, 2);
    const { per_second, per_second_usd } = dimensionsJson(film);
    assert.deepEqual(
      [per_second, per_second_usd],
      [
        [
          { size: '1280x720', usd: '0.1' },
          { size: null, usd: '0.3' },
        ],
        '0.3',
      ],
    );
  });

  test('has a line and an entry for a minute of audio, and for a million characters', () => {
    const none = { ...row.dimensions, usdPerMillion: undefined, contextTiers: [], serviceTiers: [], perUse: undefined };
    const whisper = { ...none, regions: [], perMinuteNanoUsd: 6_000_000n };
    const tts = { ...none, regions: [], perMillionCharactersNanoUsd: 15_000_000_000n };
    assert.match(
      renderDimensions(whisper).markup.replaceAll(/<[^>]+>/g, ' '),
      /A minute of audio, by the second +\$0\.006/,
    );
    assert.match(renderDimensions(tts).markup.replaceAll(/<[^>]+>/g, ' '), /A million characters spoken +\$15\.00/);
    assert.equal(dimensionsJson(whisper).per_minute_usd, '0.006');
    assert.equal(dimensionsJson(tts).per_million_characters_usd, '15');
    const [minute, characters] = [generationUnit({ dimensions: whisper }), generationUnit({ dimensions: tts })];
    assert.deepEqual([minute, characters], ['minute', 'million characters']);
  });

  test('on a channel of its own is multiplied', () => {
    const [entry = assert.fail()] = prices;
    const source = { ...entry.price, quotaType: 'Token', ratioBaseUsdE9: entry.ratioBaseE9 } as const;
    const [plain, dear] = [compilePrice(source, 10n ** 18n), compilePrice(source, 10n ** 18n, 1_500_000_000n)];
    assert.equal(dear.perToken.input * plain.denominator * 2n, plain.perToken.input * dear.denominator * 3n);
  });
});

test('ways of calling a model that no price says are named', () => {
  assert.deepEqual(unpricedWays(snapshot), [
    {
      route: 'openai',
      model: 'gpt',
      ways: ['serviceTiers.flex', 'serviceTiers.fast', 'usdPerMillion.audioOutput'],
    },
  ]);
});
