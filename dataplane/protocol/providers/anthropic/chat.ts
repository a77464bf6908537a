/** Conversations on providers of Anthropic's protocol. */
import type { Conversation } from '../../conversation/request.ts';
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
  const { upstreamModel } = context.plan;
  const plan = { upstreamModel, maxOutputTokens: 1, outputLimitField: 'max_tokens' } as const;
  const { body } = writeRequest(conversation, { ...context, plan, stream: false });
  const { model, system, messages, tools, tool_choice } = body;
  return { path: '/v1/messages/count_tokens', body: { model, system, messages, tools, tool_choice } };
}
