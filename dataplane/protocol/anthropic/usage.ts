/**
 * Anthropic's usage: input_tokens exclude tokens read from and written to the cache. In a stream all counts are
 * cumulative, so events are merged field by field and never summed.
 */
import { readServiceTier } from '../content-counts.ts';
import type { ReportedUsage } from '../converter.ts';
import { isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { readTokenCount } from '../usage.ts';

/** As reported; undefined: not reported. */
export interface AnthropicUsage {
  readonly input: number | undefined;
  readonly cached: number | undefined;
  /** All cache writes together. */
  readonly written: number | undefined;
  readonly written5m: number | undefined;
  readonly written1h: number | undefined;
  readonly output: number | undefined;
  readonly reasoning: number | undefined;
  /** `fast` where it was served at that speed. */
  readonly serviceTier: string | undefined;
  /**
   * Summaries of the conversation that the provider generated on the way: billed, and not included in the other counts.
   */
  readonly compactions: readonly ReportedUsage[] | undefined;
}

export const NO_USAGE: AnthropicUsage = {
  input: undefined, cached: undefined, written: undefined, written5m: undefined, written1h: undefined,
  output: undefined, reasoning: undefined, serviceTier: undefined, compactions: undefined,
};

export function readUsage(usage: JsonRecord): AnthropicUsage {
  return { ...readOwnUsage(usage), compactions: readCompactions(usage['iterations']) };
}

export function toReportedUsage(usage: AnthropicUsage): ReportedUsage {
  return (usage.compactions ?? []).reduce(add, toOwnUsage(usage));
}

/** The thinking part of the output tokens; undefined: not reported. */
export function readReasoningTokens(usage: unknown): number | undefined {
  const details = isRecord(usage) ? usage['output_tokens_details'] : undefined;
  return isRecord(details) ? readTokenCount(details['thinking_tokens']) : undefined;
}

function readOwnUsage(usage: JsonRecord): Omit<AnthropicUsage, 'compactions'> {
  const split = isRecord(usage['cache_creation']) ? usage['cache_creation'] : {};
  return {
    input: readTokenCount(usage['input_tokens']),
    cached: readTokenCount(usage['cache_read_input_tokens']),
    written: readTokenCount(usage['cache_creation_input_tokens']),
    written5m: readTokenCount(split['ephemeral_5m_input_tokens']),
    written1h: readTokenCount(split['ephemeral_1h_input_tokens']),
    output: readTokenCount(usage['output_tokens']),
    reasoning: readReasoningTokens(usage),
    serviceTier: readServedTier(readServiceTier(usage['service_tier']), readServiceTier(usage['speed'])),
  };
}

/** A speed other than the standard one has a price of its own. */
function readServedTier(tier: string | undefined, speed: string | undefined): string | undefined {
  return speed === undefined || (speed === 'standard' && tier !== undefined) ? tier : speed;
}

function readCompactions(iterations: unknown): readonly ReportedUsage[] | undefined {
  if (!Array.isArray(iterations)) return undefined;
  return itemsOf(iterations).filter(isRecord).filter((iteration) => iteration['type'] === 'compaction')
    .map((iteration) => toOwnUsage(readOwnUsage(iteration)));
}

/** Written tokens that are not in the split by lifetime have the API's default, five minutes. */
function toOwnUsage(usage: Omit<AnthropicUsage, 'compactions'>): ReportedUsage {
  const { input, cached, written, written5m, written1h, output, reasoning = 0, serviceTier } = usage;
  const rest = written === undefined ? 0 : Math.max(0, written - (written5m ?? 0) - (written1h ?? 0));
  const cacheWrite5m = written === undefined && written5m === undefined ? undefined : (written5m ?? 0) + rest;
  return {
    input, cached, cacheWrite5m, cacheWrite1h: written1h, output,
    ...reasoning > 0 && { details: { reasoning } }, ...serviceTier !== undefined && { serviceTier },
  };
}

function add(sum: ReportedUsage, more: ReportedUsage): ReportedUsage {
  const plus = (name: Exclude<keyof ReportedUsage, 'details' | 'serviceTier'>): number | undefined =>
    sum[name] === undefined && more[name] === undefined ? undefined : (sum[name] ?? 0) + (more[name] ?? 0);
  return {
    ...sum, input: plus('input'), cached: plus('cached'), cacheWrite5m: plus('cacheWrite5m'),
    cacheWrite1h: plus('cacheWrite1h'), output: plus('output'),
  };
}
