/**
 * The table of the endpoints that cost money: where they are, how reports call them, and how their requests are read.
 * Google's are apart (gemini.ts), because their paths say a part of the request.
 */
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkVideoPrice } from './check-generation-price.ts';
import type { EndpointName } from '../../telemetry/call-report.ts';
import { SPEECH, TRANSCRIPTIONS, TRANSLATIONS } from './audio.ts';
import { CHAT_COMPLETIONS, MESSAGES } from './chat.ts';
import { COMPLETIONS } from './completions.ts';
import { EMBEDDINGS } from './embeddings.ts';
import { readerOf } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { IMAGE_EDITS, IMAGE_VARIATIONS, IMAGES } from './images.ts';
import { jsonOrForm } from './json-or-form.ts';
import type { FormFacts } from './json-or-form.ts';
import { MODERATIONS } from './moderations.ts';
import { checkPassthrough } from './passthrough.ts';
import { RERANK } from './rerank.ts';
import { COMPACTION, RESPONSES } from './responses.ts';

/** Creates jobs, priced at their creation, from JSON or a form with files. */
const VIDEOS: Endpoint<FormFacts<'Videos'>> = {
  kind: 'Videos',
  read: jsonOrForm('Videos'),
  asks: ({ model, generations, seconds, size }) => ({ model, generations, made: { seconds, size } }),
  check: (facts, candidate) => {
    checkPassthrough(facts, candidate);
    checkVideoPrice(facts, candidate);
  },
  converter: ({ form }, { target }) => providerOf(target.protocol).endpoints?.videos?.create(form),
};

interface BilledEndpoint {
  /** Of POST requests. */
  readonly path: string;
  readonly endpoint: EndpointName;
  /** Rejects with RequestFault, or GatewayError. */
  readonly read: (received: Received) => Promise<EndpointCall>;
}

export const ENDPOINTS = {
  chatCompletions: { path: '/v1/chat/completions', endpoint: 'chat_completions', read: readerOf(CHAT_COMPLETIONS) },
  messages: { path: '/v1/messages', endpoint: 'messages', read: readerOf(MESSAGES) },
  completions: { path: '/v1/completions', endpoint: 'completions', read: readerOf(COMPLETIONS) },
  embeddings: { path: '/v1/embeddings', endpoint: 'embeddings', read: readerOf(EMBEDDINGS) },
  moderations: { path: '/v1/moderations', endpoint: 'moderations', read: readerOf(MODERATIONS) },
  rerank: { path: '/v1/rerank', endpoint: 'rerank', read: readerOf(RERANK) },
  // Cohere's newer client adds /v2 to its base URL
  rerankOfCohere: { path: '/v2/rerank', endpoint: 'rerank', read: readerOf(RERANK) },
  images: { path: '/v1/images/generations', endpoint: 'images', read: readerOf(IMAGES) },
  imageEdits: { path: '/v1/images/edits', endpoint: 'image_edits', read: readerOf(IMAGE_EDITS) },
  imageVariations: { path: '/v1/images/variations', endpoint: 'image_variations', read: readerOf(IMAGE_VARIATIONS) },
  speech: { path: '/v1/audio/speech', endpoint: 'speech', read: readerOf(SPEECH) },
  transcriptions: {
    path: '/v1/audio/transcriptions',
    endpoint: 'transcriptions',
    read: readerOf(TRANSCRIPTIONS),
  },
  translations: {
    path: '/v1/audio/translations',
    endpoint: 'translations',
    read: readerOf(TRANSLATIONS),
  },
  videos: { path: '/v1/videos', endpoint: 'videos', read: readerOf(VIDEOS) },
  responses: { path: '/v1/responses', endpoint: 'responses', read: readerOf(RESPONSES) },
  responseCompaction: { path: '/v1/responses/compact', endpoint: 'responses', read: readerOf(COMPACTION) },
} as const satisfies Readonly<Record<string, BilledEndpoint>>;
