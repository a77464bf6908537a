/**
 * OpenAI and providers that are compatible with it. The base URL is the one that the SDK takes, with /v1.
 */
import { openaiToOpenai } from '../openai-openai.ts';
import { anthropicClient } from '../clients/anthropic/client.ts';
import { geminiClient } from '../clients/gemini/client.ts';
import { openaiChatClient } from '../clients/openai-chat/client.ts';
import { responsesClient } from '../clients/responses/client.ts';
import { conversion, countConversion } from '../conversion.ts';
import { batchEmbedOnOpenai, embedContentOnOpenai } from '../gemini-embeddings-on-openai.ts';
import { OPENAI_COST_FIELDS } from '../cost-fields.ts';
import { readProviderError } from '../provider-errors.ts';
import { openaiChat } from '../providers/openai-chat/chat.ts';
import { responsesChat } from '../providers/responses/chat.ts';
import type { Provider } from '../provider.ts';
import { openaiEndpoints } from './endpoints.ts';
import { responseCounter } from './response-counter.ts';

export const openai: Provider = {
  chat: {
    OpenAI: openaiToOpenai,
    Anthropic: conversion(anthropicClient, openaiChat),
    Responses: conversion(responsesClient, openaiChat),
    Gemini: conversion(geminiClient, openaiChat),
  },
  chatByResponses: {
    OpenAI: conversion(openaiChatClient, responsesChat),
    Anthropic: conversion(anthropicClient, responsesChat),
    Gemini: conversion(geminiClient, responsesChat),
  },
  endpoints: openaiEndpoints,
  geminiEndpoints: { embedContent: embedContentOnOpenai, batchEmbedContents: batchEmbedOnOpenai },
  tokenCounters: {
    Responses: responseCounter,
    Anthropic: { ...responseCounter, request: countConversion(anthropicClient, responsesChat) },
    Gemini: { ...responseCounter, request: countConversion(geminiClient, responsesChat) },
  },
  credential: (apiKey) => ['authorization', `Bearer ${apiKey}`],
  defaultHeaders: {},
  clientHeaders: [
    'openai-beta',
    // Codex
    'originator',
    'version',
    'session-id',
    'session_id',
    'thread-id',
    'x-openai-subagent',
    'x-codex-*',
  ],
  costFields: OPENAI_COST_FIELDS,
  readError: readProviderError,
};
