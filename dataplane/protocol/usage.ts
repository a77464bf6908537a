/**
 * Usage as providers report it. A count that no call can have is treated as not reported: never as zero, never as an
 * error.
 */
import type { Meter, ReportedUsage } from './converter.ts';
import { estimateOutputTokens } from './estimate.ts';
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

/** No call consumes that much; a provider that reports more must not empty an account. */
const MAX_TOKENS = 2 ** 31 - 1;

/** A count, rounded up; undefined: not reported, or not credible. */
export function readTokenCount(value: unknown): number | undefined {
  if (typeof value !== 'number' || !(value >= 0 && value <= MAX_TOKENS)) return undefined;
  // JSON has a negative zero
  return Math.abs(Math.ceil(value));
}

/** Field by field: newer values win, and undefined ones leave the older value. */
export function mergeDefined<T extends object>(older: T, newer: T): T {
  return { ...older, ...Object.fromEntries(Object.entries(newer).filter(([, value]) => value !== undefined)) };
}

/**
 * Counts of one call as a provider repeats them, merged field by field before they are told apart: of two numbers the
 * larger, because counts are cumulative, and of anything else the newer.
 */
export function largerCounts(older: JsonRecord, newer: JsonRecord): JsonRecord {
  const merged: Record<string, unknown> = { ...older };
  for (const [name, value] of Object.entries(newer)) {
    if (value === undefined || value === null) continue;
    const before = older[name];
    const isSmaller = typeof value === 'number' && typeof before === 'number' && before > value;
    if (!isSmaller) merged[name] = value;
  }
  return merged;
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

/** Fills in estimates for counts that the provider has not reported. */
export function fillUsage({ reported, outputBytes }: Meter, estimatedInputTokens: number): ReportedUsage {
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = reported;
  const inputReported = (input ?? cached ?? cacheWrite5m ?? cacheWrite1h) !== undefined;
  return {
    ...reported,
    input: input ?? (inputReported ? 0 : estimatedInputTokens),
    output: output ?? estimateOutputTokens(outputBytes),
  };
}

/** By default usage is final once the output is reported. `output`: its text, or only its size in bytes. */
export function meterOf(
  reported: ReportedUsage,
  output: OutputTally | number,
  final = reported.output !== undefined,
): Meter {
  if (typeof output === 'number') return { reported, final, outputBytes: output };
  // final usage needs no text
  return { reported, final, outputBytes: output.bytes, ...(!final && { outputTexts: output.texts }) };
}
