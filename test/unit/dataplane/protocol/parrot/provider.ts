/**
 * The Parrot: a provider with a protocol of its own. Only OpenAI's dialect is converted by hand; the others go
 * through it.
 */
import { chain } from '../../../../../dataplane/protocol/chain.ts';
import { anthropicClient } from '../../../../../dataplane/protocol/clients/anthropic/client.ts';
import { geminiClient } from '../../../../../dataplane/protocol/clients/gemini/client.ts';
import { responsesClient } from '../../../../../dataplane/protocol/clients/responses/client.ts';
import { conversion } from '../../../../../dataplane/protocol/conversion.ts';
import type { Converter } from '../../../../../dataplane/protocol/converter.ts';
import { openEventStream } from '../../../../../dataplane/protocol/event-stream.ts';
import { readProviderError } from '../../../../../dataplane/protocol/provider-errors.ts';
import type { Provider } from '../../../../../dataplane/protocol/provider.ts';
import { openaiChat } from '../../../../../dataplane/protocol/providers/openai-chat/chat.ts';
import { convertResponse, WordsToChunks } from './answer.ts';
import { convertRequest } from './request.ts';

const openaiToParrot: Converter = {
  client: 'OpenAI',
  upstream: 'Parrot',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new WordsToChunks(request), { client: 'OpenAI', requestId: request.id }),
};

export const parrot: Provider = {
  chat: {
    OpenAI: openaiToParrot,
    Anthropic: chain(conversion(anthropicClient, openaiChat), openaiToParrot),
    Responses: chain(conversion(responsesClient, openaiChat), openaiToParrot),
    Gemini: chain(conversion(geminiClient, openaiChat), openaiToParrot),
  },
  credential: (apiKey) => ['x-parrot-key', apiKey],
  defaultHeaders: { 'x-parrot-version': '1' },
  clientHeaders: [],
  // any error format with a message is understood
  readError: readProviderError,
};
