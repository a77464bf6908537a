import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { baseDollars, formatAmount, formatRange, offerDollars } from '#web/pricing/dollars.ts';
import type { RowDollars } from '#web/pricing/dollars.ts';
import { formatDecimal, parseDecimal } from '#snapshot/decimal.ts';
import type { State } from '../../../../dataplane/state/state.ts';
import { REALISTIC, sampleState } from '../../dataplane/server/pricing/sample.ts';
import type { Sample } from '../../dataplane/server/pricing/sample.ts';

function texts(dollars: RowDollars | undefined): Record<string, string> {
  assert.ok(dollars);
  return Object.fromEntries(
    Object.entries(dollars).map(([name, value]) => [name, typeof value === 'string' ? value : formatRange(value)]),
  );
}

function inGroup(state: State, group: string, model: string): Record<string, string> {
  const offer = state.groups.get(group)?.offers.get(model);
  assert.ok(offer);
  return texts(offerDollars(offer));
}

function only(sample: Sample): Record<string, string> {
  const [row] = sampleState(sample).pricing.rows;
  assert.ok(row);
  return texts(baseDollars(row));
}

describe('dollars', () => {
  test('of ratios, per million tokens', () => {
    assert.deepEqual(only({ tokens: [['m', 'v', '1.5', '5', '0.1', '1.25']] }), {
      quotaType: 'Token',
      input: '$3.00',
      output: '$15.00',
      cached: '$0.30',
      cacheWrite5m: '$3.75',
      cacheWrite1h: '$6.00',
    });
    assert.equal(only({ tokens: [['m', 'v', '1', '1', '1']], ratioBaseUsd: '2.5' })['input'], '$2.50');
  });

  test('of a price per request', () => {
    assert.deepEqual(only({ requests: [['m', 'v', '0.042']] }), { quotaType: 'Request', request: '$0.042' });
  });

  test("at a group's ratio", () => {
    const state = sampleState(REALISTIC);
    assert.equal(inGroup(state, 'vip', 'claude-sonnet-4-5')['input'], '$4.50');
    assert.equal(inGroup(state, 'budget', 'gpt-4o-mini')['cached'], '$0.06');
    assert.equal(inGroup(state, 'vip', 'flux-1.1-pro')['request'], '$0.06');
  });

  test('of an automatic group are a range where its members differ, and one amount where they do not', () => {
    const state = sampleState(REALISTIC);
    assert.equal(inGroup(state, 'smart', 'claude-sonnet-4-5')['input'], '$3.00–$4.50');
    assert.equal(inGroup(state, 'smart', 'gpt-4.1')['input'], '$2.00');
  });

  test('of a model without a price do not exist', () => {
    const state = sampleState({ groups: [{ name: 'g' }], routed: ['unpriced'] });
    const offer = state.groups.get('g')?.offers.get('unpriced');
    assert.ok(offer);
    assert.equal(offerDollars(offer), undefined);
  });

  test('are rounded half up, and say so', () => {
    const nano = (numerator: bigint, denominator = 1n): string => formatAmount({ numerator, denominator });
    assert.equal(nano(0n), '$0.00');
    assert.equal(nano(3_000_000_000n), '$3.00');
    assert.equal(nano(10_000_000n), '$0.01');
    assert.equal(nano(1_234_500_000n), '$1.2345');
    assert.equal(nano(1_234_550_000n), '≈ $1.2346');
    assert.equal(nano(1_234_549_999n), '≈ $1.2345');
    assert.equal(nano(9_999_999n), '$0.009999999');
    assert.equal(nano(1n), '$0.000000001');
    assert.equal(nano(1n, 2n), '≈ $0.000000001');
    assert.equal(nano(1n, 3n), '≈ $0.00');
    assert.equal(nano(10_000_000_000n, 3n), '≈ $3.3333');
  });

  test('are never further from the exact amount than half of their last place', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 24n), fc.bigInt(1n, 10n ** 15n), (numerator, denominator) => {
        const text = formatAmount({ numerator, denominator });
        const shown = parseShown(text);
        const unit = numerator >= 10n ** 7n * denominator ? 10n ** 5n : 1n;
        const distance = shown * denominator - numerator;
        assert.ok(2n * (distance < 0n ? -distance : distance) <= unit * denominator, text);
        assert.equal(text.startsWith('≈'), distance !== 0n);
      }),
    );
  });

  test('of a group with ratio 1 are the base prices', () => {
    const ratio = fc.bigInt(0n, 10n ** 13n).map((value) => formatDecimal(value));
    fc.assert(
      fc.property(ratio, ratio, ratio, ratio, (model, completion, cache, write) => {
        const state = sampleState({ tokens: [['m', 'v', model, completion, cache, write]], groups: [{ name: 'g' }] });
        const [row] = state.pricing.rows;
        assert.ok(row);
        assert.deepEqual(inGroup(state, 'g', 'm'), texts(baseDollars(row)));
      }),
      { numRuns: 50 },
    );
  });
});

function parseShown(text: string): bigint {
  const [whole = '', fraction = ''] = text.replace('≈ ', '').replace('$', '').split('.');
  const nano = parseDecimal(`0.${fraction}`);
  assert.ok(nano !== undefined);
  return BigInt(whole) * 10n ** 9n + nano;
}
