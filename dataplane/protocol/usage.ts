/**
 * Usage as providers report it. A count that no call can have is treated as not reported: never as zero, never as an
 * error.
 */
import type { Meter, ReportedUsage } from './converter.ts';
import { estimateTokens } from './estimate.ts';
import { isRecord } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import type { OutputTally } from './output-tally.ts';

/** Whether the provider has produced anything. */
export function hasOutput({ outputBytes, reported }: Meter): boolean {
  return outputBytes > 0 || (reported.output ?? 0) > 0;
}

export const UNREPORTED_USAGE: ReportedUsage = {
  input: undefined,
  cached: undefined,
  cacheWrite5m: undefined,
  cacheWrite1h: undefined,
  output: undefined,
};

/** As a part of a count: all of it, whatever it is. */
export const ALL_TOKENS = Number.MAX_SAFE_INTEGER;

/** No call consumes that much; a provider that reports more must not empty an account. */
const MAX_TOKENS = 2 ** 31 - 1;

/** A count, rounded up; undefined: not reported, or not credible. */
export function readTokenCount(value: unknown): number | undefined {
  if (typeof value !== 'number' || !(value >= 0 && value <= MAX_TOKENS)) return undefined;
  // JSON has a negative zero
  return Math.abs(Math.ceil(value));
}

/** No provider's usage has as many members. The limit stops a stream that adds new names in each event. */
const MAX_MEMBERS = 64;

/** Field by field: newer values win, and undefined ones leave the older value. */
export function mergeDefined<T extends object>(older: T, newer: T): T {
  return { ...older, ...Object.fromEntries(Object.entries(newer).filter(([, value]) => value !== undefined)) };
}

/**
 * Counts of one call as a provider repeats them, merged field by field before they are told apart: of two numbers the
 * larger, because counts are cumulative, of two objects their fields, and of anything else the newer. Members beyond
 * MAX_MEMBERS are not kept.
 */
export function largerCounts(older: JsonRecord, newer: JsonRecord): JsonRecord {
  const merged: Record<string, unknown> = { ...older };
  let left = MAX_MEMBERS - Object.keys(merged).length;
  for (const [name, value] of Object.entries(newer)) {
    if (value === undefined || value === null) continue;
    if (!Object.hasOwn(merged, name) && left-- <= 0) continue;
    merged[name] = largerValue(merged[name], value);
  }
  return merged;
}

function largerValue(older: unknown, newer: unknown): unknown {
  if (isRecord(older) && isRecord(newer)) return largerCounts(older, newer);
  const count = readTokenCount(older);
  return count !== undefined && !((readTokenCount(newer) ?? -1) >= count) ? older : newer;
}

/** The largest of these counts; undefined: none is reported. Providers repeat one count under several names. */
export function largestCount(...values: readonly unknown[]): number | undefined {
  const counts = values.map(readTokenCount).filter((count) => count !== undefined);
  return counts.length === 0 ? undefined : Math.max(...counts);
}

const COUNTS = ['input', 'cached', 'cacheWrite5m', 'cacheWrite1h', 'output'] as const;
const DETAILS = ['audioInput', 'imageInput', 'reasoning', 'audioOutput', 'imageOutput'] as const;

/** The counts of two requests together. */
export function addUsage(sum: ReportedUsage, more: ReportedUsage): ReportedUsage {
  const plus = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
  const counts = Object.fromEntries(COUNTS.map((name) => [name, plus(sum[name], more[name])]));
  const details = Object.fromEntries(
    DETAILS.map((name) => [name, plus(sum.details?.[name], more.details?.[name])]).filter(
      ([, count]) => count !== undefined,
    ),
  );
  return { ...UNREPORTED_USAGE, ...counts, ...(Object.keys(details).length > 0 && { details }) };
}

/** The estimated input less what the provider reports of its other classes. */
export function estimateRestOfInput(reported: ReportedUsage, estimatedInputTokens: number): number {
  return Math.max(0, estimatedInputTokens - cacheTokens(reported));
}

function cacheTokens({ cached = 0, cacheWrite5m = 0, cacheWrite1h = 0 }: ReportedUsage): number {
  return cached + cacheWrite5m + cacheWrite1h;
}

/** Fills in estimates for counts that the provider has not reported. */
export function fillUsage({ reported, outputBytes }: Meter, estimatedInputTokens: number): ReportedUsage {
  return {
    ...reported,
    input: reported.input ?? estimateRestOfInput(reported, estimatedInputTokens),
    output: reported.output ?? estimateTokens(outputBytes),
  };
}

/** Without zeros that are none: no text takes no tokens, and no text is generated from nothing. */
function withoutFalseZeros(reported: ReportedUsage, outputBytes: number): ReportedUsage {
  const { input, output = 0 } = reported;
  const isFalseInput = input === 0 && cacheTokens(reported) === 0 && (outputBytes > 0 || output > 0);
  const isFalseOutput = reported.output === 0 && outputBytes > 0;
  if (!isFalseInput && !isFalseOutput) return reported;
  return {
    ...reported,
    ...(isFalseInput && { input: undefined }),
    ...(isFalseOutput && { output: undefined }),
  };
}

/**
 * `output`: its text, or only the text's size in bytes. `complete`: the usage covers the whole response. It is final
 * then, if it has a count of the output.
 */
export function meterOf(given: ReportedUsage, output: OutputTally | number, complete = true): Meter {
  const outputBytes = typeof output === 'number' ? output : output.bytes;
  const reported = withoutFalseZeros(given, outputBytes);
  const final = complete && reported.output !== undefined;
  // final usage needs no text
  if (final || typeof output === 'number') return { reported, final, outputBytes };
  return { reported, final, outputBytes, outputTexts: output.texts };
}
