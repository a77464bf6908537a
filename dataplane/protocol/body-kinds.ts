/**
 * The kinds of request bodies by name, so that a worker thread can be told what to read or convert: only names and
 * plain values can be sent to it.
 */
import { readAffinity } from './affinity-facts.ts';
import type { AffinityFacts, ConversationKind } from './affinity-facts.ts';
import { readChatFacts as readAnthropicFacts } from './anthropic/facts.ts';
import type { ChatFacts } from './call-facts.ts';
import type { RequestConverter } from './converter.ts';
import { findCostFields, findSettingsTexts } from './cost-fields.ts';
import type { JsonRecord } from './fields.ts';
import { readBatchEmbedFacts, readEmbedFacts } from './gemini/embed-facts.ts';
import type { EmbedFacts } from './gemini/embed-facts.ts';
import { asksForThoughts, readGenerateFacts } from './gemini/facts.ts';
import type { GenerateFacts } from './gemini/facts.ts';
import { canonicalNames, countedRequest } from './gemini/names.ts';
import { readPredictFacts } from './gemini/predict-facts.ts';
import type { PredictFacts } from './gemini/predict-facts.ts';
import { asksForReasoning } from './hidden-reasoning.ts';
import { readCompletionsFacts } from './openai/completion-facts.ts';
import type { Choices, CompletionsFacts } from './openai/completion-facts.ts';
import { readConversationFacts } from './openai/conversations.ts';
import type { StoredConversationFacts } from './openai/conversations.ts';
import { readEmbeddingsFacts } from './openai/embeddings.ts';
import type { EmbeddingsFacts } from './openai/embeddings.ts';
import { readChatFacts as readOpenAIFacts } from './openai/facts.ts';
import type { BodyForm } from './openai/form-fields.ts';
import {
  findFormatFields,
  readImageEditFacts,
  readImagesFacts,
  readImageVariationFacts,
} from './openai/image-facts.ts';
import type { ImagesFacts } from './openai/image-facts.ts';
import { readModerationsFacts } from './openai/moderations.ts';
import type { ModerationsFacts } from './openai/moderations.ts';
import { readRerankFacts } from './openai/rerank.ts';
import type { RerankFacts } from './openai/rerank.ts';
import { readResponseFacts } from './openai/response-facts.ts';
import { readSpeechFacts } from './openai/speech-facts.ts';
import type { SpeechFacts } from './openai/speech-facts.ts';
import type { SpeechForm } from './openai/speech.ts';
import { findAudioSources, readTranscriptionFacts } from './openai/transcription-facts.ts';
import type { TranscriptionFacts } from './openai/transcription-facts.ts';
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

/** A kind of body: its facts, and the converter of such bodies to a provider's protocol. */
interface KindRow<Facts> {
  /** Throws RequestFault where a field that the gateway needs is missing or wrong. */
  read(bytes: Uint8Array, parsed: JsonRecord, form: BodyForm): Facts;
  /** Undefined: the provider has no such endpoint. `chosen`: what the converter has that the route has chosen. */
  converter(protocol: ProviderKind, chosen: ChosenConverter): RequestConverter | undefined;
}

/** Responses pass through to some channels, and some models need them; a form is written anew as one. */
type ChosenConverter = Pick<RequestConverter, 'client' | 'api'> & { readonly form?: BodyForm };

const BOUNDED_FIELDS = {
  OpenAIChat: new Set(['max_tokens', 'max_completion_tokens', 'n', 'best_of', 'reasoning.max_tokens']),
  AnthropicChat: new Set(['max_tokens']),
  Responses: new Set(['max_output_tokens', 'reasoning.max_tokens']),
  Generations: new Set(['n']),
  Completions: new Set(['max_tokens', 'n', 'best_of']),
  Embeddings: new Set<string>(),
  Audio: new Set<string>(),
  Moderations: new Set<string>(),
  // how many pieces there are follows from their size
  Rerank: new Set(['max_tokens_per_doc', 'overlap_tokens', 'max_chunks_per_doc']),
} as const;

/** The request is the same for any. */
const ONE_CHOICE: Choices = { count: 1, generatedForEach: 1, echoed: undefined };

/** Likewise. */
const AUDIO_ONLY: SpeechForm = { events: false, format: '' };

