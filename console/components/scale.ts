/** [P] Round ends of a chart's scale, and the text of its figures. */
import { formatCount, formatUsd } from '#web/format.ts';
import type { Measure } from '../queries/usage-query.ts';

const TENTHS = [10n, 12n, 16n, 20n, 30n, 40n, 50n, 60n, 80n, 100n];
const CENT_NANO_USD = 10_000_000n;
const SUFFIXES = [
  [1_000_000_000n, 'B'],
  [1_000_000n, 'M'],
  [1_000n, 'K'],
] as const;

/** The next round figure that is not below this one, and at least `least`; its half is round too. */
export function roundUp(value: bigint, least: bigint): bigint {
  let power = least;
  while (power * 10n < value) power *= 10n;
  return TENTHS.map((tenths) => (tenths * power) / 10n).find((step) => step >= value) ?? power * 10n;
}

/** The end of the scale of a measure whose largest column is so high. */
export function scaleEnd(most: bigint, measure: Measure): bigint {
  if (measure === 'cost') return roundUp(most, 10_000n);
  return most < 10n ? most + (most % 2n) || 2n : roundUp(most, 10n);
}

/** A mark on a scale that ends at `end`. */
export function formatMark(value: bigint, end: bigint, measure: Measure): string {
  if (measure !== 'cost') return formatCompact(value);
  if (value === 0n) return '$0';
  return formatUsd(value, end < 10n * CENT_NANO_USD ? 4 : 2);
}

/** "940", "12.3K", "1.24M", "2B": three digits, rounded half up. */
export function formatCompact(count: bigint): string {
  for (const [unit, suffix] of SUFFIXES) {
    if (count < unit) continue;
    const places = count >= 100n * unit ? 0 : count >= 10n * unit ? 1 : 2;
    const step = unit / 10n ** BigInt(places);
    const rounded = (2n * count + step) / (2n * step);
    const digits = String(rounded).padStart(places + 1, '0');
    const fraction = digits.slice(digits.length - places).replace(/0+$/, '');
    const whole = digits.slice(0, digits.length - places);
    return `${formatCount(BigInt(whole))}${places > 0 && fraction !== '' ? `.${fraction}` : ''}${suffix}`;
  }
  return formatCount(count);
}
