/** Conversations on providers of Anthropic's protocol. */
import type { Conversation } from '../../conversation/request.ts';
import { withChanges } from '../../json-edit.ts';
import { writeJson } from '../../json-value.ts';
import { platformCountMembers, wrappedCount } from '../../platforms/platform-request.ts';
import { planOfCount } from '../chat-provider.ts';
import type { ChatProvider, CountContext, WrittenRequest } from '../chat-provider.ts';
import { readResponse } from './read-response.ts';
import { MessageEventReader } from './read-stream.ts';
import { NAME } from './write-parts.ts';
import { writeRequest } from './write-request.ts';

export const anthropicChat: ChatProvider & Required<Pick<ChatProvider, 'writeCount'>> = {
  name: NAME,
  write: writeRequest,
  writeCount,
  read: readResponse,
  stream: (context) => new MessageEventReader(context),
};

/** The request as count_tokens takes it: without settings for the response. */
function writeCount(conversation: Conversation, context: CountContext): Pick<WrittenRequest, 'path' | 'body'> {
  const {
    plan: { platform },
    dropped,
  } = context;
  const { model, system, messages, tools, tool_choice } = writeRequest(conversation, planOfCount(context)).body;
  const given = { model, system, messages, tools, tool_choice };
  const body = withChanges(given, platformCountMembers({ plan: platform, given: () => given, dropped }));
  const wrapped = wrappedCount(platform, () => Buffer.from(writeJson(body)));
  return { path: '/v1/messages/count_tokens', body: wrapped ?? body };
}
