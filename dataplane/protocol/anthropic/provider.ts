/**
 * Anthropic and providers that speak its protocol. The base URL is the one that the SDK takes, without /v1.
 */
import { anthropicToAnthropic } from '../anthropic-anthropic.ts';
import { ANTHROPIC_MODELS } from '../capabilities.ts';
import { geminiCounter } from '../gemini-anthropic/count.ts';
import { openaiToAnthropic } from '../openai-anthropic.ts';
import { ANTHROPIC_COST_FIELDS } from '../cost-fields.ts';
import { geminiToAnthropic } from '../gemini-anthropic.ts';
import { readProviderError } from '../provider-errors.ts';
import { responsesToAnthropic } from '../responses-anthropic.ts';
import type { Provider } from '../provider.ts';
import { strippingForeignThinking } from './foreign-thinking.ts';
import { tokenCounter } from './token-counter.ts';

export const anthropic: Provider = {
  chat: {
    OpenAI: strippingForeignThinking(openaiToAnthropic),
    Anthropic: anthropicToAnthropic,
    Responses: strippingForeignThinking(responsesToAnthropic),
    Gemini: strippingForeignThinking(geminiToAnthropic),
  },
  tokenCounters: {
    Anthropic: tokenCounter,
    Gemini: geminiCounter(tokenCounter, { upstream: 'Anthropic', known: ANTHROPIC_MODELS }),
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
  readError: readProviderError,
};
