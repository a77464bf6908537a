/**
 * [P] Exact decimals as integers. The API writes money and ratios as decimal strings with at most 10 digits before the
 * point and 9 after; the code computes in billionths (10^-9), as BigInt, and never in floating point.
 */

const DECIMAL = /^-?\d{1,10}(?:\.\d{1,9})?$/;
const PLACES = 9;
export const ONE_E9 = 1_000_000_000n;

/** The billionths of a decimal string ("1.5" → 1_500_000_000n); undefined if it is not one. */
export function parseDecimal(text: string): bigint | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const point = text.indexOf('.');
  const [whole, fraction] = point < 0 ? [text, ''] : [text.slice(0, point), text.slice(point + 1)];
  return BigInt(whole + fraction.padEnd(PLACES, '0'));
}

/**
 * A decimal string of billionths, without trailing zeros. At least `minPlaces` digits stay after the point (2 for money
 * as people read it: 25_000_000_000n → "25.00").
 */
export function formatDecimal(billionths: bigint, minPlaces = 0): string {
  const magnitude = billionths < 0n ? -billionths : billionths;
  const sign = billionths < 0n ? '-' : '';
  const fraction = formatFraction(magnitude % ONE_E9, minPlaces);
  return `${sign}${magnitude / ONE_E9}${fraction === '' ? '' : `.${fraction}`}`;
}

function formatFraction(billionths: bigint, minPlaces: number): string {
  return String(billionths).padStart(PLACES, '0').replace(/0+$/, '').padEnd(minPlaces, '0');
}
