/**
 * OpenAI's usage figures: prompt_tokens include cached and written ones. Compatible providers differ in where they put them.
 */
import type { ReportedUsage } from '../converter.ts';
import { isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { mergeSaid, readTokenCount } from '../usage.ts';

/** As said; undefined: not said. */
export interface OpenAiFigures {
  readonly prompt: number | undefined;
  readonly cached: number | undefined;
  readonly cacheWrite: number | undefined;
  readonly completion: number | undefined;
  readonly reasoning: number | undefined;
  readonly total: number | undefined;
}

export const NO_FIGURES: OpenAiFigures = {
  prompt: undefined, cached: undefined, cacheWrite: undefined, completion: undefined, reasoning: undefined, total: undefined,
};

/** The usage object of an answer or chunk: at its top, or where some providers put it without being asked. */
export function usageOf(answer: JsonRecord): JsonRecord | undefined {
  const first: unknown = itemsOf(answer['choices'])[0];
  const elsewhere = [isRecord(first) ? first['usage'] : undefined, isRecord(answer['x_groq']) ? answer['x_groq']['usage'] : undefined];
  return [answer['usage'], ...elsewhere].find(isRecord);
}

export function readFigures(usage: JsonRecord): OpenAiFigures {
  // images and responses call them input and output
  const promptDetails = [usage['prompt_tokens_details'], usage['input_tokens_details']].find(isRecord) ?? {};
  const completionDetails = [usage['completion_tokens_details'], usage['output_tokens_details']].find(isRecord) ?? {};
  const cached: unknown[] = [promptDetails['cached_tokens'], usage['prompt_cache_hit_tokens'], usage['cached_tokens']];
  return {
    prompt: readTokenCount(usage['prompt_tokens'] ?? usage['input_tokens']),
    cached: cached.map(readTokenCount).find((count) => count !== undefined),
    cacheWrite: readTokenCount(promptDetails['cache_write_tokens']),
    completion: readTokenCount(usage['completion_tokens'] ?? usage['output_tokens']),
    reasoning: readTokenCount(completionDetails['reasoning_tokens']),
    total: readTokenCount(usage['total_tokens']),
  };
}

/** What a later chunk says replaces what an earlier one said, figure by figure. */
export function mergeFigures(older: OpenAiFigures, newer: OpenAiFigures): OpenAiFigures {
  return mergeSaid(older, newer);
}

/**
 * Each prompt token in one class only: cached and written figures may overlap, and their sum may exceed the prompt; the written
 * ones are what gives way, then.
 */
export function reportOpenAi(figures: OpenAiFigures): ReportedUsage {
  const { prompt } = figures;
  const cached = atMost(figures.cached, prompt);
  const cacheWrite5m = atMost(figures.cacheWrite, prompt === undefined ? undefined : prompt - (cached ?? 0));
  const input = prompt === undefined ? undefined : prompt - (cached ?? 0) - (cacheWrite5m ?? 0);
  return { input, cached, cacheWrite5m, cacheWrite1h: undefined, output: outputOf(figures) };
}

/** Of the output, what was reasoned; undefined: not said. */
export function readReasoningTokens(usage: unknown): number | undefined {
  return isRecord(usage) ? readFigures(usage).reasoning : undefined;
}

function atMost(count: number | undefined, most: number | undefined): number | undefined {
  return count === undefined || most === undefined ? count : Math.min(count, most);
}

/** Some providers leave reasoning out of completion_tokens; the total then proves it. */
function outputOf({ prompt, completion, reasoning, total }: OpenAiFigures): number | undefined {
  if (completion === undefined) return total !== undefined && prompt !== undefined && total >= prompt ? total - prompt : undefined;
  const apart = reasoning !== undefined && reasoning > 0 && total === (prompt ?? 0) + completion + reasoning;
  return apart ? completion + reasoning : completion;
}
