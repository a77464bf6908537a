/**
 * OpenAI's usage: prompt_tokens include tokens read from and written to the cache. Compatible providers put usage in
 * other places.
 */
import { readServiceTier } from '../content-counts.ts';
import type { ReportedDetails, ReportedUsage } from '../converter.ts';
import { isRecord, itemsOf, recordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { largestCount, readTokenCount } from '../usage.ts';

/** As reported; undefined: not reported. */
export interface OpenAiUsage {
  readonly prompt: number | undefined;
  readonly cached: number | undefined;
  readonly cacheWrite: number | undefined;
  readonly completion: number | undefined;
  readonly reasoning: number | undefined;
  readonly total: number | undefined;
  readonly details: ReportedDetails | undefined;
  /** Not in the usage object, but beside it. */
  readonly serviceTier: string | undefined;
}

export const NO_USAGE: OpenAiUsage = {
  prompt: undefined,
  cached: undefined,
  cacheWrite: undefined,
  completion: undefined,
  reasoning: undefined,
  total: undefined,
  details: undefined,
  serviceTier: undefined,
};

/** The usage object of a response or chunk: at the top level, or where some providers put it unasked. */
export function usageOf(answer: JsonRecord): JsonRecord | undefined {
  const first: unknown = itemsOf(answer['choices'])[0];
  const elsewhere = [
    isRecord(first) ? first['usage'] : undefined,
    isRecord(answer['x_groq']) ? answer['x_groq']['usage'] : undefined,
  ];
  return [answer['usage'], ...elsewhere].find(isRecord);
}

export function readUsage(usage: JsonRecord): OpenAiUsage {
  // images and responses have input and output instead of prompt and completion
  const promptDetails = [usage['prompt_tokens_details'], usage['input_tokens_details']].find(isRecord) ?? {};
  const completionDetails = [usage['completion_tokens_details'], usage['output_tokens_details']].find(isRecord) ?? {};
  return {
    prompt: largestCount(usage['prompt_tokens'], usage['input_tokens']),
    cached: largestCount(
      promptDetails['cached_tokens'],
      usage['prompt_cache_hit_tokens'],
      usage['cached_tokens'],
      usage['cache_read_input_tokens'],
    ),
    cacheWrite: largestCount(
      promptDetails['cache_write_tokens'],
      // LiteLLM and new-api report them so, and repeat Anthropic's own name
      promptDetails['cache_creation_tokens'],
      promptDetails['cached_creation_tokens'],
      usage['cache_creation_input_tokens'],
    ),
    completion: largestCount(usage['completion_tokens'], usage['output_tokens']),
    reasoning: readTokenCount(completionDetails['reasoning_tokens']),
    total: readTokenCount(usage['total_tokens']),
    details: readDetails(promptDetails, completionDetails),
    serviceTier: undefined,
  };
}

/** The usage with the tier that the answer beside it names. */
function withTier(usage: OpenAiUsage, answer: JsonRecord): OpenAiUsage {
  return { ...usage, serviceTier: readServiceTier(answer['service_tier']) };
}

/** What a whole response reports. */
export function reportedIn(answer: JsonRecord): ReportedUsage {
  const usage = usageOf(answer);
  return toReportedUsage(withTier(usage ? readUsage(usage) : NO_USAGE, answer));
}

/** Cached tokens are in no class of modality. */
function readDetails(prompt: JsonRecord, completion: JsonRecord): ReportedDetails | undefined {
  const cached = recordOf(prompt['cached_tokens_details']);
  const uncached = (name: string): number =>
    Math.max(0, (readTokenCount(prompt[name]) ?? 0) - (readTokenCount(cached[name]) ?? 0));
  const counts = {
    audioInput: uncached('audio_tokens'),
    imageInput: uncached('image_tokens'),
    reasoning: readTokenCount(completion['reasoning_tokens']),
    audioOutput: readTokenCount(completion['audio_tokens']),
    imageOutput: readTokenCount(completion['image_tokens']),
  };
  // that a model has not reasoned is told, too
  const given = Object.entries(counts).filter(
    ([name, count]) => count !== undefined && (count > 0 || name === 'reasoning'),
  );
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/**
 * Counts each prompt token in one class only: cached and written tokens may overlap or exceed the prompt; then the
 * written ones are reduced.
 */
export function toReportedUsage(usage: OpenAiUsage): ReportedUsage {
  const { prompt } = usage;
  const cached = atMost(usage.cached, prompt);
  const cacheWrite5m = atMost(usage.cacheWrite, prompt === undefined ? undefined : prompt - (cached ?? 0));
  const input = prompt === undefined ? undefined : prompt - (cached ?? 0) - (cacheWrite5m ?? 0);
  const { details, serviceTier } = usage;
  return {
    input,
    cached,
    cacheWrite5m,
    cacheWrite1h: undefined,
    output: outputOf(usage),
    ...(details && { details }),
    ...(serviceTier !== undefined && { serviceTier }),
  };
}

function atMost(count: number | undefined, limit: number | undefined): number | undefined {
  return count === undefined || limit === undefined ? count : Math.min(count, limit);
}

/** Some providers leave reasoning out of completion_tokens, which the total shows. */
function outputOf({ prompt, completion, reasoning, total }: OpenAiUsage): number | undefined {
  if (completion === undefined)
    return total !== undefined && prompt !== undefined && total >= prompt ? total - prompt : undefined;
  const apart = reasoning !== undefined && reasoning > 0 && total === (prompt ?? 0) + completion + reasoning;
  return apart ? completion + reasoning : completion;
}
