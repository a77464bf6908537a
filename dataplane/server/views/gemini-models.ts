/**
 * [P] The responses of `GET /v1beta/models` and `GET /v1beta/models/{id}`, and of the same below /v1 for Google's SDK:
 * the models that a key can call now.
 */
import { GatewayError } from '../../errors.ts';
import { isImagen } from '../../protocol/gemini/imagen.ts';
import { providerOf } from '../../protocol/providers.ts';
import { offeredChannels } from '../../state/offered-channels.ts';
import type { Offer } from '../../state/state.ts';
import { limitsOf } from './models.ts';

export interface GeminiModel {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly version: string;
  readonly inputTokenLimit?: number;
  readonly outputTokenLimit?: number;
  readonly supportedGenerationMethods: readonly string[];
}

export interface GeminiModelPage {
  readonly models: readonly GeminiModel[];
  readonly nextPageToken?: string;
}

/** Query parameters, unparsed. A repeated one is a list. */
export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

const DEFAULT_PAGE = 50;
const LARGEST_PAGE = 1000;

/** Google's methods by what a model does. Those besides conversations need a channel whose provider has them. */
const METHODS = {
  Chat: ['generateContent', 'countTokens'],
  Embeddings: ['embedContent', 'batchEmbedContents'],
  Images: ['predict'],
} as const;
const FIRST = { Embeddings: 'embedContent', Images: 'predict' } as const;

/**
 * A page of the models that have a method of Google's. `offers` are ordered by name, and a token is the last name of the page before it.
 * Throws invalid_request.
 */
export function geminiModelPage(offers: readonly Offer[], query: Query): GeminiModelPage {
  const pageToken = firstOf(query['pageToken']) ?? '';
  const rest = offers.filter((offer) => methodsOf(offer).length > 0 && (pageToken === '' || offer.model > pageToken));
  const page = rest.slice(0, parseSize(firstOf(query['pageSize'])));
  const last = rest.length > page.length ? page.at(-1) : undefined;
  return { models: page.map(geminiModel), ...(last && { nextPageToken: last.model }) };
}

/** Google's model object. Its limits hold on every channel that may serve it. */
export function geminiModel(offer: Offer): GeminiModel {
  const { contextTokens, maxOutputTokens } = limitsOf(offer);
  return {
    name: `models/${offer.model}`,
    displayName: offer.model,
    description: offer.vendor,
    version: '',
    ...(contextTokens !== null && { inputTokenLimit: contextTokens }),
    ...(maxOutputTokens !== null && { outputTokenLimit: maxOutputTokens }),
    supportedGenerationMethods: methodsOf(offer),
  };
}

function methodsOf(offer: Offer): readonly string[] {
  const chats = offer.endpoints.has('Chat') ? METHODS.Chat : [];
  const others = (['Embeddings', 'Images'] as const).filter((kind) =>
    offeredChannels(offer).some(
      ({ model, target, upstreamModel }) =>
        model.endpoints.has(kind) &&
        providerOf(target.protocol).geminiEndpoints?.[FIRST[kind]] &&
        (kind !== 'Images' || isImagen(upstreamModel)),
    ),
  );
  return [...chats, ...others.flatMap((kind) => METHODS[kind])];
}

/** Of a repeated parameter, the first counts. */
export function firstOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}

function parseSize(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PAGE;
  if (!/^\d{1,9}$/.test(text))
    throw new GatewayError('invalid_request', 'pageSize must be a whole number.', { param: 'pageSize' });
  return Math.min(Number(text), LARGEST_PAGE) || DEFAULT_PAGE;
}
