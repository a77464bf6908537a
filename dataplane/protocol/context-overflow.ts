/**
 * A call that is longer than the model's context, in the words of each dialect. Agents make their conversation shorter
 * where they find the words that they know, or OpenAI's code, and give up otherwise.
 */
import type { Dialect } from './call-facts.ts';
import type { ProviderError } from './converter.ts';

export const OVERFLOW_CODE = 'context_length_exceeded';
export const OVERFLOW_STATUS = 400;

/** Of Anthropic, OpenAI, Google, Bedrock, xAI, Groq, Mistral, Moonshot, MiniMax, OpenRouter, vLLM, llama.cpp, LM Studio. */
const WORDS = [
  /prompt is too long/i,
  /input is too long/i,
  /input length and `max_tokens` exceed context limit/i,
  /context[_ ](?:length|window|size|limit)[_ ](?:is |was |has been )?exceeded/i,
  /exceeds?\b.{0,60}\bcontext (?:length|window|size|limit)/i,
  /(?:greater|longer|larger) than the (?:model's )?context (?:length|window|size)/i,
  /maximum (?:context|prompt|model) length\b/i,
  /context window exceeds limit/i,
  /input token count.{0,40}exceeds the maximum/i,
  /exceeded model token limit/i,
  /too large for model with \d+ maximum context/i,
  /reduce the length of the (?:messages|prompt|input)/i,
];
/** Limits of another kind, whose messages speak of tokens too. */
const RATE = /\b(?:per[ -](?:minute|day|second)|rate limit|TPM)\b/i;

export function isContextOverflow({ message, code }: Pick<ProviderError, 'message' | 'code'>): boolean {
  if (code === OVERFLOW_CODE) return true;
  return WORDS.some((words) => words.test(message)) && !RATE.test(message);
}

/** What a dialect's clients look for. */
const KNOWN: Readonly<Record<Dialect, RegExp>> = {
  Anthropic: /prompt is too long|input length and `max_tokens` exceed context limit/i,
  OpenAI: /context (?:length|window)/i,
  Gemini: /input token count.*exceeds the maximum/i,
};

/** The message in a dialect's words: unchanged where it has them, otherwise with the figures of the provider's. */
export function overflowMessage(dialect: Dialect, { message, code }: Pick<ProviderError, 'message' | 'code'>): string {
  if (KNOWN[dialect].test(message) || (dialect === 'OpenAI' && code === OVERFLOW_CODE)) return message;
  const figures = figuresIn(message);
  switch (dialect) {
    case 'Anthropic':
      return `prompt is too long: ${figures ? `${figures.given} tokens > ${figures.limit} maximum` : message}`;
    case 'OpenAI':
      return `Your input exceeds the context window of this model. ${message}`;
    case 'Gemini':
      return figures
        ? `The input token count (${figures.given}) exceeds the maximum number of tokens allowed (${figures.limit}).`
        : `The input token count exceeds the maximum number of tokens allowed. ${message}`;
  }
}

interface Figures {
  readonly given: number;
  readonly limit: number;
}

const LIMITS = [
  /> (\d[\d,]{2,12}) maximum/i,
  /(?:maximum|limit|context (?:length|size|window))[^0-9]{0,60}(\d[\d,]{2,12})/i,
];

/** The limit, which messages call the maximum, and the larger number beside it. */
function figuresIn(message: string): Figures | undefined {
  const [, text] = LIMITS.map((limit) => limit.exec(message)).find((found) => found !== null) ?? [];
  if (text === undefined) return undefined;
  const limit = numberOf(text);
  const given = Math.max(...(message.match(/\d[\d,]{2,12}/g) ?? []).map(numberOf));
  return given > limit ? { given, limit } : undefined;
}

function numberOf(text: string): number {
  return Number(text.replaceAll(',', ''));
}
