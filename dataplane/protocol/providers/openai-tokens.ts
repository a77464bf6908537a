/** Reads the log probabilities of chat completions and Responses, which have one form. */
import type { TokenProbability } from '../conversation/events.ts';
import { isRecord, itemsOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

export function readTokens(given: unknown): readonly TokenProbability[] {
  return itemsOf(given)
    .filter(isRecord)
    .map((token) => ({
      ...valueOf(token),
      alternatives: itemsOf(token['top_logprobs']).filter(isRecord).map(valueOf),
    }));
}

function valueOf({ token, logprob }: JsonRecord): Pick<TokenProbability, 'token' | 'logProbability'> {
  return { token: stringOf(token), logProbability: Number(logprob) };
}
