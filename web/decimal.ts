/** [P] Decimals of pages and price lists: billionths (10^-9) as BigInt, never floats. */

export const ONE_E9 = 1_000_000_000n;
const PLACES = 9;

/**
 * A decimal string of billionths, without trailing zeros; at least `minPlaces` digits stay after the point
 * (2 for money as people read it: 25_000_000_000n → "25.00").
 */
export function formatDecimal(billionths: bigint, minPlaces = 0): string {
  const magnitude = billionths < 0n ? -billionths : billionths;
  const fraction = String(magnitude % ONE_E9)
    .padStart(PLACES, '0')
    .replace(/0+$/, '')
    .padEnd(minPlaces, '0');
  return `${billionths < 0n ? '-' : ''}${magnitude / ONE_E9}${fraction === '' ? '' : `.${fraction}`}`;
}
