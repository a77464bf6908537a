/** Conversations on Bedrock's Converse. */
import type { Conversation } from '../../conversation/request.ts';
import { planOfCount } from '../chat-provider.ts';
import type { ChatProvider, CountContext, WrittenRequest } from '../chat-provider.ts';
import { readResponse } from './read-response.ts';
import { ConverseEventReader } from './read-stream.ts';
import { NAME } from './write-messages.ts';
import { modelPath, writeRequest } from './write-request.ts';

export const converseChat: ChatProvider & Required<Pick<ChatProvider, 'writeCount'>> = {
  name: NAME,
  write: writeRequest,
  writeCount,
  read: readResponse,
  stream: (context) => new ConverseEventReader(context),
};

/** The request as CountTokens takes it: without settings for the response. */
function writeCount(conversation: Conversation, context: CountContext): Pick<WrittenRequest, 'path' | 'body'> {
  const { messages, system, toolConfig } = writeRequest(conversation, planOfCount(context)).body;
  return {
    path: `${modelPath(context.plan.upstreamModel)}/count-tokens`,
    body: { input: { converse: { messages, system, toolConfig } } },
  };
}
