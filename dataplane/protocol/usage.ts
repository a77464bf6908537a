/**
 * Token figures of providers, which are taken as they come only where they can be true: a figure that is not a number a
 * call could have is "not said", never zero and never a crash.
 */
import type { Meter, ReportedUsage } from './converter.ts';
import { estimateOutputTokens } from './estimate.ts';

export const NOTHING_REPORTED: ReportedUsage = {
  input: undefined, cached: undefined, cacheWrite5m: undefined, cacheWrite1h: undefined, output: undefined,
};

/** No call consumes that much; a provider that says so is not believed, lest it empty an account. */
const MOST_TOKENS = 2 ** 31 - 1;

/** A figure, rounded up; undefined: not said, or not credible. */
export function readTokenCount(value: unknown): number | undefined {
  if (typeof value !== 'number' || !(value >= 0 && value <= MOST_TOKENS)) return undefined;
  // JSON knows a negative zero
  return Math.abs(Math.ceil(value));
}

/** Field by field, what was said later wins, and what was not said stays. */
export function mergeSaid<T extends object>(older: T, newer: T): T {
  return { ...older, ...Object.fromEntries(Object.entries(newer).filter(([, said]) => said !== undefined)) };
}

/** For a client that wants figures where the provider gave none: what is missing is estimated. */
export function fillUsage({ reported, outputBytes }: Meter, estimatedInputTokens: number): ReportedUsage {
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = reported;
  const said = (input ?? cached ?? cacheWrite5m ?? cacheWrite1h) !== undefined;
  return { ...reported, input: input ?? (said ? 0 : estimatedInputTokens), output: output ?? estimateOutputTokens(outputBytes) };
}

/** What a meter says of an answer that has been read. */
export function meterOf(reported: ReportedUsage, outputBytes: number, final = reported.output !== undefined): Meter {
  return { reported, final, outputBytes };
}
