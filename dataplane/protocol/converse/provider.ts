/**
 * Bedrock's Converse, for the models that have no other API there. The base URL is that of bedrock-runtime.
 */
import { decodeUtf8 } from '../bytes.ts';
import { anthropicClient } from '../clients/anthropic/client.ts';
import { geminiClient } from '../clients/gemini/client.ts';
import { openaiChatClient } from '../clients/openai-chat/client.ts';
import { responsesClient } from '../clients/responses/client.ts';
import { conversion, countConversion } from '../conversion.ts';
import { parseEventData } from '../json-value.ts';
import type { Provider, TokenCounter } from '../provider.ts';
import { converseChat } from '../providers/converse/chat.ts';
import { readConverseError } from '../providers/converse/errors.ts';
import { readTokenCount } from '../usage.ts';

const anthropicToConverse = conversion(anthropicClient, converseChat);

const tokenCounter: TokenCounter = {
  request: countConversion(anthropicClient, converseChat),
  read: (body) => readTokenCount(parseEventData(decodeUtf8(body))?.['inputTokens']),
};

export const converse: Provider = {
  chat: {
    OpenAI: conversion(openaiChatClient, converseChat),
    Anthropic: anthropicToConverse,
    Responses: conversion(responsesClient, converseChat),
    Gemini: conversion(geminiClient, converseChat),
  },
  tokenCounters: {
    Anthropic: tokenCounter,
    Gemini: { ...tokenCounter, request: countConversion(geminiClient, converseChat) },
  },
  credential: (apiKey) => ['authorization', `Bearer ${apiKey}`],
  defaultHeaders: {},
  clientHeaders: [],
  readError: readConverseError,
};
