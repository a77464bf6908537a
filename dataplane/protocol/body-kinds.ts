/**
 * The kinds of request bodies by name, so that a worker thread can be told what to read or convert: only names and
 * plain values can be sent to it.
 */
import { readAffinity } from './affinity-facts.ts';
import type { AffinityFacts, ConversationKind } from './affinity-facts.ts';
import { readChatFacts as readAnthropicFacts } from './anthropic/facts.ts';
import type { ChatDialect, ChatFacts } from './call-facts.ts';
import type { RequestConverter } from './converter.ts';
import { findCostFields } from './cost-fields.ts';
import type { JsonRecord } from './fields.ts';
import { asksForThoughts, readGenerateFacts } from './gemini/facts.ts';
import type { GenerateFacts } from './gemini/facts.ts';
import { canonicalNames, countedRequest } from './gemini/names.ts';
import { asksForReasoning } from './hidden-reasoning.ts';
import { readConversationFacts } from './openai/conversations.ts';
import type { StoredConversationFacts } from './openai/conversations.ts';
import { readEmbeddingsFacts } from './openai/embeddings.ts';
import type { EmbeddingsFacts } from './openai/embeddings.ts';
import { readChatFacts as readOpenAIFacts } from './openai/facts.ts';
import { readImagesFacts } from './openai/images.ts';
import type { ImagesFacts } from './openai/images.ts';
import { readResponseFacts } from './openai/response-facts.ts';
import { toolReasoningOfChat, toolReasoningOfOthers } from './openai/serving-api.ts';
import type { ToolReasoning } from './openai/serving-api.ts';
import { readVideosFacts } from './openai/videos.ts';
import type { VideosFacts } from './openai/videos.ts';
import type { ProviderKind } from './provider.ts';
import { converterFor, providerOf } from './providers.ts';

interface PriceFacts {
  /** Paths of fields that change the price where the provider speaks the client's dialect, and that no fact bounds. */
  readonly costFields: readonly string[];
  readonly asksForReasoning: boolean;
}

interface RoutingFacts {
  readonly affinity: AffinityFacts;
  readonly toolReasoning: ToolReasoning;
}

export type ConversationFacts = ChatFacts & PriceFacts & RoutingFacts;

/** The model, and whether the answer streams, are in the path. */
export type GeminiFacts = GenerateFacts & PriceFacts & RoutingFacts;

/** The facts of each kind. */
export interface BodyFacts {
  readonly OpenAIChat: ConversationFacts;
  readonly AnthropicChat: ConversationFacts;
  readonly Responses: ConversationFacts;
  readonly Compaction: ConversationFacts;
  readonly StoredConversation: StoredConversationFacts;
  readonly Gemini: GeminiFacts;
  /** The request of a token count, which may wrap the one that is counted. */
  readonly GeminiCount: GeminiFacts;
  readonly Embeddings: EmbeddingsFacts & PriceFacts;
  readonly Images: ImagesFacts & PriceFacts;
  readonly Videos: VideosFacts & PriceFacts;
}

export type BodyKind = keyof BodyFacts;

/** Fields that raise the price, and that the facts of the kind bound. */
const BOUNDED_FIELDS: Readonly<Record<BodyKind, ReadonlySet<string>>> = {
  OpenAIChat: new Set(['max_tokens', 'max_completion_tokens', 'n', 'best_of', 'reasoning.max_tokens']),
  AnthropicChat: new Set(['max_tokens']),
  Responses: new Set(['max_output_tokens', 'reasoning.max_tokens']),
  Compaction: new Set(['max_output_tokens', 'reasoning.max_tokens']),
  StoredConversation: new Set(),
  Gemini: new Set(),
  GeminiCount: new Set(),
  Embeddings: new Set(),
  Images: new Set(['n']),
  Videos: new Set(['n']),
};

