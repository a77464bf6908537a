/**
 * The table of the endpoints that cost money: where they are, how reports call them, and how their requests are read.
 * Google's are apart (gemini.ts), because their paths say a part of the request.
 */
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import { isForm } from '../../protocol/multipart.ts';
import { boundEmbeddingsInput } from '../../protocol/openai/embeddings.ts';
import type { BodyForm } from '../../protocol/openai/form-fields.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkImagePrice, checkVideoPrice } from './check-generation-price.ts';
import type { EndpointName } from '../../telemetry/call-report.ts';
import { CHAT_COMPLETIONS, MESSAGES } from './chat.ts';
import { COMPLETIONS } from './completions.ts';
import { readerOf } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { MODERATIONS } from './moderations.ts';
import { checkPassthrough } from './passthrough.ts';
import { RERANK } from './rerank.ts';
import { COMPACTION, RESPONSES } from './responses.ts';

/** Priced by its input. */
export const EMBEDDINGS: Endpoint<BodyFacts['Embeddings']> = {
  kind: 'Embeddings',
  read: ({ body }) => body.facts('Embeddings'),
  asks: ({ model }) => ({ model }),
  boundInput: (facts, { model }) => boundEmbeddingsInput(facts, model.contextTokens),
  estimateInput: ({ estimatedTokens }) => estimatedTokens,
  converter: (_facts, { target }) => providerOf(target.protocol).endpoints?.embeddings,
};

/** What generations, edits and variations of images have in common. */
const ANY_IMAGES: Pick<Endpoint<BodyFacts['Images']>, 'kind' | 'asks' | 'check'> = {
  kind: 'Images',
  asks: ({ model, stream, generations, made }) => ({ model, stream, generations, made }),
  check: (facts, candidate) => {
    checkPassthrough(facts, candidate);
    checkImagePrice(facts.made, candidate);
  },
};

const IMAGES: Endpoint<BodyFacts['Images']> = {
  ...ANY_IMAGES,
  read: ({ body }) => body.facts('Images'),
  converter: (_facts, { target }) => providerOf(target.protocol).endpoints?.images,
};

const IMAGE_EDITS: Endpoint<FormFacts<'ImageEdits'>> = {
  ...ANY_IMAGES,
  read: jsonOrForm('ImageEdits'),
  converter: ({ form }, { target }) => providerOf(target.protocol).endpoints?.imageEdits(form),
};

const IMAGE_VARIATIONS: Endpoint<FormFacts<'ImageVariations'>> = {
  ...ANY_IMAGES,
  read: jsonOrForm('ImageVariations'),
  converter: ({ form }, { target }) => providerOf(target.protocol).endpoints?.imageVariations(form),
};

/** Creates jobs, priced at their creation, from JSON or a form with files. */
const VIDEOS: Endpoint<FormFacts<'Videos'>> = {
  kind: 'Videos',
  read: jsonOrForm('Videos'),
  asks: ({ model, generations, seconds, size }) => ({ model, generations, made: { seconds, size } }),
  check: (facts, candidate) => {
    checkPassthrough(facts, candidate);
    checkVideoPrice(facts, candidate);
  },
  converter: ({ form }, { target }) => providerOf(target.protocol).endpoints?.videos.create(form),
};

type FormKind = 'ImageEdits' | 'ImageVariations' | 'Videos';

type FormFacts<Kind extends FormKind> = BodyFacts[Kind] & { readonly form: BodyForm };

/** Reads JSON, or a form with files. */
function jsonOrForm<Kind extends FormKind>(kind: Kind): (received: Received) => Promise<FormFacts<Kind>> {
  return async ({ headers, body }) => {
    const header = headers['content-type'];
    const form = typeof header === 'string' && isForm(header) ? header : undefined;
    return { ...(await body.facts(kind, form)), form };
  };
}

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
  videos: { path: '/v1/videos', endpoint: 'videos', read: readerOf(VIDEOS) },
  responses: { path: '/v1/responses', endpoint: 'responses', read: readerOf(RESPONSES) },
  responseCompaction: { path: '/v1/responses/compact', endpoint: 'responses', read: readerOf(COMPACTION) },
} as const satisfies Readonly<Record<string, BilledEndpoint>>;