const KINDS = {
  OpenAIChat: {
    read: (bytes, parsed) => conversationFacts('OpenAIChat', readOpenAIFacts(bytes, parsed), parsed),
    converter: (protocol, chosen) => converterFor('OpenAI', protocol, chosen.api),
  } satisfies KindRow<ConversationFacts>,
  AnthropicChat: {
    read: (bytes, parsed) => conversationFacts('AnthropicChat', readAnthropicFacts(bytes, parsed), parsed),
    converter: (protocol, chosen) => converterFor('Anthropic', protocol, chosen.api),
  } satisfies KindRow<ConversationFacts>,
  Responses: {
    read: readResponse,
    converter: (protocol, chosen) =>
      chosen.client === 'Responses' ? converterFor(chosen.client, protocol) : providerOf(protocol).endpoints?.responses,
  } satisfies KindRow<ConversationFacts>,
  Compaction: {
    read: readResponse,
    converter: (protocol) => providerOf(protocol).endpoints?.compaction,
  } satisfies KindRow<ConversationFacts>,
  StoredConversation: {
    read: readConversationFacts,
    converter: (protocol) => providerOf(protocol).endpoints?.conversations,
  } satisfies KindRow<StoredConversationFacts>,
  Gemini: {
    read: (bytes, parsed) => geminiFacts(bytes, canonicalNames(parsed)),
    converter: (protocol, chosen) => converterFor('Gemini', protocol, chosen.api),
  } satisfies KindRow<GeminiFacts>,
  /** The request of a token count, which may wrap the one that is counted. */
  GeminiCount: {
    read: (bytes, parsed) => geminiFacts(bytes, countedRequest(canonicalNames(parsed))),
    converter: () => undefined,
  } satisfies KindRow<GeminiFacts>,
  GeminiEmbed: {
    read: (bytes, parsed) => readEmbedFacts(bytes, canonicalNames(parsed)),
    converter: (protocol) => providerOf(protocol).geminiEndpoints?.embedContent,
  } satisfies KindRow<EmbedFacts>,
  GeminiBatchEmbed: {
    read: (bytes, parsed) => readBatchEmbedFacts(bytes, canonicalNames(parsed)),
    converter: (protocol) => providerOf(protocol).geminiEndpoints?.batchEmbedContents,
  } satisfies KindRow<EmbedFacts>,
  GeminiPredict: {
    read: (_bytes, parsed) => readPredictFacts(canonicalNames(parsed)),
    converter: (protocol) => providerOf(protocol).geminiEndpoints?.predict,
  } satisfies KindRow<PredictFacts>,
  Completions: {
    read: (bytes, parsed) => ({
      ...readCompletionsFacts(bytes, parsed),
      ...priceFacts('OpenAI', parsed, BOUNDED_FIELDS.Completions),
    }),
    converter: (protocol) => providerOf(protocol).endpoints?.completions?.(ONE_CHOICE),
  } satisfies KindRow<CompletionsFacts & PriceFacts>,
  Embeddings: {
    read: (bytes, parsed) => ({
      ...readEmbeddingsFacts(bytes, parsed),
      ...priceFacts('OpenAI', parsed, BOUNDED_FIELDS.Embeddings),
    }),
    converter: (protocol) => providerOf(protocol).endpoints?.embeddings,
  } satisfies KindRow<EmbeddingsFacts & PriceFacts>,
  Moderations: {
    read: (bytes, parsed) => ({
      ...readModerationsFacts(bytes, parsed),
      ...priceFacts('OpenAI', parsed, BOUNDED_FIELDS.Moderations),
    }),
    converter: (protocol) => providerOf(protocol).endpoints?.moderations,
  } satisfies KindRow<ModerationsFacts & PriceFacts>,
  Rerank: {
    read: (bytes, parsed) => ({
      ...readRerankFacts(bytes, parsed),
      ...priceFacts('OpenAI', parsed, BOUNDED_FIELDS.Rerank),
    }),
    converter: (protocol) => providerOf(protocol).endpoints?.rerank,
  } satisfies KindRow<RerankFacts & PriceFacts>,
  Images: imagesRow(readImagesFacts, (protocol, { api }) => {
    const provider = providerOf(protocol);
    return api === 'Imagen' ? provider.imagen : provider.endpoints?.images;
  }),
  ImageEdits: imagesRow(readImageEditFacts, (protocol, { form }) => providerOf(protocol).endpoints?.imageEdits?.(form)),
  ImageVariations: imagesRow(readImageVariationFacts, (protocol, { form }) =>
    providerOf(protocol).endpoints?.imageVariations?.(form),
  ),
  Videos: {
    read: (_bytes, parsed, form) => ({
      ...readVideosFacts(parsed),
      ...generationPriceFacts(parsed, form),
    }),
    converter: (protocol, { form }) => providerOf(protocol).endpoints?.videos?.create(form),
  } satisfies KindRow<VideosFacts & PriceFacts>,
  Speech: {
    read: (bytes, parsed) => ({
      ...readSpeechFacts(bytes, parsed),
      ...priceFacts('OpenAI', parsed, BOUNDED_FIELDS.Audio),
    }),
    converter: (protocol) => providerOf(protocol).endpoints?.speech?.(AUDIO_ONLY),
  } satisfies KindRow<SpeechFacts & PriceFacts>,
  Transcriptions: transcriptionsRow((protocol, { form }) =>
    providerOf(protocol).endpoints?.transcriptions?.({ form, isJson: true }),
  ),
  Translations: transcriptionsRow((protocol, { form }) =>
    providerOf(protocol).endpoints?.translations?.({ form, isJson: true }),
  ),
};

