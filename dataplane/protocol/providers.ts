/**
 * Every kind of provider by its name.
 */
import { anthropic } from './anthropic/provider.ts';
import { openai } from './openai/provider.ts';
import type { Provider, ProviderKind } from './provider.ts';

/** A map, so that a kind can stand in for another. */
export const PROVIDERS: Map<ProviderKind, Provider> = new Map([['OpenAI', openai], ['Anthropic', anthropic]]);

export function providerOf(kind: ProviderKind): Provider {
  const provider = PROVIDERS.get(kind);
  if (!provider) throw new Error(`no provider of the kind ${kind}`);
  return provider;
}
