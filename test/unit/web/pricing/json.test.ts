import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { formatE10, pricingJson } from '#web/pricing/json.ts';
import { formatDecimal } from '#snapshot/decimal.ts';
import { sampleState } from '../../dataplane/server/pricing/sample.ts';

const NO_DIMENSIONS = {
  usd_per_million: null,
  context_tiers: null,
  service_tiers: null,
  per_use_usd: null,
  regions: null,
  per_image: null,
  per_second: null,
  per_second_usd: null,
  per_minute_usd: null,
  per_million_characters_usd: null,
};

describe('/pricing.json', () => {
  test('has the fields of the contract, decimals as strings, and null for what does not apply', () => {
    const { pricing } = sampleState({
      tokens: [['claude-sonnet-4-5', 'Anthropic', '1.5', '5', '0.1', '1.25']],
      requests: [['flux-1.1-pro', 'BFL', '0.04']],
      groups: [
        { name: 'vip', displayName: 'VIP', priceRatio: '1.5' },
        { name: 'auto-a', displayName: 'Auto-A' },
      ],
      routed: ['claude-sonnet-4-5'],
    });
    assert.deepEqual(pricingJson(pricing), {
      object: 'list',
      currency: 'USD',
      groups: [
        { name: 'auto-a', display_name: 'Auto-A', type: 'Direct', price_ratio: '1', members: null },
        { name: 'vip', display_name: 'VIP', type: 'Direct', price_ratio: '1.5', members: null },
      ],
      data: [
        {
          model_name: 'claude-sonnet-4-5',
          vendor: 'Anthropic',
          quota_type: 'Token-based',
          ratio_base_usd: '2',
          model_ratio: '1.5',
          completion_ratio: '5',
          cache_ratio: '0.1',
          cache_write_ratio: '1.25',
          cache_write_1h_ratio: '2',
          request_usd: null,
          ...NO_DIMENSIONS,
          enabled_groups: ['Auto-A', 'VIP'],
          endpoints: ['/v1/chat/completions', '/v1/messages'],
          input_modalities: ['text'],
          output_modalities: ['text'],
          context_length: 200_000,
          max_output_tokens: 64_000,
        },
        {
          model_name: 'flux-1.1-pro',
          vendor: 'BFL',
          quota_type: 'Per-request',
          ratio_base_usd: null,
          model_ratio: null,
          completion_ratio: null,
          cache_ratio: null,
          cache_write_ratio: null,
          cache_write_1h_ratio: null,
          request_usd: '0.04',
          ...NO_DIMENSIONS,
          enabled_groups: [],
          endpoints: null,
          input_modalities: null,
          output_modalities: null,
          context_length: null,
          max_output_tokens: null,
        },
      ],
    });
  });

  test('has null for cache ratios that the catalog does not state, and the defaults of cache writes, which cost more', () => {
    const { pricing } = sampleState({
      tokens: [
        ['plain', 'v', '1', '4'],
        ['cached', 'v', '1', '4', '0.5'],
      ],
    });
    const ratios = pricingJson(pricing).data.map((row) => [
      row.model_name,
      row.cache_ratio,
      row.cache_write_ratio,
      row.cache_write_1h_ratio,
    ]);
    assert.deepEqual(ratios, [
      ['cached', '0.5', '1.25', '2'],
      ['plain', null, '1.25', '2'],
    ]);
  });

  test('has dollars for cache writes that a catalog in dollars does not state', () => {
    const { pricing } = sampleState({ tokens: [['m', 'v', '1', '4']] });
    const [row] = pricing.rows;
    assert.ok(row);
    const dollars = (usdPerMillion: object, stated = row.stated) =>
      pricingJson({
        groups: [],
        rows: [{ ...row, stated, isInDollars: true, dimensions: { ...row.dimensions, usdPerMillion } }],
      }).data[0]?.usd_per_million;
    assert.deepEqual(dollars({ input: 3_000_000_001n, output: 15_000_000_000n }), {
      cache_write_5m: '3.75000000125',
      cache_write_1h: '6.000000002',
      input: '3.000000001',
      output: '15',
    });
    assert.deepEqual(dollars({ input: 3_000_000_000n, cacheWrite5m: 1_000_000_000n }), {
      cache_write_5m: '1',
      cache_write_1h: '1.6',
      input: '3',
    });
    const none = { ...row.stated, cacheWrite5m: false, cacheWrite1h: false };
    assert.deepEqual(dollars({ input: 3_000_000_000n }, none), { input: '3' });
  });

  test('an automatic group has members at the ratios that they are paid at, and no ratio of its own', () => {
    const { pricing } = sampleState({
      tokens: [['m', 'v', '1', '4']],
      groups: [
        { name: 'auto-a', displayName: 'Auto-A', members: ['vip', 'standard'], priceRatio: '0.333333333' },
        { name: 'standard', displayName: 'Standard' },
        { name: 'vip', displayName: 'VIP', priceRatio: '1.5' },
      ],
    });
    assert.deepEqual(pricingJson(pricing).groups[0], {
      name: 'auto-a',
      display_name: 'Auto-A',
      type: 'Automatic',
      price_ratio: null,
      members: [
        { name: 'vip', display_name: 'VIP', price_ratio: '0.4999999995' },
        { name: 'standard', display_name: 'Standard', price_ratio: '0.333333333' },
      ],
    });
  });

  test('an empty list is a list', () => {
    assert.deepEqual(pricingJson({ groups: [], rows: [] }), { object: 'list', currency: 'USD', groups: [], data: [] });
  });

  test('the 1-hour ratio keeps its tenth place', () => {
    assert.equal(formatE10(16n), '0.0000000016');
    assert.equal(formatE10(20_000_000_000n), '2');
    assert.equal(formatE10(20_000_000_001n), '2.0000000001');
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 20n), (value) => {
        const [whole = '', fraction = ''] = formatE10(value).split('.');
        assert.equal(BigInt(whole + fraction.padEnd(10, '0')), value);
        assert.equal(formatE10(value * 10n), formatDecimal(value));
      }),
    );
  });
});
