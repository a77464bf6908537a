/** Writes log probabilities as OpenAI's dialects have them. */
import type { TokenProbability } from '../conversation/events.ts';
import type { JsonRecord } from '../fields.ts';

export function writeTokens(tokens: readonly TokenProbability[]): readonly JsonRecord[] {
  return tokens.map((token) => ({ ...writeToken(token), top_logprobs: token.alternatives.map(writeToken) }));
}

function writeToken({ token, logProbability }: Pick<TokenProbability, 'token' | 'logProbability'>): JsonRecord {
  return { token, logprob: logProbability, bytes: [...Buffer.from(token)] };
}
