import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { renderBar } from '#web/theme/bar.ts';
import { renderColumns } from '#web/theme/columns.ts';
import { formatDecimal } from '#web/decimal.ts';
import {
  pluralize,
  formatCount,
  formatDuration,
  formatExactUsd,
  formatUsd,
  renderTime,
  renderRemaining,
  renderSpent,
  renderUsd,
  formatShortUsd,
} from '#web/format.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { formatDecimal as formatContractDecimal } from '#snapshot/decimal.ts';
import { pageMarkup } from '../../support/page-markup.ts';

describe('decimals', () => {
  test('are written as in snapshots', () => {
    assert.equal(formatDecimal(25_000_000_000n, 2), '25.00');
    assert.equal(formatDecimal(-1n), '-0.000000001');
    fc.assert(
      fc.property(
        fc.bigInt({
          min: -(10n ** 19n),
          max: 10n ** 19n,
        }),
        fc.integer({ min: 0, max: 9 }),
        (billionths, places) => {
          assert.equal(formatDecimal(billionths, places), formatContractDecimal(billionths, places));
        },
      ),
    );
  });
});

describe('money', () => {
  test('that was spent and that remains add up to the limit', () => {
    const shown = ({ markup }: Html): number => Number(/\$([\d.,]+)</.exec(markup)?.[1]?.replaceAll(',', ''));
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 4 }),
        fc.nat({ max: 9999 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (places, units, part) => {
          const limit = BigInt(units) * 10n ** BigInt(9 - places);
          const spent = BigInt(Math.floor(Number(limit) * part));
          const sum = shown(renderSpent(spent, places)) + shown(renderRemaining(limit - spent, places));
          assert.ok(Math.abs(sum - Number(limit) / 1e9) < 1e-9, `${spent} of ${limit}`);
        },
      ),
    );
    assert.equal(shown(renderSpent(240_000n, 4)), 0.0003);
    assert.equal(shown(renderRemaining(760_000n, 4)), 0.0007);
  });
  test('is rounded half up, away from zero, and grouped', () => {
    assert.equal(formatUsd(1_234_567_895_000_000n), '$1,234,567.90');
    assert.equal(formatUsd(5_000_000n), '$0.01');
    assert.equal(formatUsd(4_999_999n), '$0.00');
    assert.equal(formatUsd(-5_000_000n), '−$0.01');
    assert.equal(formatUsd(-1n), '$0.00');
    assert.equal(formatUsd(1_500_000_000n, 0), '$2');
    assert.equal(formatUsd(7_068_000n, 6), '$0.007068');
    assert.equal(formatExactUsd(-1_234_567_890_123n), '−$1,234.567890123');
    assert.equal(formatExactUsd(5_000_000_000n), '$5.00');
  });

  test('shows small amounts as non-zero', () => {
    assert.equal(formatShortUsd(0n), '$0.00');
    assert.equal(formatShortUsd(20_400_000n), '$0.0204');
    assert.equal(formatShortUsd(250_000_000n), '$0.25');
    assert.equal(formatShortUsd(125_000_000n), '$0.125');
    assert.equal(formatShortUsd(100_000_000n), '$0.10');
    assert.equal(formatShortUsd(99_999n), '< $0.0001');
    assert.equal(formatShortUsd(-99_999n), '−< $0.0001');
    assert.equal(formatShortUsd(1_234_560_000_000n), '$1,234.56');
    assert.equal(formatShortUsd(999_999_999n), '$1.00');
  });

  test('includes the exact amount', () => {
    assert.equal(
      renderUsd(1_234_567_890_123n).markup,
      '<data class="money" value="1234.567890123" title="$1,234.567890123">$1,234.57</data>',
    );
  });

  test('differs from the amount by at most half of its last digit', () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.integer({ min: 0, max: 9 }), (nano, places) => {
        const digits = formatUsd(nano, places).replace(/[$,]/g, '').replace('−', '-');
        const [whole = '', fraction = ''] = digits.split('.');
        const unit = 10n ** BigInt(9 - places);
        const shown = BigInt(whole + fraction) * unit;
        const distance = shown - nano;
        assert.ok(2n * (distance < 0n ? -distance : distance) <= unit, digits);
      }),
    );
  });
});

