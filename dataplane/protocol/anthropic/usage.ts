/**
 * Anthropic's usage: input_tokens exclude tokens read from and written to the cache. In a stream all counts are
 * cumulative, so events are merged field by field and never summed.
 */
import { readServiceTier } from '../content-counts.ts';
import type { ReportedPart, ReportedUsage, ReportedUses } from '../converter.ts';
import { isRecord, itemsOf, recordOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { addUsage, largestCount, mergeDefined, readTokenCount } from '../usage.ts';

/** As reported; undefined: not reported. */
interface OwnUsage {
  readonly input: number | undefined;
  readonly cached: number | undefined;
  /** All cache writes together. */
  readonly written: number | undefined;
  readonly written5m: number | undefined;
  readonly written1h: number | undefined;
  readonly output: number | undefined;
  readonly reasoning: number | undefined;
  /** `fast` if the call was served at that speed. */
  readonly serviceTier: string | undefined;
}

export interface AnthropicUsage extends OwnUsage {
  /** The requests that the provider made for the call, each with a length and perhaps a model of its own. */
  readonly iterations: readonly Iteration[] | undefined;
  readonly region: string | undefined;
  readonly searches: number | undefined;
  readonly fetches: number | undefined;
}

interface Iteration {
  readonly type: string;
  readonly part: ReportedPart;
}

export const NO_USAGE: AnthropicUsage = {
  input: undefined,
  cached: undefined,
  written: undefined,
  written5m: undefined,
  written1h: undefined,
  output: undefined,
  reasoning: undefined,
  serviceTier: undefined,
  iterations: undefined,
  region: undefined,
  searches: undefined,
  fetches: undefined,
};

export function readUsage(usage: JsonRecord): AnthropicUsage {
  const tools = recordOf(usage['server_tool_use']);
  return {
    ...readOwnUsage(usage),
    iterations: readIterations(usage['iterations']),
    region: textOf(usage['inference_geo']),
    searches: readTokenCount(tools['web_search_requests']),
    fetches: readTokenCount(tools['web_fetch_requests']),
  };
}

const INPUTS = ['input', 'cached', 'written', 'written5m', 'written1h'] as const;

/**
 * Two reports of one call. Counts of output are cumulative, so that the larger one counts. Of the input the newer
 * report counts, because the first may be an estimate; but zeros without anything that is new in it are no report.
 */
export function mergeUsage(older: AnthropicUsage, newer: AnthropicUsage): AnthropicUsage {
  const isReport = INPUTS.some((name) => (newer[name] ?? 0) > (older[name] ?? 0));
  const input = INPUTS.map((name) => [name, isReport || newer[name] !== 0 ? newer[name] : undefined]);
  return {
    ...mergeDefined(older, { ...newer, ...Object.fromEntries(input) }),
    output: largestCount(older.output, newer.output),
    reasoning: largestCount(older.reasoning, newer.reasoning),
    searches: largestCount(older.searches, newer.searches),
    fetches: largestCount(older.fetches, newer.fetches),
  };
}

export function toReportedUsage(usage: AnthropicUsage): ReportedUsage {
  const own = toOwnUsage(usage);
  const parts = partsOf(own, usage.iterations ?? []);
  const uses = usesOf(usage);
  return {
    ...(parts.length === 0 ? own : parts.reduce(addUsage, NOTHING)),
    ...(own.serviceTier !== undefined && { serviceTier: own.serviceTier }),
    ...(usage.region !== undefined && { region: usage.region }),
    ...(parts.length > 1 && { parts }),
    ...(uses && { uses }),
  };
}

function usesOf({ searches: webSearch = 0, fetches: webFetch = 0 }: AnthropicUsage): ReportedUses | undefined {
  if (webSearch + webFetch === 0) return undefined;
  return { ...(webSearch > 0 && { webSearch }), ...(webFetch > 0 && { webFetch }) };
}

const NOTHING: ReportedUsage = {
  input: undefined,
  cached: undefined,
  cacheWrite5m: undefined,
  cacheWrite1h: undefined,
  output: undefined,
};

/** The thinking part of the output tokens; undefined: not reported. */
function readReasoningTokens(usage: unknown): number | undefined {
  const details = isRecord(usage) ? usage['output_tokens_details'] : undefined;
  return isRecord(details) ? readTokenCount(details['thinking_tokens']) : undefined;
}

function readOwnUsage(usage: JsonRecord): OwnUsage {
  const split = recordOf(usage['cache_creation']);
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

function readIterations(iterations: unknown): readonly Iteration[] | undefined {
  if (!Array.isArray(iterations)) return undefined;
  return itemsOf(iterations)
    .filter(isRecord)
    .map((iteration): Iteration => {
      const model = textOf(iteration['model']);
      const part = { ...toOwnUsage(readOwnUsage(iteration)), ...(model !== undefined && { model }) };
      return { type: textOf(iteration['type']) ?? 'message', part };
    });
}

/** The call's own sampling; what else there is, a summary or another model's advice, is billed besides. */
const OWN_TYPES: ReadonlySet<string> = new Set(['message']);
const FALLBACK_TYPES: ReadonlySet<string> = new Set(['message', 'fallback_message']);

/**
 * The requests to bill, none where there is only the call itself. The call's own figures are the sum of its own
 * iterations, of which old servers list only some; then its own figures count as one request.
 */
function partsOf(own: ReportedUsage, iterations: readonly Iteration[]): readonly ReportedPart[] {
  for (const types of [OWN_TYPES, FALLBACK_TYPES]) {
    const sum = iterations
      .filter(({ type }) => types.has(type))
      .map(({ part }) => part)
      .reduce(addUsage, NOTHING);
    if (isSameUsage(sum, own)) return iterations.map(({ part }) => part);
  }
  const others = iterations.filter(({ type }) => !FALLBACK_TYPES.has(type)).map(({ part }) => part);
  return others.length === 0 ? [] : [own, ...others];
}

function isSameUsage(a: ReportedUsage, b: ReportedUsage): boolean {
  return (
    (['input', 'cached', 'cacheWrite5m', 'cacheWrite1h', 'output'] as const).every(
      (name) => (a[name] ?? 0) === (b[name] ?? 0),
    ) && a.output !== undefined
  );
}

/** Written tokens that are not in the split by lifetime have the API's default, five minutes. */
function toOwnUsage(usage: OwnUsage): ReportedUsage {
  const { input, cached, written, written5m, written1h, output, reasoning, serviceTier } = usage;
  const rest = written === undefined ? 0 : Math.max(0, written - (written5m ?? 0) - (written1h ?? 0));
  const cacheWrite5m = written === undefined && written5m === undefined ? undefined : (written5m ?? 0) + rest;
  return {
    input,
    cached,
    cacheWrite5m,
    cacheWrite1h: written1h,
    output,
    ...(reasoning !== undefined && { details: { reasoning } }),
    ...(serviceTier !== undefined && { serviceTier }),
  };
}
