/**
 * The registry of provider kinds.
 */
import { anthropic } from './anthropic/provider.ts';
import type { ChatDialect } from './call-facts.ts';
import type { Converter, SecondApi } from './converter.ts';
import { converse } from './converse/provider.ts';
import { gemini } from './gemini/provider.ts';
import type { OpenAIEndpoints } from './openai/endpoints.ts';
import { openai } from './openai/provider.ts';
import type { ServingApi } from './openai/serving-api.ts';
import type { Provider, ProviderKind } from './provider.ts';

const PROVIDERS: Readonly<Record<ProviderKind, Provider>> = {
  OpenAI: openai,
  Anthropic: anthropic,
  BedrockConverse: converse,
  Gemini: gemini,
};

export function providerOf(kind: ProviderKind): Provider {
  return PROVIDERS[kind];
}

/** An endpoint of a provider. Throws if it has none: callers have chosen the provider for it. */
export function endpointOf<Name extends keyof OpenAIEndpoints>(kind: ProviderKind, name: Name): OpenAIEndpoints[Name] {
  const endpoint = providerOf(kind).endpoints?.[name];
  if (!endpoint) throw new Error(`${kind} has no ${name}`);
  return endpoint;
}

/** The conversion between a client's dialect and a provider's protocol. */
export function converterFor(
  client: ChatDialect,
  upstream: ProviderKind,
  api: SecondApi | ServingApi = 'Chat',
): Converter {
  const { chat, chatByResponses = chat } = providerOf(upstream);
  return api === 'Responses' && client !== 'Responses' ? chatByResponses[client] : chat[client];
}
