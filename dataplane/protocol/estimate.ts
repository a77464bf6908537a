/**
 * Token counts without a tokenizer: bounds that no provider can exceed, for holds, and estimates, for what providers leave out.
 */
import type { ChatFacts } from './call-facts.ts';

/** Of a model, as its route says. */
export interface ModelTokens {
  readonly contextTokens: number;
  /** Bound of one image. */
  readonly imageTokens: number;
}

/** A provider's own wrapping of a call: its beginning, date lines of chat templates, the answer's opening. */
const CALL_TOKENS = 128;
/** A provider's own wrapping of one message, block or tool. */
const UNIT_TOKENS = 16;
/** Of the same in ordinary text. */
const USUAL_UNIT_TOKENS = 3;
const BYTES_PER_TOKEN = 4;

/** How many units the provider's own words about tools, or about an answer's schema, are worth, beside those themselves. */
export const PREAMBLE_UNITS = 40;

/**
 * Input tokens at most. A token is at least one byte of text, whatever the tokenizer; what bytes do not bound (images, files)
 * has its own bound; and no call is longer than the model's context.
 */
export function boundInput(facts: ChatFacts, { contextTokens, imageTokens }: ModelTokens): number {
  const tokens = facts.textBytes + CALL_TOKENS + facts.units * UNIT_TOKENS + facts.images * imageTokens + facts.files * contextTokens;
  return Math.min(contextTokens, tokens);
}

/** Input tokens as they usually are, for a provider that does not say; at most the bound. A file counts as one page. */
export function estimateInput(facts: ChatFacts, model: ModelTokens): number {
  const text = Math.ceil(facts.textBytes / BYTES_PER_TOKEN) + facts.units * USUAL_UNIT_TOKENS;
  return Math.min(boundInput(facts, model), text + (facts.images + facts.files) * model.imageTokens);
}

/** Output tokens of generated text; never zero once there is some. */
export function estimateOutputTokens(outputBytes: number): number {
  return Math.ceil(outputBytes / BYTES_PER_TOKEN);
}
