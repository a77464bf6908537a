/**
 * [P] Exact arithmetic of prices: bills and estimates round alike, and estimates sum here. The calculator's script in
 * browsers is made from the text of these functions, which therefore use nothing outside of themselves.
 */

/** The sum of rates times counts; a count without a rate costs nothing. */
export function sumOf(
  rates: Readonly<Record<string, bigint>>,
  counts: Readonly<Record<string, bigint | undefined>>,
): bigint {
  return Object.entries(counts).reduce((sum, [name, count = 0n]) => sum + (rates[name] ?? 0n) * count, 0n);
}

/** A quotient that is not negative, rounded half up. */
export function roundHalfUp(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}
