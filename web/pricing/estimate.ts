/**
 * [P] Estimates a call's cost from the rates by which the gateway bills it, and rounds it as a bill is rounded.
 * browser/calculator.js does the same for one context tier.
 */
import { roundHalfUp, sumOf } from '#price/exact.ts';
import { rateIn, reachedRates, STANDARD_TIER, tableOf } from '#price/price.ts';
import type { UseName } from '#price/sheet.ts';
import { amountRange, generationRates, sizedFigures } from './dollars.ts';
import type { AmountRange } from './dollars.ts';
import type { DetailClass, PriceFigures, TokenClass } from './price-list.ts';

/** What a call is priced by: tokens, each in one class, uses of tools, and generations. */
export type CountName = TokenClass | DetailClass | UseName | 'generations';

/** What a call consumes. Whole numbers, not negative; absent: none. */
export type Counts = Readonly<Partial<Record<CountName, bigint>>>;

/** How a call is served. */
export interface Served {
  /** Empty: the standard one. */
  readonly tier: string;
  /** Empty: none that has a price. */
  readonly region: string;
  /** The size and quality of an image or video, as a position in its prices; undefined: any. */
  readonly image: number | undefined;
}

/** A price within one context tier: one rate for each count. */
export interface FlatPrice {
  readonly rates: Readonly<Record<CountName, bigint>>;
  /** The context tier applies to requests with more input tokens; undefined: it is below all of them. */
  readonly above: number | undefined;
  readonly denominator: bigint;
}

/** The tokens that decide about the context tier. */
export const INPUT_CLASSES: readonly CountName[] = [
  'input',
  'imageInput',
  'audioInput',
  'cached',
  'cacheWrite5m',
  'cacheWrite1h',
];

/** The prices that apply to these counts. An image of any size makes one of each of its prices. */
export function flatPrices(prices: readonly PriceFigures[], served: Served, counts: Counts): FlatPrice[] {
  const input = inputOf(counts);
  return prices.flatMap((price) => {
    const { perToken, above } = reachedRates(price, tierOf(served), input);
    const rate = (name: TokenClass | DetailClass): bigint => rateIn(price, served.region, perToken[name]);
    const use = (name: UseName): bigint => price.perUse.get(name) ?? 0n;
    return chosenGenerations(price, served).map((generations): FlatPrice => ({
      above,
      denominator: price.denominator,
      rates: {
        input: rate('input'),
        imageInput: rate('imageInput'),
        audioInput: rate('audioInput'),
        cached: rate('cached'),
        cacheWrite5m: rate('cacheWrite5m'),
        cacheWrite1h: rate('cacheWrite1h'),
        output: rate('output'),
        reasoning: rate('reasoning'),
        imageOutput: rate('imageOutput'),
        audioOutput: rate('audioOutput'),
        webSearch: use('webSearch'),
        webFetch: use('webFetch'),
        fileSearch: use('fileSearch'),
        generations,
      },
    }));
  });
}

/** The context tiers of all prices, ascending, as the number of input tokens that each is above. */
export function stepsOf(prices: readonly PriceFigures[], served: Served): number[] {
  const steps = prices.flatMap((price) => tableOf(price, tierOf(served)).contextTiers.map(({ above }) => above));
  return [...new Set(steps)].sort((a, b) => a - b);
}

/** All input of a call. */
export function inputOf(counts: Counts): bigint {
  return INPUT_CLASSES.reduce((sum, name) => sum + (counts[name] ?? 0n), 0n);
}

/** The cost at the cheapest and at the most expensive of these prices: nano-USD, rounded like a bill. */
export function estimate(
  prices: readonly FlatPrice[],
  counts: Counts,
): { readonly low: bigint; readonly high: bigint } {
  const [low = 0n, ...more] = prices
    .map(({ rates, denominator }) => roundHalfUp(sumOf(rates, counts), denominator))
    .sort(compare);
  return { low, high: more.at(-1) ?? low };
}

/** The amount of one class alone, not rounded. */
export function amountOf(prices: readonly FlatPrice[], name: CountName, count: bigint): AmountRange {
  return amountRange(prices.map(({ rates, denominator }) => ({ numerator: rates[name] * count, denominator })));
}

function tierOf({ tier }: Served): string {
  return tier === '' ? STANDARD_TIER : tier;
}

function chosenGenerations(price: PriceFigures, { image }: Served): readonly bigint[] {
  const chosen = image === undefined ? undefined : sizedFigures(price)[image];
  return chosen ? [chosen.rate] : generationRates(price);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}
