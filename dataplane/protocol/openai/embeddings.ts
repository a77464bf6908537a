/**
 * Embeddings, which pass through: OpenAI client, OpenAI provider.
 */
import { RequestFault } from '../call-facts.ts';
import { readModel } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { inputOnlyConverter, likelyTokens, WRAPPING_TOKENS } from './input-only.ts';

export interface EmbeddingsFacts {
  readonly model: string;
  /** Upper bound for each input: the bytes of a text, or the number of tokens that the client sent. */
  readonly inputTokens: readonly number[];
  /** Likely tokens of all inputs. */
  readonly estimatedTokens: number;
}

/** Throws RequestFault where the model or the input is missing or wrong. */
export function readEmbeddingsFacts(parsed: JsonRecord): EmbeddingsFacts {
  const model = readModel(parsed);
  const inputs = readInputs(parsed['input']);
  const estimated = inputs.map((input) =>
    typeof input === 'string' ? likelyTokens(Buffer.byteLength(input)) : input.length,
  );
  return {
    model,
    inputTokens: inputs.map(
      (input) => (typeof input === 'string' ? Buffer.byteLength(input) : input.length) + WRAPPING_TOKENS,
    ),
    estimatedTokens: estimated.reduce((sum, tokens) => sum + tokens, 0),
  };
}

/** Upper bound of input tokens: providers truncate or refuse an input that exceeds the model's context. */
export function boundEmbeddingsInput(facts: EmbeddingsFacts, contextTokens: number): number {
  return facts.inputTokens.reduce((sum, tokens) => sum + Math.min(tokens, contextTokens), 0);
}

export const embeddingsConverter = inputOnlyConverter({
  path: '/embeddings',
  isResponse: (response) => Array.isArray(response['data']),
  isNone: 'the answer holds no embeddings',
});

/** A text, a list of texts, a list of tokens, or a list of such lists. */
function readInputs(input: unknown): readonly (string | readonly unknown[])[] {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) throw inputFault('input');
  const items: readonly unknown[] = input;
  if (isTokens(items)) return [items];
  return items.map((item, index) => {
    if (typeof item === 'string') return item;
    if (Array.isArray(item) && isTokens(item)) return item;
    throw inputFault(`input[${index}]`);
  });
}

function isTokens(items: readonly unknown[]): boolean {
  return items.every((item) => typeof item === 'number');
}

function inputFault(param: string): RequestFault {
  return new RequestFault(
    'invalid_request',
    `The field "${param}" must be a text or a list of tokens; "input" may be a list of either.`,
    param,
  );
}