function transcriptionsRow(converter: KindRow<never>['converter']): KindRow<TranscriptionFacts & PriceFacts> {
  return {
    read: (bytes, parsed, form) => {
      const { costFields, ...facts } = priceFacts('OpenAI', parsed, BOUNDED_FIELDS.Audio);
      return {
        ...readTranscriptionFacts(bytes, parsed, form),
        ...facts,
        costFields: [...costFields, ...findSettingsTexts(parsed), ...findAudioSources(parsed)],
      };
    },
    converter,
  };
}

function imagesRow(
  read: (fields: JsonRecord) => ImagesFacts,
  converter: KindRow<never>['converter'],
): KindRow<ImagesFacts & PriceFacts> {
  return { read: (_bytes, parsed, form) => ({ ...read(parsed), ...imagePriceFacts(parsed, form) }), converter };
}

export type BodyKind = keyof typeof KINDS;

/** The facts of each kind. */
export type BodyFacts = { readonly [Kind in BodyKind]: ReturnType<(typeof KINDS)[Kind]['read']> };

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readFacts<Kind extends BodyKind>(
  kind: Kind,
  bytes: Uint8Array,
  parsed: JsonRecord,
  form?: BodyForm,
): BodyFacts[Kind] {
  const rows: { readonly [Each in BodyKind]: KindRow<BodyFacts[Each]> } = KINDS;
  return rows[kind].read(bytes, parsed, form);
}

/** The converter of bodies of this kind to a provider's protocol; undefined: the provider has no such endpoint. */
export function converterOf(
  kind: BodyKind,
  protocol: ProviderKind,
  chosen: ChosenConverter,
): RequestConverter | undefined {
  const rows: Readonly<Record<BodyKind, Pick<KindRow<unknown>, 'converter'>>> = KINDS;
  return rows[kind].converter(protocol, chosen);
}

function readResponse(bytes: Uint8Array, parsed: JsonRecord): ConversationFacts {
  return conversationFacts('Responses', readResponseFacts(bytes, parsed), parsed);
}

function conversationFacts(
  kind: Exclude<ConversationKind, 'Gemini'>,
  facts: ChatFacts,
  parsed: JsonRecord,
): ConversationFacts {
  return {
    ...facts,
    ...priceFacts(kind === 'AnthropicChat' ? 'Anthropic' : 'OpenAI', parsed, BOUNDED_FIELDS[kind]),
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

/** `bounded`: fields that raise the price, and that the facts of the kind bound. */
function priceFacts(protocol: ProviderKind, parsed: JsonRecord, bounded: ReadonlySet<string>): PriceFacts {
  const { costFields } = providerOf(protocol);
  return {
    costFields: costFields ? findCostFields(parsed, costFields, bounded) : [],
    asksForReasoning: asksForReasoning(parsed),
  };
}

/** Of images and videos, in JSON or a form. */
function generationPriceFacts(parsed: JsonRecord, form: BodyForm): PriceFacts {
  const { costFields, ...facts } = priceFacts('OpenAI', parsed, BOUNDED_FIELDS.Generations);
  return { ...facts, costFields: [...costFields, ...(form === undefined ? [] : findSettingsTexts(parsed))] };
}

/** Of images, whose format may change their price too. */
function imagePriceFacts(parsed: JsonRecord, form: BodyForm): PriceFacts {
  const { costFields, ...facts } = generationPriceFacts(parsed, form);
  return { ...facts, costFields: [...costFields, ...findFormatFields(parsed)] };
}
