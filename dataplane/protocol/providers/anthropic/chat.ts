/** Conversations on providers of Anthropic's protocol. */
import type { ProofMaker } from '../../conversation/reasoning.ts';
import type { ChatProvider } from '../chat-provider.ts';
import { readResponse } from './read-response.ts';
import { MessageEventReader } from './read-stream.ts';
import { NAME } from './write-parts.ts';
import { writeRequest } from './write-request.ts';

type CountingProvider = ChatProvider & Required<Pick<ChatProvider, 'writeCount'>>;

/** Anthropic's models accept reasoning that they have signed. */
export const anthropicChat = messagesWith(['Anthropic']);

/** `proofs`: whose reasoning requests have. */
export function messagesWith(proofs: readonly ProofMaker[]): CountingProvider {
  return {
    name: NAME,
    write: (conversation, context) => writeRequest(conversation, { ...context, proofs }),
    /** The request as count_tokens takes it: without settings for the response. */
    writeCount: (conversation, { plan: { upstreamModel }, dropped }) => {
      const plan = { upstreamModel, maxOutputTokens: 1, outputLimitField: 'max_tokens' } as const;
      const { body } = writeRequest(conversation, { plan, stream: false, dropped, proofs });
      const { model, system, messages, tools, tool_choice } = body;
      return { path: '/v1/messages/count_tokens', body: { model, system, messages, tools, tool_choice } };
    },
    read: readResponse,
    stream: (context) => new MessageEventReader(context),
  };
}
