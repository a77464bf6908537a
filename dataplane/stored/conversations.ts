/**
 * Conversations: a client makes one, adds items, and names it in its calls. A provider stores it, and the sealed id names
 * the channel; where the gateway keeps conversations itself, it does so unless the request names a model whose provider
 * does.
 */
import { GatewayError } from '../errors.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { keepingOf } from '../pipeline/conversation-turn.ts';
import { textConversation } from '../pipeline/kept-images.ts';
import type { RequestBody } from '../pipeline/request-body.ts';
import { clientErrorOf, modelNotFound, modelUnavailable } from '../pipeline/route.ts';
import { sealFor, sealingContext } from '../pipeline/sealing-context.ts';
import type { Conversations, UpstreamBody } from '../protocol/converter.ts';
import type { StoredConversationFacts } from '../protocol/openai/conversations.ts';
import { ownConversationId } from '../protocol/openai/continued-input.ts';
import { CONVERSATION_ID } from '../protocol/openai/response-seals.ts';
import { stringOf } from '../protocol/fields.ts';
import { parseObject } from '../protocol/json-value.ts';
import { endpointOf } from '../protocol/providers.ts';
import type { Candidate, KeyState, Offer, State } from '../state/state.ts';
import { orderCandidates } from '../upstream/pick.ts';
import { endConversation, extendConversation, reserveConversation } from './conversation-limits.ts';
import type { ConversationPlace } from './conversation-limits.ts';
import { passRequest } from './client-request.ts';
import { createOwnConversation, requestOwnConversation } from './own-conversations.ts';
import type { ConversationRequest, ConversationResponse } from './own-conversations.ts';
import { findStored, offersOf, openId, storingTiers } from './stored-object.ts';
import type { StoredObject, StoringChannel } from './stored-object.ts';

const NOT_FOUND =
  'This account has no such conversation here: only one that was made with POST /v1/conversations here ' +
  'can be asked for. Make a new one, or send whole conversations in "input".';
const NO_CHANNEL =
  'No provider of this key\'s models keeps conversations. Send them whole, in "input" of POST ' +
  '/v1/responses or "messages" of POST /v1/chat/completions.';

/**
 * POST /v1/conversations: makes a conversation at a channel that serves Responses. The gateway's own field `model`
 * selects the channels of a model, and is needed only where not all models have the same ones.
 */
export async function createConversation(
  deps: PipelineDeps,
  request: ConversationRequest,
): Promise<ConversationResponse> {
  const { requestId, key, body } = request;
  const given = await readBody(request);
  if (isOwn(deps, key, given)) return createOwnConversation(deps, request);
  const bytes = body?.bytes.length ?? 0;
  const pending = await reserveConversation(deps, { requestId, account: key.account, bytes });
  let created: ConversationResponse;
  try {
    created = await createAtChannel(deps, request, given);
  } catch (error) {
    // where the provider may have created it all the same, its place is taken until it expires
    if (error instanceof GatewayError && error.code !== 'upstream_error') await pending.failed();
    throw error;
  }
  const place = createdPlace(deps.state.get(), key, created.body);
  // without one, the place stays taken until it expires
  if (place) await pending.created(place);
  return created;
}

/** Ends a conversation that the provider has deleted, now or before. */
async function endAfter(
  sending: Promise<ConversationResponse>,
  end: () => Promise<void>,
): Promise<ConversationResponse> {
  try {
    const response = await sending;
    await end();
    return response;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'not_found') await end();
    throw error;
  }
}

/** Where the conversation is that a response describes, whose id is sealed; undefined: it describes none. */
function createdPlace(state: State, key: KeyState, body: Uint8Array): ConversationPlace | undefined {
  const opened = sealFor(state, key, '')?.open(stringOf(parseObject(body)['id']));
  return opened && { account: key.account, channel: opened.channel, providerId: opened.data };
}

/** True if the gateway keeps a new conversation: the request names no model whose provider does. */
function isOwn(deps: Pick<PipelineDeps, 'kept' | 'state'>, key: KeyState, { model }: StoredConversationFacts): boolean {
  const state = deps.state.get();
  if (!keepingOf(deps, state)) return false;
  if (model === undefined) return true;
  const offers = offersOf(state, key).filter((offer) => offer.model === model);
  if (offers.length === 0) throw modelNotFound(model);
  return offers.every((offer) => storingTiers({ tiers: [...offer.tiers, offer.drained] }).length === 0);
}

async function createAtChannel(
  deps: PipelineDeps,
  request: ConversationRequest,
  { model, sealed, imageParam }: StoredConversationFacts,
): Promise<ConversationResponse> {
  const state = deps.state.get();
  const { key } = request;
  const tiers = tiersFor(state, key, model);
  const opened = sealed.map((value) => sealFor(state, key, '')?.open(value)?.channel);
  // the channel that made what the items contain comes first
  const makers = tiers.map((tier) => tier.filter(({ target }) => opened.includes(target.id)));
  let reason = new GatewayError('not_found', NO_CHANNEL);
  for (const channel of new Set([...makers.flat(), ...orderCandidates(tiers, deps.random)])) {
    const images = takesImages(state, key, { channel, model, imageParam });
    const seal = sealFor(state, key, channel.target.id, images);
    if (!seal) continue;
    try {
      return await send(deps, request, { channel, seal, images }, conversationsAt(channel).path());
    } catch (error) {
      if (!(error instanceof GatewayError) || !NEXT_CHANNEL.has(error.code)) throw error;
      // a provider that has no such endpoint answers 404
      if (error.code !== 'not_found') reason = error;
    }
  }
  throw reason;
}

