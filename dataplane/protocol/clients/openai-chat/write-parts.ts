/** Writes what whole responses and streams have in common. */
import type { ConversionNotes, ReportedDetails, ReportedUsage } from '../../converter.ts';
import type { CitationEvent, FinishReason, TokenProbability } from '../../conversation/events.ts';
import { writeProof } from '../../conversation/reasoning.ts';
import type { ReasoningProof } from '../../conversation/reasoning.ts';
import type { JsonRecord } from '../../fields.ts';
import { DETAIL_FORMATS } from '../../openai/detail-formats.ts';
import { hasWebAddress } from '../citations.ts';
import { wholeInput } from '../custom-input.ts';
import { writeTokens } from '../token-probabilities.ts';
import { FINISH_REASONS, SERVICE_TIERS } from './table.ts';

export function completionId(id: string): string {
  return `chatcmpl-${id}`;
}

/** The detail that brings a piece of reasoning back; undefined: it has no proof. */
export function writeReasoningDetail(
  text: string,
  proof: ReasoningProof | undefined,
  index: number,
): JsonRecord | undefined {
  if (!proof) return undefined;
  const format = DETAIL_FORMATS[proof.maker];
  if ('redacted' in proof) return { type: 'reasoning.encrypted', data: proof.redacted, format, index };
  return { type: 'reasoning.text', text, signature: writeProof(proof), format, index };
}

export interface WrittenCall {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

/** A call as the client expects it: of a function, of a custom tool, or as function_call. */
export function writeCall({ id, name, text }: WrittenCall, notes: ConversionNotes | undefined): JsonRecord {
  if (notes?.legacyFunctions === true) return { function_call: { name, arguments: text } };
  if (notes?.customTools?.has(name) === true) return { id, type: 'custom', custom: { name, input: wholeInput(text) } };
  return { id, type: 'function', function: { name, arguments: text } };
}

/** Whether a call can only be written once it is complete: a custom tool's text is within JSON. */
export function isWrittenWhole(name: string, notes: ConversionNotes | undefined): boolean {
  return notes?.legacyFunctions === true || notes?.customTools?.has(name) === true;
}

/** A picture, as OpenRouter writes it. */
export function writeImage({ mediaType, data }: { readonly mediaType: string; readonly data: string }): JsonRecord {
  return { type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } };
}

/** A source that is no web address has no counterpart. */
export function writeCitations(citations: readonly CitationEvent[]): readonly JsonRecord[] {
  return citations.filter(hasWebAddress).map(({ url, title, start, end }) => ({
    type: 'url_citation',
    url_citation: { url, title: title ?? '', start_index: start, end_index: end },
  }));
}

/** Undefined: there are none. */
export function writeLogProbabilities(tokens: readonly TokenProbability[]): JsonRecord | undefined {
  if (tokens.length === 0) return undefined;
  return { content: writeTokens(tokens), refusal: null };
}

/** A response that the provider did not end counts as ended. */
export function finishReasonOf(reason: FinishReason | undefined, notes: ConversionNotes | undefined): string {
  const written = FINISH_REASONS.values.get(reason ?? 'Stop') ?? 'stop';
  return written === 'tool_calls' && notes?.legacyFunctions === true ? 'function_call' : written;
}

/** Undefined: the client's protocol has no name for it. */
export function serviceTierOf({ serviceTier }: ReportedUsage): string | undefined {
  return serviceTier === undefined ? undefined : SERVICE_TIERS.values.get(serviceTier);
}

/** prompt_tokens include tokens read from and written to the cache. */
export function writeUsage(usage: ReportedUsage): JsonRecord {
  const { input = 0, cached = 0, cacheWrite5m = 0, cacheWrite1h = 0, output = 0, details } = usage;
  const written = cacheWrite5m + cacheWrite1h;
  const prompt = input + cached + written;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      cache_write_tokens: written,
      ...(details?.audioInput !== undefined && { audio_tokens: details.audioInput }),
    },
    ...writeOutputDetails(details ?? {}),
  };
}

function writeOutputDetails({ reasoning, audioOutput }: ReportedDetails): JsonRecord {
  if (reasoning === undefined && audioOutput === undefined) return {};
  return {
    completion_tokens_details: {
      ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
      ...(audioOutput !== undefined && { audio_tokens: audioOutput }),
    },
  };
}
