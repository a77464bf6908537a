/**
 * Embeddings, which pass through: OpenAI client, OpenAI provider.
 */
import { readModel } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { inputOnlyConverter } from './input-only.ts';
import { boundTokens, likelyTokens, readTokenInputs } from './token-inputs.ts';

export interface EmbeddingsFacts {
  readonly model: string;
  /** Upper bound for each input: the bytes of a text, or the number of tokens that the client sent. */
  readonly inputTokens: readonly number[];
  /** Likely tokens of all inputs. */
  readonly estimatedTokens: number;
}

/** Upper bound of what a provider adds to one input. */
const WRAPPING_TOKENS = 8;

/** Throws RequestFault where the model or the input is missing or wrong. */
export function readEmbeddingsFacts(parsed: JsonRecord): EmbeddingsFacts {
  const model = readModel(parsed);
  const inputs = readTokenInputs(parsed['input'], 'input');
  return {
    model,
    inputTokens: inputs.map((input) => boundTokens(input) + WRAPPING_TOKENS),
    estimatedTokens: inputs.reduce<number>((sum, input) => sum + likelyTokens(input), 0),
  };
}

/** Upper bound of input tokens: providers truncate or refuse an input that exceeds the model's context. */
export function boundEmbeddingsInput(facts: EmbeddingsFacts, contextTokens: number): number {
  return facts.inputTokens.reduce((sum, tokens) => sum + Math.min(tokens, contextTokens), 0);
}

export const embeddingsConverter = inputOnlyConverter({
  path: '/embeddings',
  isResponse: (response) => Array.isArray(response['data']),
  fault: 'the answer holds no embeddings',
});
