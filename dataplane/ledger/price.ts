/**
 * [P] The price of a call in nano-USD, exactly: every ratio is an integer of billionths, the sum is one fraction, and
 * it is rounded once, half up.
 *   price(Token) = (input + cached·cacheRatio + write5m·cacheWriteRatio + write1h·cacheWrite1hRatio
 *                   + output·completionRatio) · modelRatio · ratioBaseUsd/10⁶ · groupRatio
 *   price(Request) = requestUsd · generations · groupRatio
 */
import type { TokenCounts } from './usage-record.ts';

/**
 * A price as a group pays it, compiled once per snapshot. The numerators share one denominator:
 * cost = ⌊(Σ n·numerator)/denominator + ½⌋.
 */
export interface CompiledPrice {
  readonly perToken: Readonly<Record<keyof TokenCounts, bigint>>;
  readonly perGeneration: bigint;
  readonly denominator: bigint;
}

/** What was consumed: tokens of a Token price, generations (images, videos, calls) of a Request price. */
export interface Consumption {
  readonly tokens: TokenCounts;
  readonly generations: number;
}

/** A catalog's price of one model, before any group's ratio. All figures are billionths (10⁻⁹). */
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
  /** Of the whole call: the limit per answer times the number of answers. */
  readonly outputTokens: number;
  /** The body asks for one-hour cache writes; otherwise no token can become one. */
  readonly oneHourCache: boolean;
  readonly generations: number;
}

const ONE_E10 = 10n ** 10n;
const ONE_E18 = 10n ** 18n;
/**
 * Class ratio 10⁻¹⁰, model ratio 10⁻⁹, ratio base 10⁻⁹ USD per 10⁶ tokens, group ratio 10⁻¹⁸; a USD has 10⁹ nano-USD.
 */
const TOKEN_DENOMINATOR = 10n ** BigInt(10 + 9 + 9 + 6 + 18 - 9);
const FREE: CompiledPrice['perToken'] = { input: 0n, cached: 0n, cacheWrite5m: 0n, cacheWrite1h: 0n, output: 0n };

/**
 * A model's price at a group's ratio.
 * @param groupRatioE18 the serving group's ratio (10⁻⁹) times the automatic group's, or times 10⁹
 */
export function compilePrice(price: CatalogPrice, groupRatioE18: bigint): CompiledPrice {
  if (price.quotaType === 'Request')
    return { perToken: FREE, perGeneration: price.requestNanoUsd * groupRatioE18, denominator: ONE_E18 };
  const perToken = price.modelRatioE9 * price.ratioBaseUsdE9 * groupRatioE18;
  // 10⁻¹⁰ is the coarsest unit in which cacheWriteRatio × 1.6 is whole
  const { cacheWriteRatioE9, cacheWrite1hRatioE9 } = price;
  const cacheWrite1hE10 = cacheWrite1hRatioE9 === undefined ? cacheWriteRatioE9 * 16n : cacheWrite1hRatioE9 * 10n;
  return {
    perToken: {
      input: perToken * ONE_E10,
      cached: perToken * price.cacheRatioE9 * 10n,
      cacheWrite5m: perToken * cacheWriteRatioE9 * 10n,
      cacheWrite1h: perToken * cacheWrite1hE10,
      output: perToken * price.completionRatioE9 * 10n,
    },
    perGeneration: 0n,
    denominator: TOKEN_DENOMINATOR,
  };
}

/** What a consumption costs, rounded half up. */
export function costNanoUsd(price: CompiledPrice, { tokens, generations }: Consumption): bigint {
  const { perToken, perGeneration, denominator } = price;
  const sum = charge(perToken.input, tokens.input) + charge(perToken.cached, tokens.cached)
    + charge(perToken.cacheWrite5m, tokens.cacheWrite5m) + charge(perToken.cacheWrite1h, tokens.cacheWrite1h)
    + charge(perToken.output, tokens.output) + charge(perGeneration, generations);
  return (2n * sum + denominator) / (2n * denominator);
}

/**
 * The most that a call within these bounds can cost, rounded up: all its input in the dearest class that it can have.
 */
export function worstCaseNanoUsd(price: CompiledPrice, bounds: ConsumptionBounds): bigint {
  const sum = charge(dearestInput(price, bounds.oneHourCache), bounds.inputTokens)
    + charge(price.perToken.output, bounds.outputTokens) + charge(price.perGeneration, bounds.generations);
  return (sum + price.denominator - 1n) / price.denominator;
}

/** The largest output whose worst case, with this input, fits the budget; 0 where not even the input fits. */
export function affordableOutputTokens(
  price: CompiledPrice, budgetNanoUsd: bigint,
  { inputTokens, oneHourCache }: Pick<ConsumptionBounds, 'inputTokens' | 'oneHourCache'>,
): number {
  // ⌈sum/denominator⌉ ≤ budget is sum ≤ budget · denominator
  const left = budgetNanoUsd * price.denominator - charge(dearestInput(price, oneHourCache), inputTokens);
  if (left < 0n) return 0;
  if (price.perToken.output === 0n) return Number.MAX_SAFE_INTEGER;
  const tokens = left / price.perToken.output;
  return tokens > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Number(tokens);
}

function dearestInput({ perToken }: CompiledPrice, oneHourCache: boolean): bigint {
  const dearest = larger(larger(perToken.input, perToken.cached), perToken.cacheWrite5m);
  return oneHourCache ? larger(dearest, perToken.cacheWrite1h) : dearest;
}

/** Counts are whole and not negative. If a defect makes them anything else, the price must not fall or throw. */
function charge(numerator: bigint, count: number): bigint {
  if (numerator === 0n || !(count > 0)) return 0n;
  return numerator * BigInt(Number.isSafeInteger(count) ? count : Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER));
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
