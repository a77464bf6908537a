/**
 * Anthropic and providers that speak its protocol. The base URL is the one that the SDK takes, without /v1.
 */
import { anthropicToAnthropic } from '../anthropic-anthropic.ts';
import { geminiClient } from '../clients/gemini/client.ts';
import { openaiChatClient } from '../clients/openai-chat/client.ts';
import { responsesClient } from '../clients/responses/client.ts';
import { conversion, countConversion } from '../conversion.ts';
import { ANTHROPIC_COST_FIELDS } from '../cost-fields.ts';
import { readProviderError } from '../provider-errors.ts';
import { anthropicChat } from '../providers/anthropic/chat.ts';
import { readConverseError } from '../providers/converse/errors.ts';
import type { Provider } from '../provider.ts';
import { tokenCounter } from './token-counter.ts';

export const anthropic: Provider = {
  chat: {
    OpenAI: conversion(openaiChatClient, anthropicChat),
    Anthropic: anthropicToAnthropic,
    Responses: conversion(responsesClient, anthropicChat),
    Gemini: conversion(geminiClient, anthropicChat),
  },
  tokenCounters: {
    Anthropic: tokenCounter,
    Gemini: { ...tokenCounter, request: countConversion(geminiClient, anthropicChat) },
  },
  credential: (apiKey) => ['x-api-key', apiKey],
  // the API requires a version
  defaultHeaders: { 'anthropic-version': '2023-06-01' },
  clientHeaders: [
    'anthropic-version',
    'anthropic-beta',
    'anthropic-dangerous-direct-browser-access',
    // Claude Code
    'x-app',
    'x-claude-code-session-id',
  ],
  costFields: ANTHROPIC_COST_FIELDS,
  // some errors are Bedrock's own, in its format and not in Anthropic's
  readError: (status, body, platform) =>
    platform === 'BedrockInvoke' ? readConverseError(status, body) : readProviderError(status, body),
};