const READERS: { readonly [Kind in BodyKind]: (bytes: Uint8Array, parsed: JsonRecord) => BodyFacts[Kind] } = {
  OpenAIChat: (bytes, parsed) => conversationFacts('OpenAIChat', readOpenAIFacts(bytes, parsed), parsed),
  AnthropicChat: (bytes, parsed) => conversationFacts('AnthropicChat', readAnthropicFacts(bytes, parsed), parsed),
  Responses: (bytes, parsed) => conversationFacts('Responses', readResponseFacts(bytes, parsed), parsed),
  Compaction: (bytes, parsed) => conversationFacts('Responses', readResponseFacts(bytes, parsed), parsed),
  StoredConversation: readConversationFacts,
  Gemini: (bytes, parsed) => geminiFacts(bytes, canonicalNames(parsed)),
  GeminiCount: (bytes, parsed) => geminiFacts(bytes, countedRequest(canonicalNames(parsed))),
  Embeddings: (_bytes, parsed) => ({ ...readEmbeddingsFacts(parsed), ...priceFacts('Embeddings', parsed) }),
  Images: (_bytes, parsed) => ({ ...readImagesFacts(parsed), ...priceFacts('Images', parsed) }),
  Videos: (_bytes, parsed) => ({ ...readVideosFacts(parsed), ...priceFacts('Videos', parsed) }),
};

function conversationFacts(kind: ConversationKind, facts: ChatFacts, parsed: JsonRecord): ConversationFacts {
  return {
    ...facts,
    ...priceFacts(kind, parsed),
    affinity: readAffinity(kind, parsed),
    toolReasoning: kind === 'OpenAIChat' ? toolReasoningOfChat(parsed) : toolReasoningOfOthers(parsed),
  };
}

function geminiFacts(bytes: Uint8Array, request: JsonRecord): GeminiFacts {
  return {
    ...readGenerateFacts(bytes, request),
    costFields: [],
    asksForReasoning: asksForThoughts(request),
    affinity: readAffinity('Gemini', request),
    toolReasoning: toolReasoningOfOthers(request),
  };
}

function priceFacts(kind: BodyKind, parsed: JsonRecord): PriceFacts {
  const { costFields } = providerOf(kind === 'AnthropicChat' ? 'Anthropic' : 'OpenAI');
  return {
    costFields: costFields ? findCostFields(parsed, costFields, BOUNDED_FIELDS[kind]) : [],
    asksForReasoning: asksForReasoning(parsed),
  };
}

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readFacts<Kind extends BodyKind>(kind: Kind, bytes: Uint8Array, parsed: JsonRecord): BodyFacts[Kind] {
  return READERS[kind](bytes, parsed);
}

/** Chat kinds, which every provider serves, with their dialects. */
const CHAT_DIALECTS: Readonly<Partial<Record<BodyKind, ChatDialect>>> = {
  OpenAIChat: 'OpenAI',
  AnthropicChat: 'Anthropic',
  Gemini: 'Gemini',
};

/**
 * The converter of JSON bodies of this kind to a provider's protocol; undefined: the provider has no such endpoint.
 * `client` and `api`: of the converter that was chosen, because Responses pass through to some channels, and some
 * models need them.
 */
export function converterOf(
  kind: BodyKind,
  protocol: ProviderKind,
  { client, api }: Pick<RequestConverter, 'client' | 'api'>,
): RequestConverter | undefined {
  const provider = providerOf(protocol);
  const dialect = CHAT_DIALECTS[kind];
  if (dialect) return converterFor(dialect, protocol, api);
  switch (kind) {
    case 'Responses':
      return client === 'Responses' ? converterFor(client, protocol) : provider.responses;
    case 'Compaction':
      return provider.compaction;
    case 'StoredConversation':
      return provider.conversations;
    case 'Embeddings':
      return provider.embeddings;
    case 'Images':
      return provider.images;
    case 'Videos':
      return provider.videos?.create(undefined);
    default:
      return undefined;
  }
}
