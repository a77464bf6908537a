/**
 * Exact decimals as integers. The API writes money and ratios as decimal strings with at most 10 digits before the
 * point and 9 after; everything behind it counts in billionths (10^-9), as BigInt. No float takes part.
 */

const DECIMAL = /^-?\d{1,10}(?:\.\d{1,9})?$/;
const PLACES = 9;
const ZERO = 0x30;
export const ONE_E9 = 1_000_000_000n;
const LARGEST_EXACT = BigInt(Number.MAX_SAFE_INTEGER);

/** Billionths of a decimal string ("1.5" → 1_500_000_000n), or undefined where it is not one. */
export function parseDecimal(text: string): bigint | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const point = text.indexOf('.');
  const [whole, fraction] = point < 0 ? [text, ''] : [text.slice(0, point), text.slice(point + 1)];
  return BigInt(whole + fraction.padEnd(PLACES, '0'));
}

/**
 * A decimal string of billionths, without trailing zeros; at least `minPlaces` digits stay after the point
 * (2 for money as people read it: 25_000_000_000n → "25.00").
 */
export function formatDecimal(billionths: bigint, minPlaces = 0): string {
  if (billionths === 0n && minPlaces === 0) return '0';
  const magnitude = billionths < 0n ? -billionths : billionths;
  const sign = billionths < 0n ? '-' : '';
  if (magnitude > LARGEST_EXACT) return join(`${sign}${magnitude / ONE_E9}`, Number(magnitude % ONE_E9), minPlaces);
  // as numbers, which cost a fraction of BigInt; both steps are exact up to 2⁵³
  const number = Number(magnitude);
  const rest = number % 1e9;
  return join(`${sign}${(number - rest) / 1e9}`, rest, minPlaces);
}

function join(whole: string, rest: number, minPlaces: number): string {
  return rest === 0 && minPlaces === 0 ? whole : `${whole}.${writeFraction(rest, minPlaces)}`;
}

function writeFraction(billionths: number, minPlaces: number): string {
  const digits = String(billionths).padStart(PLACES, '0');
  let end = PLACES;
  while (end > minPlaces && digits.charCodeAt(end - 1) === ZERO) end--;
  return digits.slice(0, end).padEnd(minPlaces, '0');
}

/** The same amount, another object. */
export function copyOfAmount(amount: bigint): bigint {
  return -(-amount);
}
