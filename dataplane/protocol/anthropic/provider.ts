/**
 * Anthropic and providers that speak its protocol. The base URL is the one that the SDK takes, without /v1.
 */
import { anthropicToAnthropic } from '../anthropic-anthropic.ts';
import { openaiToAnthropic } from '../openai-anthropic.ts';
import { readProviderError } from '../provider-errors.ts';
import type { Provider } from '../provider.ts';
import { tokenCounter } from './token-counter.ts';

export const anthropic: Provider = {
  chat: { OpenAI: openaiToAnthropic, Anthropic: anthropicToAnthropic },
  tokenCounter,
  credential: (apiKey) => ['x-api-key', apiKey],
  // the API requires a version
  defaultHeaders: { 'anthropic-version': '2023-06-01' },
  foreignHeaders: ['openai-'],
  readError: readProviderError,
};
