/**
 * [P] Converts ratios to dollars: exact fractions of nano-USD, rounded only when they are written. An Automatic group's
 * members may have different ratios, so an amount is a range.
 */
import { formatDecimal } from '../decimal.ts';
import type { PricedOffer, PriceFigures, PricingRow, TokenClass } from './price-list.ts';

/** Nano-USD as numerator / denominator; the denominator is positive. */
export interface Amount {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** The lowest and the highest amount. */
export interface AmountRange {
  readonly low: Amount;
  readonly high: Amount;
}

/** Dollars per million tokens of each class, or per generation. */
export type RowDollars =
  | { readonly quotaType: 'Token' } & Readonly<Record<TokenClass, AmountRange>>
  | { readonly quotaType: 'Request'; readonly request: AmountRange };

const E9 = 10n ** 9n;
const MILLION = 10n ** 6n;
const CENT_NANO_USD = 10n ** 7n;
/** Amounts from a cent on are written to the hundredth of a cent. */
const COARSE_NANO_USD = 10n ** 5n;

/** Dollars at group ratio 1. */
export function baseDollars(row: PricingRow): RowDollars {
  if (row.quotaType === 'Request') return { quotaType: 'Request', request: range(rowGenerations(row), perGeneration) };
  if (row.figures) return tokenDollars([row.figures]);
  // USD in billionths per million tokens, times a ratio in billionths.
  const inputE9 = row.ratioBaseE9 * row.modelRatioE9;
  return {
    quotaType: 'Token',
    input: single(inputE9, E9),
    output: single(inputE9 * row.completionRatioE9, E9 * E9),
    cached: single(inputE9 * row.cacheRatioE9, E9 * E9),
    cacheWrite5m: single(inputE9 * row.cacheWriteRatioE9, E9 * E9),
    cacheWrite1h: single(inputE9 * row.cacheWrite1hRatioE10, E9 * E9 * 10n),
  };
}

/** Dollars as one group pays them, from the very prices that its calls are billed at; undefined: it has none. */
export function offerDollars(offer: PricedOffer): RowDollars | undefined {
  const prices = [...new Set(offer.tiers.flat().map(({ price }) => price).filter((price) => price !== undefined))];
  if (prices.length === 0) return undefined;
  if (offer.quotaType === 'Request') {
    return { quotaType: 'Request', request: range(prices.flatMap(eachGeneration), perGeneration) };
  }
  return tokenDollars(prices);
}

const NO_TOKENS: PriceFigures['perToken'] = { input: 0n, cached: 0n, cacheWrite5m: 0n, cacheWrite1h: 0n, output: 0n };

/** The prices of a generation at group ratio 1, by size and quality or by the second where it has such. */
export function rowGenerations({ requestNanoUsd, dimensions: { perImage, perSecondNanoUsd } }: PricingRow):
PriceFigures[] {
  return eachGeneration({
    perToken: NO_TOKENS, perGeneration: requestNanoUsd, denominator: 1n, perSecond: perSecondNanoUsd,
    perImage: perImage.map(({ nanoUsd }) => ({ rate: nanoUsd })),
  });
}

/** One price for each size and quality; the generation of a price per second is a second. */
export function eachGeneration(price: PriceFigures): PriceFigures[] {
  const { perToken, denominator, perImage = [], perSecond } = price;
  if (perSecond !== undefined) return [{ perToken, perGeneration: perSecond, denominator }];
  return perImage.length === 0 ? [price]
    : perImage.map(({ rate }) => ({ perToken, perGeneration: rate, denominator }));
}

/** What a price per generation is for. */
export function generationUnit({ dimensions }: Pick<PricingRow, 'dimensions'>): 'second' | 'image' | 'request' {
  if (dimensions.perSecondNanoUsd !== undefined) return 'second';
  return dimensions.perImage.length > 0 ? 'image' : 'request';
}

function perGeneration(price: PriceFigures): bigint {
  return price.perGeneration;
}

function tokenDollars(prices: readonly PriceFigures[]): RowDollars {
  const ofClass = (tokens: TokenClass): AmountRange => range(prices, (price) => price.perToken[tokens] * MILLION);
  return {
    quotaType: 'Token',
    input: ofClass('input'),
    output: ofClass('output'),
    cached: ofClass('cached'),
    cacheWrite5m: ofClass('cacheWrite5m'),
    cacheWrite1h: ofClass('cacheWrite1h'),
  };
}

/** "$3.00", "$0.075", "≈ $0.3333" where digits were dropped, "$2.40–$3.60" where members differ. */
export function formatRange({ low, high }: AmountRange): string {
  const from = formatAmount(low);
  const to = formatAmount(high);
  return from === to ? from : `${from}–${to}`;
}

/** Formats like formatRange, but to the nano-dollar, so that the parts of a sum add up. */
export function formatFineRange({ low, high }: AmountRange): string {
  const from = formatTo(1n, low);
  const to = formatTo(1n, high);
  return from === to ? from : `${from}–${to}`;
}

/** One amount, rounded half up to the hundredth of a cent, or below a cent to the nano-dollar. */
export function formatAmount(amount: Amount): string {
  return formatTo(amount.numerator >= CENT_NANO_USD * amount.denominator ? COARSE_NANO_USD : 1n, amount);
}

/** `unit` in nano-USD. */
function formatTo(unit: bigint, { numerator, denominator }: Amount): string {
  const divisor = denominator * unit;
  const rounded = (2n * numerator + divisor) / (2n * divisor) * unit;
  const exact = rounded * denominator === numerator;
  return `${exact ? '' : '≈ '}$${formatDecimal(rounded, 2)}`;
}

function range(prices: readonly PriceFigures[], numeratorOf: (price: PriceFigures) => bigint): AmountRange {
  const amounts =
    prices.map((price) => ({ numerator: numeratorOf(price), denominator: price.denominator })).sort(compareAmounts);
  const [low = { numerator: 0n, denominator: 1n }] = amounts;
  return { low, high: amounts.at(-1) ?? low };
}

function compareAmounts(a: Amount, b: Amount): number {
  const left = a.numerator * b.denominator;
  const right = b.numerator * a.denominator;
  return left < right ? -1 : Number(left > right);
}

function single(numerator: bigint, denominator: bigint): AmountRange {
  const amount = { numerator, denominator };
  return { low: amount, high: amount };
}
