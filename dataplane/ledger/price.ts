/**
 * [P] The price of a call, in nano-USD, exactly: every ratio is an integer of billionths, the sum is one fraction, and it is
 * rounded once, half up. price(Token) = (input + cached·cacheRatio + write5m·cacheWriteRatio + write1h·cacheWrite1hRatio +
 * output·completionRatio) · modelRatio · ratioBaseUsd/10⁶ · groupRatio; price(Request) = requestUsd · generations · groupRatio.
 */
import type { TokenCounts } from './usage-record.ts';

/** A price as a group pays it: compiled once per snapshot. Numerators share one denominator; cost = ⌊(Σ n·numerator)/denominator + ½⌋. */
export interface CompiledPrice {
  readonly perToken: Readonly<Record<keyof TokenCounts, bigint>>;
  readonly perGeneration: bigint;
  readonly denominator: bigint;
  /** The same where all are small, as most are: a call is priced four times, and that costs half in numbers. */
  readonly inNumbers: NumberPrice | undefined;
}

/** Numerators and their denominator as numbers, each exact. */
export interface NumberPrice extends Readonly<Record<keyof TokenCounts, number>> {
  readonly perGeneration: number;
  readonly denominator: number;
  /** The dearest class of input without one-hour cache writes. */
  readonly dearestInput: number;
}

/** What was consumed: tokens of a Token price, generations (images, videos, calls) of a Request price. */
export interface Consumption {
  readonly tokens: TokenCounts;
  readonly generations: number;
}

/** A catalog's price of one model, before any group's ratio. Everything is in billionths (10⁻⁹). */
export interface CatalogPrice {
  readonly quotaType: 'Token' | 'Request';
  /** USD per million input tokens at model ratio 1. */
  readonly ratioBaseUsdE9: bigint;
  readonly modelRatioE9: bigint;
  readonly completionRatioE9: bigint;
  readonly cacheRatioE9: bigint;
  readonly cacheWriteRatioE9: bigint;
  /** Absent: cacheWriteRatio × 1.6, exactly. */
  readonly cacheWrite1hRatioE9?: bigint;
  readonly requestNanoUsd: bigint;
}

/** What a call can consume at most. */
export interface ConsumptionBounds {
  readonly inputTokens: number;
  /** Of the whole call: times its number of answers. */
  readonly outputTokens: number;
  /** The body asks for one-hour cache writes; without, no token can become one. */
  readonly oneHourCache: boolean;
  readonly generations: number;
}

const ONE_E10 = 10n ** 10n;
const ONE_E18 = 10n ** 18n;
/** Class ratio 10⁻¹⁰, model ratio 10⁻⁹, ratio base 10⁻⁹ USD per 10⁶ tokens, group ratio 10⁻¹⁸; a USD has 10⁹ nano-USD. */
const TOKEN_DENOMINATOR = 10n ** BigInt(10 + 9 + 9 + 6 + 18 - 9);
const FREE: CompiledPrice['perToken'] = { input: 0n, cached: 0n, cacheWrite5m: 0n, cacheWrite1h: 0n, output: 0n };

/** A model's price at a group's ratio. `groupRatioE18`: the serving group's ratio (10⁻⁹) times the automatic group's, or times 10⁹. */
export function compilePrice(price: CatalogPrice, groupRatioE18: bigint): CompiledPrice {
  if (price.quotaType === 'Request')
    return reduce({ perToken: FREE, perGeneration: price.requestNanoUsd * groupRatioE18, denominator: ONE_E18 });
  const perToken = price.modelRatioE9 * price.ratioBaseUsdE9 * groupRatioE18;
  // 10⁻¹⁰ is the coarsest unit in which cacheWriteRatio × 1.6 is whole
  const cacheWrite1hE10 = price.cacheWrite1hRatioE9 === undefined ? price.cacheWriteRatioE9 * 16n : price.cacheWrite1hRatioE9 * 10n;
  return reduce({
    perToken: {
      input: perToken * ONE_E10,
      cached: perToken * price.cacheRatioE9 * 10n,
      cacheWrite5m: perToken * price.cacheWriteRatioE9 * 10n,
      cacheWrite1h: perToken * cacheWrite1hE10,
      output: perToken * price.completionRatioE9 * 10n,
    },
    perGeneration: 0n,
    denominator: TOKEN_DENOMINATOR,
  });
}

/** What a consumption costs, rounded half up. */
export function costNanoUsd(price: CompiledPrice, consumption: Consumption): bigint {
  return (price.inNumbers && costInNumbers(price.inNumbers, consumption)) ?? costInBigInts(price, consumption);
}

/** Undefined: it may not be exact. What is too large for that is still so when it is rounded, as nothing is negative. */
function costInNumbers(price: NumberPrice, { tokens, generations }: Consumption): bigint | undefined {
  if (!isCount(tokens.input) || !isCount(tokens.cached) || !isCount(tokens.cacheWrite5m) || !isCount(tokens.cacheWrite1h) || !isCount(tokens.output) || !isCount(generations)) return undefined;
  const sum = price.input * tokens.input + price.cached * tokens.cached + price.cacheWrite5m * tokens.cacheWrite5m
    + price.cacheWrite1h * tokens.cacheWrite1h + price.output * tokens.output + price.perGeneration * generations;
  return quotient(2 * sum + price.denominator, 2 * price.denominator);
}