describe('counts, moments and durations', () => {
  test('have the usual human format', () => {
    assert.equal(formatCount(1_234_567), '1,234,567');
    assert.equal(pluralize(1, 'call'), '1 call');
    assert.equal(pluralize(1200, 'key'), '1,200 keys');
    assert.equal(
      renderTime(Date.UTC(2026, 10, 21, 10, 53, 21)).markup,
      '<time datetime="2026-11-21T10:53:21Z" data-unit="second">2026-11-21 10:53:21 UTC</time>',
    );
    assert.match(renderTime(0, 'day').markup, />1970-01-01</);
    assert.deepEqual([0, 840, 1000, 12_490, 59_999, 200_000, 7_260_000].map(formatDuration), [
      '0 ms',
      '840 ms',
      '1.0 s',
      '12.4 s',
      '59.9 s',
      '3 min 20 s',
      '2 h 1 min',
    ]);
  });
});

describe('a bar', () => {
  const width = (part: bigint, whole: bigint): number =>
    Number(/<rect width="(\d+)"/.exec(renderBar({ part, whole }).markup)?.[1]);

  test('shows the share, and a small share as non-zero', () => {
    assert.equal(width(0n, 100n), 0);
    assert.equal(width(50n, 100n), 5000);
    assert.equal(width(1n, 1_000_000n), 100);
    assert.equal(width(200n, 100n), 10_000);
    assert.equal(width(-5n, 100n), 0);
    assert.equal(width(1n, 0n), 10_000);
  });

  test('is hidden from assistive technology beside text, and has a name otherwise', () => {
    assert.match(renderBar({ part: 1n, whole: 2n }).markup, /aria-hidden="true"/);
    assert.match(
      renderBar({
        part: 1n,
        whole: 2n,
        tone: 'warn',
        label: '"half"',
      }).markup,
      /class="bar warn".* role="img" aria-label="&quot;half&quot;"/,
    );
  });
});

describe('columns by day', () => {
  const render = (costs: readonly bigint[]): string =>
    pageMarkup(
      renderColumns({
        title: 'By day',
        note: html`all`,
        days: costs.map((costNanoUsd, index) => ({
          day: `2026-11-${String(index + 1).padStart(2, '0')}`,
          costNanoUsd,
          calls: costNanoUsd > 0n ? 2 : 0,
        })),
      }).markup,
    );

  test('end below the top of a scale with round steps', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt(0n, 10n ** 15n), { minLength: 1, maxLength: 90 }), (costs) => {
        const markup = render(costs);
        for (const [, y, height] of markup.matchAll(/class="column" x="\d+" y="(\d+)" width="\d+" height="(\d+)"/g))
          assert.equal(Number(y) + Number(height), 1000);
        assert.equal(markup.match(/class="column"/g)?.length ?? 0, costs.filter((cost) => cost > 0n).length);
      }),
    );
    assert.match(render([11_500_000_000n]), /<span>\$15\.00<\/span><span>\$7\.50<\/span>/);
    assert.match(render([6_000_000n]), /<span>\$0\.0060<\/span><span>\$0\.0030<\/span>/);
  });

  test('are a table too, and have no inline style', () => {
    const markup = render([3_000_000_000n, 0n, 21_000_000n]);
    assert.deepEqual(
      [...markup.matchAll(/<th scope="row">([^<]*)</g)].map(([, day]) => day),
      ['2026-11-03', '2026-11-01'],
    );
    assert.match(markup, /title="\$0\.021">\$0\.021000</);
    assert.doesNotMatch(markup, /style=/);
    assert.doesNotMatch(render([0n]), /<details/);
  });
});
