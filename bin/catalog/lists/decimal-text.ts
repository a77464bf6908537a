/**
 * Decimals by their text: a price such as 2.5e-06 becomes digits and an exponent, never a double, so that a million
 * times the price is exactly 2.5.
 */

/** digits · 10^exponent. */
export interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i;
/** The limits of a PriceCatalog: 10 digits before the point, 9 after. */
const MAX_PLACES = 9;
const MAX_WHOLE_DIGITS = 10;

/** Returns undefined if the text is not a decimal. */
export function parseDecimalText(text: string): Decimal | undefined {
  const [, sign = '', whole, fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return { digits: BigInt(`${sign}${whole}${fraction}`), exponent: Number(exponent) - fraction.length };
}

/** Multiplies by 10^places. */
export function shift({ digits, exponent }: Decimal, places: number): Decimal {
  return { digits, exponent: exponent + places };
}

/** Formats a decimal for a PriceCatalog. Returns undefined if it is negative, or has too many digits to be exact. */
export function formatDecimalText({ digits, exponent }: Decimal): string | undefined {
  if (digits < 0n) return undefined;
  const padded = exponent >= 0 ? String(digits * 10n ** BigInt(exponent)) : String(digits).padStart(1 - exponent, '0');
  const places = Math.max(0, -exponent);
  const whole = padded.slice(0, padded.length - places);
  const fraction = padded.slice(padded.length - places).replace(/0+$/, '');
  if (fraction.length > MAX_PLACES || whole.length > MAX_WHOLE_DIGITS) return undefined;
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** Returns a ÷ b; undefined if the quotient is not a finite decimal. */
export function divide(a: Decimal, b: Decimal): Decimal | undefined {
  if (b.digits === 0n) return undefined;
  const scale = 30;
  const scaled = a.digits * 10n ** BigInt(scale);
  return scaled % b.digits === 0n
    ? { digits: scaled / b.digits, exponent: a.exponent - b.exponent - scale }
    : undefined;
}

export function times(a: Decimal, b: Decimal): Decimal {
  return { digits: a.digits * b.digits, exponent: a.exponent + b.exponent };
}

export function isZero({ digits }: Decimal): boolean {
  return digits === 0n;
}

/** Parses JSON and keeps numbers as their text, so that none becomes a double. Throws SyntaxError. */
export function parseExactJson(text: string): unknown {
  // the third argument is newer than the declared type of a reviver
  const reviver = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value;
  return JSON.parse(text, reviver);
}
