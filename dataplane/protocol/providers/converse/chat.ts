/** Conversations on Bedrock's Converse. */
import type { Conversation } from '../../conversation/request.ts';
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
  const { upstreamModel: model } = context.plan;
  const plan = { upstreamModel: model, maxOutputTokens: 1, outputLimitField: 'max_tokens' } as const;
  const { messages, system, toolConfig } = writeRequest(conversation, { ...context, plan, stream: false }).body;
  return { path: `${modelPath(model)}/count-tokens`, body: { input: { converse: { messages, system, toolConfig } } } };
}
