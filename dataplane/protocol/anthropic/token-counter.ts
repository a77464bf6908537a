/**
 * Anthropic's endpoint for counting tokens, which takes the messages request as it would be sent.
 */
import { editObject } from '../json-edit.ts';
import { decodeUtf8 } from '../bytes.ts';
import { parseEventData } from '../json-value.ts';
import type { TokenCounter } from '../provider.ts';
import { readTokenCount } from '../usage.ts';

export const tokenCounter: TokenCounter = {
  request: (body, parsed, { upstreamModel }) => ({
    path: '/v1/messages/count_tokens',
    body:
      parsed['model'] === upstreamModel ? body : editObject(body, new Map([['model', JSON.stringify(upstreamModel)]])),
  }),
  // Bedrock's CountTokens has the other name
  read: (body) => {
    const { input_tokens: count, inputTokens } = parseEventData(decodeUtf8(body)) ?? {};
    return readTokenCount(count ?? inputTokens);
  },
};
