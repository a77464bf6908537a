/**
 * [P] The responses of `GET /v1/models` and `GET /v1/models/{id}`, in both dialects: the models that a key can call
 * now.
 */
import { GatewayError } from '../../errors.ts';
import { providerOf } from '../../protocol/providers.ts';
import { offeredChannels } from '../../state/offered-channels.ts';
import type { KeyState, Offer, State } from '../../state/state.ts';
import { modelFacts, modelFactsJson } from '#web/pricing/model-facts.ts';
import type { ModelFacts, ModelFactsJson } from '#web/pricing/model-facts.ts';
import { anthropicCapabilities } from './anthropic-capabilities.ts';
import type { AnthropicCapabilities } from './anthropic-capabilities.ts';
import { compareText } from '#web/compare-text.ts';

/** OpenAI's object, and the model's facts. */
export interface OpenAIModel extends ModelFactsJson {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
}

export interface OpenAIModelList {
  readonly object: 'list';
  readonly data: readonly OpenAIModel[];
}

export interface AnthropicModel {
  readonly type: 'model';
  readonly id: string;
  readonly display_name: string;
  readonly created_at: string;
  readonly max_input_tokens: number | null;
  readonly max_tokens: number | null;
  readonly capabilities: AnthropicCapabilities;
  readonly lifecycle: 'active';
  readonly deprecated_at: null;
  readonly retires_at: null;
  readonly line: null;
}

export interface AnthropicModelPage {
  readonly data: readonly AnthropicModel[];
  readonly has_more: boolean;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

/** The query parameters of a list, unparsed. */
export interface AnthropicPageQuery {
  readonly limit?: string;
  readonly after_id?: string;
  readonly before_id?: string;
}

/**
 * OpenAI's `created`, in seconds: 2026-01-01T00:00:00Z. No manifest says when a vendor released a model, and a client
 * may cache by this number, so it must never change and must be the same on every replica.
 */
const CREATED_S = 1_767_225_600;
/** The value that Anthropic's API defines: "an epoch value if the release date is unknown". */
const CREATED_AT = '1970-01-01T00:00:00Z';
type ModelsOfKey = Pick<KeyState, 'group' | 'models'>;

const DEFAULT_PAGE = 20;
const LARGEST_PAGE = 1000;

/** Models of the key's group that have a price and that the key's own list allows, by name. */
export function callableModels(state: Pick<State, 'groups'>, key: ModelsOfKey): Offer[] {
  const offers = state.groups.get(key.group)?.offers.values() ?? [];
  return [...offers].filter((offer) => isCallable(offer, key)).sort((a, b) => compareText(a.model, b.model));
}

/** The callable model of this name; undefined if the key cannot call it. */
export function callableModel(state: Pick<State, 'groups'>, key: ModelsOfKey, model: string): Offer | undefined {
  const offer = state.groups.get(key.group)?.offers.get(model);
  return offer && isCallable(offer, key) ? offer : undefined;
}

/** OpenAI's list, which has no pages. */
export function openaiModels(offers: readonly Offer[]): OpenAIModelList {
  return { object: 'list', data: offers.map(openaiModel) };
}

/** OpenAI's model object. */
export function openaiModel(offer: Offer): OpenAIModel {
  return {
    id: offer.model,
    object: 'model',
    created: CREATED_S,
    owned_by: offer.vendor,
    ...modelFactsJson(factsOf(offer)),
  };
}

/**
 * A page of Anthropic's list. `offers` are ordered by name, and a cursor is a place in that order: it works although
 * its model has vanished since. Throws invalid_request.
 */
export function anthropicModels(offers: readonly Offer[], query: AnthropicPageQuery): AnthropicModelPage {
  const limit = parseLimit(query.limit);
  // an empty cursor counts as none
  const after = query.after_id || undefined;
  const before = query.before_id || undefined;
  if (after !== undefined && before !== undefined) {
    const message = 'after_id and before_id exclude each other: send one of them.';
    throw new GatewayError('invalid_request', message, { param: 'before_id' });
  }
  const isInside = (model: string): boolean =>
    (after === undefined || model > after) && (before === undefined || model < before);
  const rest = offers.filter(({ model }) => isInside(model));
  const page = before === undefined ? rest.slice(0, limit) : rest.slice(-limit);
  return {
    data: page.map(anthropicModel),
    has_more: rest.length > page.length,
    first_id: page[0]?.model ?? null,
    last_id: page.at(-1)?.model ?? null,
  };
}

/** Anthropic's model object. Its limits hold on every channel that may serve it. */
export function anthropicModel(offer: Offer): AnthropicModel {
  const { contextTokens, maxOutputTokens } = limitsOf(offer);
  return {
    type: 'model',
    id: offer.model,
    display_name: offer.model,
    created_at: CREATED_AT,
    max_input_tokens: contextTokens,
    max_tokens: maxOutputTokens,
    capabilities: anthropicCapabilities(offer),
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
  };
}

/** The limits that hold on every channel which may serve the model; null: unknown. */
export function limitsOf(offer: Offer): Pick<ModelFacts, 'contextTokens' | 'maxOutputTokens'> {
  return factsOf(offer);
}

function isCallable(offer: Offer, { models }: Pick<KeyState, 'models'>): boolean {
  return isPriced(offer) && offeredChannels(offer).length > 0 && (models?.has(offer.model) ?? true);
}

/** Images and videos need a price per generation, unless an output limit bounds their tokens. */
function isPriced(offer: Offer): boolean {
  const { catalog, quotaType, endpoints } = offer;
  if (catalog === undefined) return false;
  if (quotaType === 'Request' || endpoints.has('Chat') || endpoints.has('Embeddings')) return true;
  return offeredChannels(offer).some(
    ({ target, model }) =>
      model.endpoints.has('Images') &&
      model.maxOutputTokens > 0 &&
      model.contextTokens > 0 &&
      providerOf(target.protocol).endpoints?.images?.limitsOutput === true,
  );
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PAGE;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LARGEST_PAGE) {
    const message = `limit must be a whole number from 1 to ${LARGEST_PAGE}.`;
    throw new GatewayError('invalid_request', message, { param: 'limit' });
  }
  return limit;
}

function factsOf(offer: Offer): ModelFacts {
  return modelFacts(new Set(offeredChannels(offer).map(({ model }) => model)));
}
