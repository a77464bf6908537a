/**
 * Anthropic's endpoint for counting tokens, which takes the messages request as it would be sent: without thinking that
 * Anthropic did not sign.
 */
import { editObject } from '../json-edit.ts';
import { decodeUtf8 } from '../bytes.ts';
import { parseEventData } from '../json-value.ts';
import type { TokenCounter } from '../provider.ts';
import { readTokenCount } from '../usage.ts';
import { ownMessages } from './foreign-thinking.ts';

export const tokenCounter: TokenCounter = {
  request: (body, parsed, { upstreamModel }) => {
    const edits = new Map<string, string>();
    if (parsed['model'] !== upstreamModel) edits.set('model', JSON.stringify(upstreamModel));
    const messages = ownMessages(body, parsed);
    if (messages !== undefined) edits.set('messages', messages);
    return { path: '/v1/messages/count_tokens', body: editObject(body, edits) };
  },
  // Bedrock's CountTokens has the other name
  read: (body) => {
    const { input_tokens: count, inputTokens } = parseEventData(decodeUtf8(body)) ?? {};
    return readTokenCount(count ?? inputTokens);
  },
};