/** Another channel may do: this one is full, stores no conversations, or has not made what the items contain. */
const NEXT_CHANNEL: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'not_found', 'unsupported_parameter']);

/** All other requests. `id` is what the client was given: a sealed id, or one of the gateway's own. */
export async function requestConversation(
  deps: PipelineDeps,
  request: ConversationRequest,
  id: string,
): Promise<ConversationResponse> {
  const state = deps.state.get();
  const own = keepingOf(deps, state) && ownConversationId(id);
  if (own !== undefined) return requestOwnConversation(deps, request, { id: own, missing: notFound() });
  const stored = find(state, request.key, id);
  const { imageParam } = await readBody(request);
  if (imageParam !== undefined && !stored.images) throw textConversation(imageParam);
  const { channel, providerId } = stored;
  const place = { account: request.key.account, channel: channel.target.id, providerId };
  const { body, method, below } = request;
  if (method === 'POST' && body) await extendConversation(deps, place, body.bytes.length);
  const sending = send(deps, request, stored, conversationsAt(channel).path(providerId) + below);
  return method === 'DELETE' && below === '' ? endAfter(sending, () => endConversation(deps, place)) : sending;
}

/** A conversation that a provider keeps. Throws not_found. */
function find(state: State, key: KeyState, id: string): StoredObject & { readonly channel: Candidate } {
  const named = openId(state, key, { id, kind: CONVERSATION_ID });
  const stored = named && findStored(state, key, named);
  if (!stored) throw notFound();
  return stored;
}

function notFound(): GatewayError {
  return new GatewayError('not_found', NOT_FOUND);
}

async function readBody({ body }: ConversationRequest): Promise<StoredConversationFacts> {
  return body ? orError(body.facts('StoredConversation')) : NO_FACTS;
}

const NO_FACTS: StoredConversationFacts = { model: undefined, sealed: [], imageParam: undefined };

interface NewConversation extends Pick<StoredConversationFacts, 'imageParam' | 'model'> {
  readonly channel: Candidate;
}

/**
 * Whether a new conversation is for images, and not for models that take text only: it has one, or each model that may
 * continue it takes images. Throws unsupported_image for an image that no model may be given.
 */
function takesImages(state: State, key: KeyState, { channel, model, imageParam }: NewConversation): boolean {
  const takers = offersOf(state, key)
    .filter((offer) => model === undefined || offer.model === model)
    .flatMap((offer) => storingTiers(offer).flat())
    .filter(({ target }) => target.id === channel.target.id)
    .map((candidate) => candidate.model.acceptsImages);
  if (imageParam === undefined) return takers.every(Boolean);
  if (takers.includes(true)) return true;
  const message = 'No model that could continue this conversation takes images. Leave the image out.';
  throw new GatewayError('unsupported_image', message, { param: imageParam });
}

/** Throws the client's error for a fault of the request. */
async function orError<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw clientErrorOf(error);
  }
}

async function send(
  deps: PipelineDeps,
  request: ConversationRequest,
  at: StoringChannel & { readonly channel: Candidate },
  path: string,
): Promise<ConversationResponse> {
  const { key, body: given } = request;
  const converted = given && (await convert(deps, given, { key, channel: at.channel }));
  const sent = { about: 'conversation', path, body: converted?.body } as const;
  const { response, body } = await passRequest(deps, request, at, sent);
  return { response, body, dropped: converted?.dropped ?? [] };
}

async function convert(
  { state }: PipelineDeps,
  body: RequestBody,
  { key, channel }: { readonly key: KeyState; readonly channel: Candidate },
): Promise<UpstreamBody> {
  const {
    target: { protocol },
    upstreamModel,
    model: { outputLimitField },
  } = channel;
  return orError(
    body.convert(conversationsAt(channel), protocol, {
      upstreamModel,
      outputLimitField,
      maxOutputTokens: undefined,
      sealing: sealingContext(state.get(), key, channel),
    }),
  );
}

function conversationsAt({ target }: Candidate): Conversations {
  return endpointOf(target.protocol, 'conversations');
}

/** The channels that may store a new conversation, by tier. Throws the reason if there are none, or it is ambiguous. */
function tiersFor(state: State, key: KeyState, model: string | undefined): readonly (readonly Candidate[])[] {
  const offers = offersOf(state, key).filter((offer) => model === undefined || offer.model === model);
  if (model !== undefined && offers.length === 0) throw modelNotFound(model);
  const choices = offers.map(storingTiers).filter((tiers) => tiers.length > 0);
  const [first] = choices;
  if (!first) throw noChannel(offers);
  if (new Set(choices.map(channelsIn)).size === 1) return first;
  const message =
    'This key has models at several providers that keep conversations. Name one of the models in "model" ' +
    '(extra_body={"model": "…"} in OpenAI\'s SDK for Python): the conversation is then kept where it is served.';
  throw new GatewayError('invalid_request', message, { param: 'model' });
}

function noChannel(offers: readonly Offer[]): GatewayError {
  const drained = offers.find((offer) => storingTiers({ tiers: [offer.drained] }).length > 0);
  return drained ? modelUnavailable(drained.model) : new GatewayError('not_found', NO_CHANNEL);
}

function channelsIn(tiers: readonly (readonly Candidate[])[]): string {
  return JSON.stringify([...new Set(tiers.flat().map(({ target }) => target.id))].sort());
}
