/** Facts about a request for speech, whose price is by the characters of its text, or by tokens. */
import { estimateTokens, TEMPLATE_TOKENS } from '../estimate.ts';
import type { ModelTokens } from '../estimate.ts';
import { isGiven, readModel, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { findImageField } from '../image-inputs.ts';
import { otherTextBytes } from '../other-members.ts';
import { malformed } from '../unsupported.ts';

export interface SpeechFacts {
  readonly model: string;
  /** The response is server-sent events rather than the audio itself. */
  readonly events: boolean;
  /** Of the audio. */
  readonly format: string;
  readonly characters: number;
  /** Upper bound of the input tokens. */
  readonly boundedTokens: number;
  readonly estimatedTokens: number;
  /** The field with the first image, which compatible providers may accept; undefined: none. */
  readonly imageParam: string | undefined;
}

/** What the gateway knows to be no text to speak, while it is as short as a name. */
const NAMES: ReadonlySet<string> = new Set([
  'model',
  'voice',
  'response_format',
  'stream_format',
  'speed',
  'language',
  'user',
]);
const MAX_NAME_LENGTH = 256;
const NO_NAMES: ReadonlySet<string> = new Set(['model']);

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readSpeechFacts(body: Uint8Array, parsed: JsonRecord): SpeechFacts {
  const { input, stream_format: streamFormat, response_format: format } = parsed;
  if (typeof input !== 'string' || input === '') throw malformed('input', 'a text to speak');
  if (isGiven(streamFormat) && streamFormat !== 'audio' && streamFormat !== 'sse')
    throw malformed('stream_format', '"audio" or "sse"');
  return {
    model: readModel(parsed),
    events: streamFormat === 'sse',
    format: stringOf(format).trim().toLowerCase(),
    characters: spokenCharacters(parsed),
    boundedTokens: body.length + TEMPLATE_TOKENS,
    estimatedTokens: estimateTokens(otherTextBytes(parsed, NO_NAMES)),
    imageParam: findImageField(parsed),
  };
}

/** Upper bound of input tokens. What an image comes to is bounded by the context alone. */
export function boundSpeechInput({ boundedTokens, imageParam }: SpeechFacts, { contextTokens }: ModelTokens): number {
  return imageParam === undefined ? Math.min(boundedTokens, contextTokens) : contextTokens;
}

/** Likely input tokens, at most the bound. */
export function estimateSpeechInput(facts: SpeechFacts, model: ModelTokens): number {
  return Math.min(boundSpeechInput(facts, model), facts.estimatedTokens);
}

/** Of the text, its instructions, and of every other text in which a provider may find something to speak. */
function spokenCharacters(parsed: JsonRecord): number {
  return Object.entries(parsed)
    .map(([name, value]) => {
      const text = textIn(value);
      return NAMES.has(name) && text.length <= MAX_NAME_LENGTH ? 0 : codePoints(text);
    })
    .reduce((sum, count) => sum + count, 0);
}

function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : '';
}

/** Characters of Unicode, as providers count them. */
function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++) if ((text.codePointAt(at) ?? 0) > 0xffff) count--;
  return count;
}
