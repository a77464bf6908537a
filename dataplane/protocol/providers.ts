/**
 * The registry of provider kinds.
 */
import { anthropic } from './anthropic/provider.ts';
import { openai } from './openai/provider.ts';
import type { Provider, ProviderKind } from './provider.ts';

/** Mutable, so that a test can replace a kind. */
export const PROVIDERS: Map<ProviderKind, Provider> = new Map([['OpenAI', openai], ['Anthropic', anthropic]]);

export function providerOf(kind: ProviderKind): Provider {
  const provider = PROVIDERS.get(kind);
  if (!provider) throw new Error(`no provider of the kind ${kind}`);
  return provider;
}
