/**
 * Usage of Converse. Its input tokens exclude those read from and written to the cache, as Anthropic's do.
 */
import { readServiceTier } from '../../content-counts.ts';
import type { ReportedUsage } from '../../converter.ts';
import { convertedFields } from '../../field-table.ts';
import { isRecord, itemsOf } from '../../fields.ts';
import { readTokenCount, UNREPORTED_USAGE } from '../../usage.ts';
import { USAGE } from './table.ts';

/** `serviceTier`: the answer's object of that name. */
export function readUsage(usage: unknown, serviceTier: unknown): ReportedUsage {
  if (!isRecord(usage)) return UNREPORTED_USAGE;
  const { inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens, cacheDetails } = convertedFields(
    USAGE,
    usage,
  );
  const tier = readServiceTier(isRecord(serviceTier) ? serviceTier['type'] : undefined);
  return {
    input: readTokenCount(inputTokens),
    cached: readTokenCount(cacheReadInputTokens),
    ...writesOf(readTokenCount(cacheWriteInputTokens), hourOf(cacheDetails)),
    output: readTokenCount(outputTokens),
    ...(tier !== undefined && { serviceTier: tier }),
  };
}

/** Tokens written for an hour; undefined: none are named. */
function hourOf(details: unknown): number | undefined {
  const counts = itemsOf(details)
    .filter(isRecord)
    .filter(({ ttl }) => ttl === '1h')
    .map(({ inputTokens }) => readTokenCount(inputTokens) ?? 0);
  return counts.length > 0 ? counts.reduce((sum, count) => sum + count, 0) : undefined;
}

/** Writes that the details do not list are kept for five minutes. */
function writesOf(
  written: number | undefined,
  hour: number | undefined,
): Pick<ReportedUsage, 'cacheWrite5m' | 'cacheWrite1h'> {
  const rest = written === undefined ? undefined : Math.max(0, written - (hour ?? 0));
  return { cacheWrite5m: rest, cacheWrite1h: hour };
}
