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
}

/** What was consumed: tokens of a Token price, generations (images, videos, calls) of a Request price. */
export interface Consumption {
  readonly tokens: TokenCounts;
  readonly generations: number;
}
