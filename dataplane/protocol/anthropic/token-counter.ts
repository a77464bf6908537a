/**
 * Anthropic's endpoint for counting tokens, which takes the messages request as it would be sent: without thinking that
 * Anthropic did not sign.
 */
import { decodeUtf8 } from '../bytes.ts';
import { DroppedFields } from '../dropped-fields.ts';
import type { JsonRecord } from '../fields.ts';
import { editObject, editsOf, withChanges } from '../json-edit.ts';
import { parseEventData, reparseLosslessly, writeJson } from '../json-value.ts';
import { platformCountMembers, wrappedCount } from '../platforms/platform-request.ts';
import type { TokenCounter } from '../provider.ts';
import { readTokenCount } from '../usage.ts';
import { ownMessages } from './foreign-thinking.ts';

export const tokenCounter: TokenCounter = {
  request: (body, parsed, { upstreamModel, platform: plan }) => {
    const changed = new Map<string, unknown>();
    if (parsed['model'] !== upstreamModel) changed.set('model', upstreamModel);
    const messages = ownMessages(body, parsed);
    if (messages !== undefined) changed.set('messages', messages);
    const given = (): JsonRecord => withChanges(reparseLosslessly(body, parsed), changed);
    const all = new Map([...changed, ...platformCountMembers({ plan, given, dropped: new DroppedFields() })]);
    const sent = editObject(body, editsOf(all));
    const wrapped = wrappedCount(plan, () => sent);
    return { path: '/v1/messages/count_tokens', body: wrapped ? Buffer.from(writeJson(wrapped)) : sent };
  },
  // Bedrock's CountTokens has the other name
  read: (body) => {
    const { input_tokens: count, inputTokens } = parseEventData(decodeUtf8(body)) ?? {};
    return readTokenCount(count ?? inputTokens);
  },
};
