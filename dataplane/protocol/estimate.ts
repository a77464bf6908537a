/**
 * Token counts without a tokenizer: upper bounds for holds, and estimates of usage that providers do not report.
 */
import type { ChatFacts } from './call-facts.ts';

/** A model's limits, from its route. */
export interface ModelTokens {
  readonly contextTokens: number;
  /** Bound of one image. */
  readonly imageTokens: number;
}

/** Upper bound of what a chat template adds to a call: its start, a date, the opening of the answer. */
const CALL_TOKENS = 128;
/** Upper bound of what a chat template adds to a message, block or tool. */
const UNIT_TOKENS = 16;
/** Upper bound of what a chat template adds to a text that is a call of its own. */
export const TEMPLATE_TOKENS = CALL_TOKENS + UNIT_TOKENS;
/** Typical number of tokens that a chat template adds to a message, block or tool. */
const USUAL_UNIT_TOKENS = 3;
const BYTES_PER_TOKEN = 4;

/** Units for the provider's own instructions on how to use tools or a schema, besides the tools or the schema. */
export const PREAMBLE_UNITS = 40;

/**
 * Input tokens at most. A token is at least one byte of text, whatever the tokenizer; what bytes do not bound (images,
 * files) has its own bound; and no call is longer than the model's context.
 */
export function boundInput(facts: ChatFacts, { contextTokens, imageTokens }: ModelTokens): number {
  const tokens =
    facts.textBytes +
    CALL_TOKENS +
    facts.units * UNIT_TOKENS +
    facts.images * imageTokens +
    facts.files * contextTokens;
  return Math.min(contextTokens, tokens);
}

/** Likely input tokens, for a provider that reports none; at most the bound. A file counts as one page. */
export function estimateInput(facts: ChatFacts, model: ModelTokens): number {
  const text = estimateTokens(facts.textBytes) + facts.units * USUAL_UNIT_TOKENS;
  return Math.min(boundInput(facts, model), text + (facts.images + facts.files) * model.imageTokens);
}

/** More than any tokenizer makes of a second of audio (Gemini's 32, OpenAI's 10), or of the words spoken in it. */
export const MAX_AUDIO_TOKENS_PER_SECOND = 50;

/** Likely tokens of a text of so many bytes; not zero unless it is empty. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
