/**
 * Anthropic's usage figures: input_tokens exclude cached and written ones. In a stream every figure is cumulative, so events
 * are merged field by field and never summed.
 */
import type { ReportedUsage } from '../converter.ts';
import { isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { mergeSaid, readTokenCount } from '../usage.ts';

/** As said; undefined: not said. */
export interface AnthropicFigures {
  readonly input: number | undefined;
  readonly cached: number | undefined;
  /** All cache writes together. */
  readonly written: number | undefined;
  readonly written5m: number | undefined;
  readonly written1h: number | undefined;
  readonly output: number | undefined;
  /** Summaries that the provider made of the conversation on the way: billed, and in no other figure. */
  readonly compactions: readonly ReportedUsage[] | undefined;
}

export const NO_FIGURES: AnthropicFigures = {
  input: undefined, cached: undefined, written: undefined, written5m: undefined, written1h: undefined, output: undefined, compactions: undefined,
};

export function readFigures(usage: JsonRecord): AnthropicFigures {
  return { ...readOwnFigures(usage), compactions: readCompactions(usage['iterations']) };
}

/** What a later event says replaces what an earlier one said, figure by figure. */
export function mergeFigures(older: AnthropicFigures, newer: AnthropicFigures): AnthropicFigures {
  return mergeSaid(older, newer);
}

export function reportAnthropic(figures: AnthropicFigures): ReportedUsage {
  return (figures.compactions ?? []).reduce(add, reportOwn(figures));
}

/** Of the output, what was thought; undefined: not said. */
export function readReasoningTokens(usage: unknown): number | undefined {
  const details = isRecord(usage) ? usage['output_tokens_details'] : undefined;
  return isRecord(details) ? readTokenCount(details['thinking_tokens']) : undefined;
}

function readOwnFigures(usage: JsonRecord): Omit<AnthropicFigures, 'compactions'> {
  const split = isRecord(usage['cache_creation']) ? usage['cache_creation'] : {};
  return {
    input: readTokenCount(usage['input_tokens']),
    cached: readTokenCount(usage['cache_read_input_tokens']),
    written: readTokenCount(usage['cache_creation_input_tokens']),
    written5m: readTokenCount(split['ephemeral_5m_input_tokens']),
    written1h: readTokenCount(split['ephemeral_1h_input_tokens']),
    output: readTokenCount(usage['output_tokens']),
  };
}

function readCompactions(iterations: unknown): readonly ReportedUsage[] | undefined {
  if (!Array.isArray(iterations)) return undefined;
  return itemsOf(iterations).filter(isRecord).filter((iteration) => iteration['type'] === 'compaction')
    .map((iteration) => reportOwn(readOwnFigures(iteration)));
}

/** A total without its split, or beyond it, was written for five minutes: the API's default. */
function reportOwn(figures: Omit<AnthropicFigures, 'compactions'>): ReportedUsage {
  const { input, cached, written, written5m, written1h, output } = figures;
  const rest = written === undefined ? 0 : Math.max(0, written - (written5m ?? 0) - (written1h ?? 0));
  const cacheWrite5m = written === undefined && written5m === undefined ? undefined : (written5m ?? 0) + rest;
  return { input, cached, cacheWrite5m, cacheWrite1h: written1h, output };
}

function add(sum: ReportedUsage, more: ReportedUsage): ReportedUsage {
  const plus = (name: keyof ReportedUsage): number | undefined =>
    sum[name] === undefined && more[name] === undefined ? undefined : (sum[name] ?? 0) + (more[name] ?? 0);
  return { input: plus('input'), cached: plus('cached'), cacheWrite5m: plus('cacheWrite5m'), cacheWrite1h: plus('cacheWrite1h'), output: plus('output') };
}
