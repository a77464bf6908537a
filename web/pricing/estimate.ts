/**
 * [P] Estimates a call's cost: exact fractions, rounded once to a nano-dollar, half up, as the gateway bills it.
 * browser/calculator.js does the same.
 */
import { eachGeneration, rowGenerations } from './dollars.ts';
import type { Amount, AmountRange } from './dollars.ts';
import type { PricedOffer, PriceFigures, PricingRow, TokenClass } from './price-list.ts';

/** What a call consumes, by what it is priced by. Whole numbers, not negative. */
export type Counts = Readonly<Record<TokenClass | 'generations', bigint>>;

interface Estimate {
  /**
   * One of each price that the call may be billed at: more than one where an Automatic group's members differ. At least
   * one.
   */
  readonly prices: readonly PriceFigures[];
  /** Nano-USD, rounded as a call is. */
  readonly low: bigint;
  readonly high: bigint;
}

const TOKEN_CLASSES: readonly TokenClass[] = ['input', 'cached', 'cacheWrite5m', 'cacheWrite1h', 'output'];

const E9 = 10n ** 9n;
/** Class ratio 10^-10, model ratio 10^-9, nano-USD of the ratio base per 10^6 tokens. */
const TOKEN_DENOMINATOR = 10n ** BigInt(10 + 9 + 6);

/** A row's prices at group ratio 1; several where a price depends on an image's size and quality. */
export function baseFigures(row: PricingRow): PriceFigures[] {
  if (row.figures) return [row.figures];
  if (row.quotaType === 'Request') return rowGenerations(row);
  const perToken = row.ratioBaseE9 * row.modelRatioE9;
  return [{
    perToken: {
      input: perToken * E9 * 10n,
      cached: perToken * row.cacheRatioE9 * 10n,
      cacheWrite5m: perToken * row.cacheWriteRatioE9 * 10n,
      cacheWrite1h: perToken * row.cacheWrite1hRatioE10,
      output: perToken * row.completionRatioE9 * 10n,
    },
    perGeneration: 0n,
    denominator: TOKEN_DENOMINATOR,
  }];
}

/** The different prices that a group's calls may be billed at; empty: it has none. */
export function offeredFigures(offer: PricedOffer): PriceFigures[] {
  const prices = new Set(offer.tiers.flat().map(({ price }) => price).filter((price) => price !== undefined));
  return [...prices].flatMap(eachGeneration);
}

/** What the counts cost at these prices, of which there is at least one. */
export function estimate(prices: readonly PriceFigures[], counts: Counts): Estimate {
  const [low = 0n, ...more] = prices.map((price) => roundedCost(price, counts)).sort(compare);
  return { prices, low, high: more.at(-1) ?? low };
}

/** The amount of one class alone, not rounded. */
export function amountOf(prices: readonly PriceFigures[], name: keyof Counts, count: bigint): AmountRange {
  const amounts =
    prices.map((price): Amount => ({ numerator: numeratorOf(price, name) * count, denominator: price.denominator }));
  amounts.sort((a, b) => compare(a.numerator * b.denominator, b.numerator * a.denominator));
  const [low = { numerator: 0n, denominator: 1n }, ...more] = amounts;
  return { low, high: more.at(-1) ?? low };
}

function roundedCost(price: PriceFigures, counts: Counts): bigint {
  const sum = [...TOKEN_CLASSES, 'generations' as const].reduce((total, name) => total +
    numeratorOf(price, name) * counts[name], 0n);
  return (2n * sum + price.denominator) / (2n * price.denominator);
}

function numeratorOf(price: PriceFigures, name: keyof Counts): bigint {
  return name === 'generations' ? price.perGeneration : price.perToken[name];
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}
