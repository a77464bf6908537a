/** The Parrot: a provider with a protocol of its own. */
import { anthropicClient } from '../../../../../dataplane/protocol/clients/anthropic/client.ts';
import { geminiClient } from '../../../../../dataplane/protocol/clients/gemini/client.ts';
import { openaiChatClient } from '../../../../../dataplane/protocol/clients/openai-chat/client.ts';
import { responsesClient } from '../../../../../dataplane/protocol/clients/responses/client.ts';
import { conversion } from '../../../../../dataplane/protocol/conversion.ts';
import { readProviderError } from '../../../../../dataplane/protocol/provider-errors.ts';
import type { Provider } from '../../../../../dataplane/protocol/provider.ts';
import type { ChatProvider } from '../../../../../dataplane/protocol/providers/chat-provider.ts';
import { NAME, writeRequest } from './request.ts';
import { readResponse, WordReader } from './response.ts';

const parrotChat: ChatProvider = {
  name: NAME,
  write: writeRequest,
  read: readResponse,
  stream: () => new WordReader(),
};

export const parrot: Provider = {
  chat: {
    OpenAI: conversion(openaiChatClient, parrotChat),
    Anthropic: conversion(anthropicClient, parrotChat),
    Responses: conversion(responsesClient, parrotChat),
    Gemini: conversion(geminiClient, parrotChat),
  },
  credential: (apiKey) => ['x-parrot-key', apiKey],
  defaultHeaders: { 'x-parrot-version': '1' },
  clientHeaders: [],
  // any error format with a message is understood
  readError: readProviderError,
};
