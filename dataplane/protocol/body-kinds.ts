/**
 * The kinds of request bodies by name, so that a thread of its own can be told what to read or convert: only names and
 * plain values cross between threads.
 */
import { readChatFacts as readAnthropicFacts } from './anthropic/facts.ts';
import type { ChatFacts } from './call-facts.ts';
import type { Converter } from './converter.ts';
import type { JsonRecord } from './fields.ts';
import { readEmbeddingsFacts } from './openai/embeddings.ts';
import type { EmbeddingsFacts } from './openai/embeddings.ts';
import { readChatFacts as readOpenAIFacts } from './openai/facts.ts';
import { readImagesFacts } from './openai/images.ts';
import type { ImagesFacts } from './openai/images.ts';
import { readResponseFacts } from './openai/response-facts.ts';
import { readVideosFacts } from './openai/videos.ts';
import type { VideosFacts } from './openai/videos.ts';
import type { ProviderKind } from './provider.ts';
import { converterFor, providerOf } from './providers.ts';

/** What is read of each kind. */
export interface BodyFacts {
  readonly OpenAIChat: ChatFacts;
  readonly AnthropicChat: ChatFacts;
  readonly Responses: ChatFacts;
  readonly Embeddings: EmbeddingsFacts;
  readonly Images: ImagesFacts;
  readonly Videos: VideosFacts;
}

export type BodyKind = keyof BodyFacts;

const READERS: { readonly [Kind in BodyKind]: (bytes: Uint8Array, parsed: JsonRecord) => BodyFacts[Kind] } = {
  OpenAIChat: readOpenAIFacts,
  AnthropicChat: readAnthropicFacts,
  Responses: readResponseFacts,
  Embeddings: (_bytes, parsed) => readEmbeddingsFacts(parsed),
  Images: (_bytes, parsed) => readImagesFacts(parsed),
  Videos: (_bytes, parsed) => readVideosFacts(parsed),
};

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readFacts<Kind extends BodyKind>(kind: Kind, bytes: Uint8Array, parsed: JsonRecord): BodyFacts[Kind] {
  return READERS[kind](bytes, parsed);
}

/** The converter of JSON bodies of this kind to a provider's protocol; undefined: the provider has no such endpoint. */
export function converterOf(kind: BodyKind, protocol: ProviderKind): Converter | undefined {
  const provider = providerOf(protocol);
  switch (kind) {
    case 'OpenAIChat': return converterFor('OpenAI', protocol);
    case 'AnthropicChat': return converterFor('Anthropic', protocol);
    case 'Responses': return provider.responses;
    case 'Embeddings': return provider.embeddings;
    case 'Images': return provider.images;
    case 'Videos': return provider.videos?.create(undefined);
  }
}