function costInBigInts(price: CompiledPrice, { tokens, generations }: Consumption): bigint {
  const { perToken, perGeneration, denominator } = price;
  const sum = charge(perToken.input, tokens.input) + charge(perToken.cached, tokens.cached)
    + charge(perToken.cacheWrite5m, tokens.cacheWrite5m) + charge(perToken.cacheWrite1h, tokens.cacheWrite1h)
    + charge(perToken.output, tokens.output) + charge(perGeneration, generations);
  return denominator === 1n ? sum : (2n * sum + denominator) / (2n * denominator);
}

/** The most that a call within these bounds can cost, rounded up: every input token at the dearest class that it can become. */
export function worstCaseNanoUsd(price: CompiledPrice, bounds: ConsumptionBounds): bigint {
  return (price.inNumbers && worstInNumbers(price.inNumbers, bounds)) ?? worstInBigInts(price, bounds);
}

function worstInNumbers(price: NumberPrice, { inputTokens, outputTokens, generations, oneHourCache }: ConsumptionBounds): bigint | undefined {
  if (!isCount(inputTokens) || !isCount(outputTokens) || !isCount(generations)) return undefined;
  const dearest = oneHourCache ? Math.max(price.dearestInput, price.cacheWrite1h) : price.dearestInput;
  return quotient(dearest * inputTokens + price.output * outputTokens + price.perGeneration * generations + (price.denominator - 1), price.denominator);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** Of whole numbers, rounded down; undefined: not exact. A remainder is exact, and so is a division that leaves none. */
function quotient(numerator: number, denominator: number): bigint | undefined {
  return numerator <= Number.MAX_SAFE_INTEGER ? BigInt((numerator - numerator % denominator) / denominator) : undefined;
}

function worstInBigInts(price: CompiledPrice, bounds: ConsumptionBounds): bigint {
  const sum = charge(dearestInput(price, bounds.oneHourCache), bounds.inputTokens)
    + charge(price.perToken.output, bounds.outputTokens) + charge(price.perGeneration, bounds.generations);
  return (sum + price.denominator - 1n) / price.denominator;
}

/** The largest output whose worst case, with this input, fits the budget; 0 where not even the input fits. */
export function affordableOutputTokens(
  price: CompiledPrice, budgetNanoUsd: bigint, { inputTokens, oneHourCache }: Pick<ConsumptionBounds, 'inputTokens' | 'oneHourCache'>,
): number {
  // ⌈sum/denominator⌉ ≤ budget is sum ≤ budget · denominator
  const left = budgetNanoUsd * price.denominator - charge(dearestInput(price, oneHourCache), inputTokens);
  if (left < 0n) return 0;
  if (price.perToken.output === 0n) return Number.MAX_SAFE_INTEGER;
  const tokens = left / price.perToken.output;
  return tokens > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Number(tokens);
}

function dearestInput({ perToken }: Pick<CompiledPrice, 'perToken'>, oneHourCache: boolean): bigint {
  const dearest = larger(larger(perToken.input, perToken.cached), perToken.cacheWrite5m);
  return oneHourCache ? larger(dearest, perToken.cacheWrite1h) : dearest;
}

/** Counts are whole and not negative; what a defect makes of them must neither lower a price nor stop a settlement. */
function charge(numerator: bigint, count: number): bigint {
  if (numerator === 0n || !(count > 0)) return 0n;
  return numerator * BigInt(Number.isSafeInteger(count) ? count : Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER));
}

type Fractions = Omit<CompiledPrice, 'inNumbers'>;

function reduce({ perToken, perGeneration, denominator }: Fractions): CompiledPrice {
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = perToken;
  const divisor = [input, cached, cacheWrite5m, cacheWrite1h, output, perGeneration].reduce(greatestCommonDivisor, denominator);
  const reduced = {
    perToken: {
      input: input / divisor, cached: cached / divisor, cacheWrite5m: cacheWrite5m / divisor,
      cacheWrite1h: cacheWrite1h / divisor, output: output / divisor,
    },
    perGeneration: perGeneration / divisor,
    denominator: denominator / divisor,
  };
  return { ...reduced, inNumbers: numbersOf(reduced) };
}

/** Twice the denominator is reckoned with, too. */
const LARGEST_PART = BigInt(Number.MAX_SAFE_INTEGER) / 4n;

function numbersOf({ perToken, perGeneration, denominator }: Fractions): NumberPrice | undefined {
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = perToken;
  if ([input, cached, cacheWrite5m, cacheWrite1h, output, perGeneration, denominator].some((part) => part < 0n || part > LARGEST_PART)) return undefined;
  return {
    input: Number(input), cached: Number(cached), cacheWrite5m: Number(cacheWrite5m), cacheWrite1h: Number(cacheWrite1h), output: Number(output),
    perGeneration: Number(perGeneration), denominator: Number(denominator), dearestInput: Number(dearestInput({ perToken }, false)),
  };
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
