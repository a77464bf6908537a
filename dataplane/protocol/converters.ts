/**
 * The conversion between a client's dialect and a provider's protocol.
 */
import type { Dialect } from './call-facts.ts';
import type { Converter } from './converter.ts';
import type { ProviderKind } from './provider.ts';
import { providerOf } from './providers.ts';

export function converterFor(client: Dialect, upstream: ProviderKind): Converter {
  return providerOf(upstream).chat[client];
}
