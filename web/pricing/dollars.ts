/**
 * [P] Converts ratios to dollars: exact fractions of nano-USD, rounded only when they are written. An Automatic group's
 * members may have different ratios, so an amount is a range.
 */
import { roundHalfUp } from '#price/exact.ts';
import { AUDIO_UNITS } from '#price/sheet.ts';
import type { GenerationRate } from '#price/generation.ts';
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
  | ({ readonly quotaType: 'Token' } & Readonly<Record<TokenClass, AmountRange>>)
  | { readonly quotaType: 'Request'; readonly request: AmountRange };

const MILLION = 10n ** 6n;
const CENT_NANO_USD = 10n ** 7n;
/** Amounts from a cent on are written to the hundredth of a cent. */
const COARSE_NANO_USD = 10n ** 5n;
const ROUNDED = '≈ ';

/** Dollars at group ratio 1. */
export function baseDollars({ quotaType, figures }: PricingRow): RowDollars {
  return dollarsOf(quotaType, [figures]);
}

/** Dollars as one group pays them, from the very prices that its calls are billed at; undefined: it has none. */
export function offerDollars(offer: PricedOffer): RowDollars | undefined {
  const prices = offeredFigures(offer);
  return prices.length === 0 ? undefined : dollarsOf(offer.quotaType, prices);
}

/** The different prices that a group's calls may be billed at; empty: it has none. */
export function offeredFigures(offer: PricedOffer): PriceFigures[] {
  return [
    ...new Set(
      offer.tiers
        .flat()
        .map(({ price }) => price)
        .filter((price) => price !== undefined),
    ),
  ];
}

/** Prices by the size of what is generated: of an image, or of a second of a video. */
export function sizedFigures({ perImage, perSecond }: PriceFigures): readonly GenerationRate[] {
  return perSecond ?? perImage;
}

/** The rates of a generation: one for each size and quality; a second of a video or of audio, and a character, is one. */
export function generationRates(figures: PriceFigures): readonly bigint[] {
  if (figures.perAudio) return [figures.perAudio.rate];
  const sized = sizedFigures(figures);
  return sized.length === 0 ? [figures.perGeneration] : sized.map(({ rate }) => rate);
}

export type GenerationUnit = 'second' | 'minute' | 'million characters' | 'image' | 'request';

/** How many seconds or characters of audio its price is for; 1 of anything else. */
export function unitsPriced({ perAudio }: PriceFigures): bigint {
  return perAudio ? BigInt(AUDIO_UNITS[perAudio.unit]) : 1n;
}

/** What a price per generation is for. */
export function generationUnit({ dimensions }: Pick<PricingRow, 'dimensions'>): GenerationUnit {
  if (dimensions.perMinuteNanoUsd !== undefined) return 'minute';
  if (dimensions.perMillionCharactersNanoUsd !== undefined) return 'million characters';
  if (dimensions.perSecond.length > 0 || dimensions.perSecondNanoUsd !== undefined) return 'second';
  return dimensions.perImage.length > 0 ? 'image' : 'request';
}

function dollarsOf(quotaType: PricedOffer['quotaType'], prices: readonly PriceFigures[]): RowDollars {
  if (quotaType === 'Request')
    return {
      quotaType,
      request: amountRange(
        prices.flatMap((price) =>
          generationRates(price).map((rate) => ({
            numerator: rate * unitsPriced(price),
            denominator: price.denominator,
          })),
        ),
      ),
    };
  const ofClass = (name: TokenClass): AmountRange =>
    amountRange(prices.map(({ perToken, denominator }) => ({ numerator: perToken[name] * MILLION, denominator })));
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
  return rangeText(formatAmount(low), formatAmount(high));
}

/** A range of which one end is rounded is rounded as a whole. */
function rangeText(from: string, to: string): string {
  if (from === to) return from;
  const isRounded = [from, to].some((text) => text.startsWith(ROUNDED));
  return `${isRounded ? ROUNDED : ''}${from.replace(ROUNDED, '')}–${to.replace(ROUNDED, '')}`;
}

/** Formats like formatRange, but to the nano-dollar, so that the parts of a sum add up. */
export function formatFineRange({ low, high }: AmountRange): string {
  return rangeText(formatTo(1n, low), formatTo(1n, high));
}

/** One amount, rounded half up to the hundredth of a cent, or below a cent to the nano-dollar. */
export function formatAmount(amount: Amount): string {
  return formatTo(amount.numerator >= CENT_NANO_USD * amount.denominator ? COARSE_NANO_USD : 1n, amount);
}

/** `unit` in nano-USD. */
function formatTo(unit: bigint, { numerator, denominator }: Amount): string {
  const divisor = denominator * unit;
  const rounded = roundHalfUp(numerator, divisor) * unit;
  const exact = rounded * denominator === numerator;
  return `${exact ? '' : ROUNDED}$${formatDecimal(rounded, 2)}`;
}

/** The lowest and the highest; 0 if there are none. */
export function amountRange(amounts: readonly Amount[]): AmountRange {
  const [low = { numerator: 0n, denominator: 1n }, ...more] = [...amounts].sort(compareAmounts);
  return { low, high: more.at(-1) ?? low };
}

function compareAmounts(a: Amount, b: Amount): number {
  const left = a.numerator * b.denominator;
  const right = b.numerator * a.denominator;
  return left < right ? -1 : Number(left > right);
}
