/**
 * Tokens as the demo provider counts them: words (of at most eight letters), numbers and signs, each with the preceding
 * space. This is no vendor's tokenizer, but the same text always has the same count.
 */

const TOKEN = /\s*(?:\p{L}{1,8}|\p{N}{1,4}|[^\s\p{L}\p{N}])|\s+$/gu;
/** The tokens of a message and an image besides their text. */
const PER_MESSAGE = 4;
const PER_IMAGE = 256;

/** Splits a text into pieces of one token; joined, they are the text again. */
export function tokensOf(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

export function countTokens(texts: readonly string[], images = 0): number {
  return texts.reduce((sum, text) => sum + PER_MESSAGE + tokensOf(text).length, 0) + images * PER_IMAGE;
}
