/**
 * Conversations that a provider keeps: a client makes one, adds items, and names it in its calls. The gateway stores
 * nothing; the sealed id names the channel.
 */
import { GatewayError } from '../errors.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { textConversation } from '../pipeline/kept-images.ts';
import type { RequestBody } from '../pipeline/request-body.ts';
import { clientErrorOf, modelNotFound, modelUnavailable } from '../pipeline/route.ts';
import { sealFor, sealingContext } from '../pipeline/sealing-context.ts';
import type { UpstreamBody } from '../protocol/converter.ts';
import type { StoredConversationFacts } from '../protocol/openai/conversations.ts';
import { CONVERSATION_ID } from '../protocol/openai/response-seals.ts';
import { stringOf } from '../protocol/fields.ts';
import { parseObject } from '../protocol/json-value.ts';
import { providerOf } from '../protocol/providers.ts';
import type { Candidate, KeyState, Offer, State } from '../state/state.ts';
import { orderCandidates } from '../upstream/pick.ts';
import { endConversation, extendConversation, reserveConversation } from './conversation-limits.ts';
import type { ConversationPlace } from './conversation-limits.ts';
import { askKeeper, findKept, keepersOf, offersOf } from './kept-state.ts';
import type { Keeper, KeptStateRequest } from './kept-state.ts';
import type { BufferedResponse } from './videos.ts';

export interface ConversationAnswer extends BufferedResponse {
  /** Paths of fields that the provider was not sent; empty: it was sent all of them. */
  readonly dropped: readonly string[];
}

interface ConversationRequest extends KeptStateRequest {
  /** Undefined: the request has none. */
  readonly body: RequestBody | undefined;
}

const NOT_KEPT =
  'This account has no such conversation here: only one that was made with POST /v1/conversations here ' +
  'can be asked for. Make a new one, or send whole conversations in "input".';
const NO_KEEPER =
  'No provider of this key\'s models keeps conversations. Send them whole, in "input" of POST ' +
  '/v1/responses or "messages" of POST /v1/chat/completions.';

/**
 * POST /v1/conversations: makes a conversation at a channel that serves Responses. The gateway's own field `model`
 * selects the channels of a model, and is needed only where not all models have the same ones.
 */
export async function createConversation(deps: PipelineDeps, asked: ConversationRequest): Promise<ConversationAnswer> {
  const { requestId, key, body } = asked;
  const bytes = body?.bytes.length ?? 0;
  const pending = await reserveConversation(deps, { requestId, account: key.account, bytes });
  let answer: ConversationAnswer;
  try {
    answer = await createAtKeeper(deps, asked);
  } catch (error) {
    // where the provider may have created it all the same, its place is taken until it expires
    if (error instanceof GatewayError && error.code !== 'upstream_error') await pending.failed();
    throw error;
  }
  const place = createdPlace(deps.state.get(), key, answer.body);
  // without one, the place stays taken until it expires
  if (place) await pending.created(place);
  return answer;
}

/** Ends a conversation that the provider has deleted, now or before. */
async function endAfter(sending: Promise<ConversationAnswer>, end: () => Promise<void>): Promise<ConversationAnswer> {
  try {
    const answer = await sending;
    await end();
    return answer;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'not_found') await end();
    throw error;
  }
}

/** Where the conversation is that a response describes, whose id is sealed; undefined: it describes none. */
function createdPlace(state: State, key: KeyState, body: Uint8Array): ConversationPlace | undefined {
  const opened = sealFor(state, key, '')?.open(stringOf(parseObject(body)['id']));
  return opened && { account: key.account, channel: opened.channel, ownId: opened.data };
}

async function createAtKeeper(deps: PipelineDeps, asked: ConversationRequest): Promise<ConversationAnswer> {
  const state = deps.state.get();
  const { model, sealed, imageParam } = await readBody(asked);
  const keepers = keepersFor(state, asked.key, model);
  const opened = sealed.map((value) => sealFor(state, asked.key, '')?.open(value)?.channel);
  // the channel that made what the items contain comes first
  const makers = keepers.map((tier) => tier.filter(({ target }) => opened.includes(target.id)));
  let reason = new GatewayError('not_found', NO_KEEPER);
  for (const offered of new Set([...makers.flat(), ...orderCandidates(keepers, deps.random)])) {
    const images = takesImages(state, asked.key, { offered, model, imageParam });
    const seal = sealFor(state, asked.key, offered.target.id, images);
    if (!seal) continue;
    try {
      return await send(deps, asked, { offered, seal }, '/conversations');
    } catch (error) {
      if (!(error instanceof GatewayError) || !NEXT_CHANNEL.has(error.code)) throw error;
      // a provider that has no such endpoint answers 404
      if (error.code !== 'not_found') reason = error;
    }
  }
  throw reason;
}

/** Another channel may do: this one is full, keeps no conversations, or has not made what the items contain. */
const NEXT_CHANNEL: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'not_found', 'unsupported_parameter']);

/** All other requests. `id` is the sealed id that the client was given. */
export async function askForConversation(
  deps: PipelineDeps,
  asked: ConversationRequest,
  id: string,
): Promise<ConversationAnswer> {
  const kept = findKept(deps.state.get(), asked.key, { id, kind: CONVERSATION_ID });
  if (!kept) throw new GatewayError('not_found', NOT_KEPT);
  const { imageParam } = await readBody(asked);
  if (imageParam !== undefined && !kept.images) throw textConversation(imageParam);
  const place = { account: asked.key.account, channel: kept.offered.target.id, ownId: kept.ownId };
  const { body, method, below } = asked;
  if (method === 'POST' && body) await extendConversation(deps, place, body.bytes.length);
  const sending = send(deps, asked, kept, `/conversations/${encodeURIComponent(kept.ownId)}${below}`);
  return method === 'DELETE' && below === '' ? endAfter(sending, () => endConversation(deps, place)) : sending;
}

async function readBody({ body }: ConversationRequest): Promise<StoredConversationFacts> {
  return body ? orError(body.facts('StoredConversation')) : NO_FACTS;
}

const NO_FACTS: StoredConversationFacts = { model: undefined, sealed: [], imageParam: undefined };

interface NewConversation extends Pick<StoredConversationFacts, 'imageParam' | 'model'> {
  readonly offered: Candidate;
}

/**
 * Whether a new conversation is for images, and not for models that take text only: it has one, or each model that may
 * continue it takes images. Throws unsupported_image for an image that no model may be given.
 */
function takesImages(state: State, key: KeyState, { offered, model, imageParam }: NewConversation): boolean {
  const takers = offersOf(state, key)
    .filter((offer) => model === undefined || offer.model === model)
    .flatMap((offer) => keepersOf(offer).flat())
    .filter(({ target }) => target.id === offered.target.id)
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
  asked: ConversationRequest,
  keeper: Keeper & { readonly offered: Candidate },
  path: string,
): Promise<ConversationAnswer> {
  const converted = asked.body && (await convert(deps, asked.body, { key: asked.key, offered: keeper.offered }));
  const sent = { about: 'conversation', path, body: converted?.body } as const;
  const { response, body } = await askKeeper(deps, asked, keeper, sent);
  return { response, body, dropped: converted?.dropped ?? [] };
}

async function convert(
  { state }: PipelineDeps,
  body: RequestBody,
  { key, offered }: { readonly key: KeyState; readonly offered: Candidate },
): Promise<UpstreamBody> {
  const {
    target: { protocol },
    upstreamModel,
    model: { outputLimitField },
  } = offered;
  const converter = providerOf(protocol).conversations;
  if (!converter) throw new Error('the channel was chosen although its provider keeps no conversations');
  return orError(
    body.convert(converter, protocol, {
      upstreamModel,
      outputLimitField,
      maxOutputTokens: undefined,
      sealing: sealingContext(state.get(), key, offered),
    }),
  );
}

/** The channels that may keep a new conversation, by tier. Throws the reason if there are none, or it is ambiguous. */
function keepersFor(state: State, key: KeyState, model: string | undefined): readonly (readonly Candidate[])[] {
  const offers = offersOf(state, key).filter((offer) => model === undefined || offer.model === model);
  if (model !== undefined && offers.length === 0) throw modelNotFound(model);
  const choices = offers.map(keepersOf).filter((tiers) => tiers.length > 0);
  const [first] = choices;
  if (!first) throw noKeeper(offers);
  if (new Set(choices.map(channelsIn)).size === 1) return first;
  const message =
    'This key has models at several providers that keep conversations. Name one of the models in "model" ' +
    '(extra_body={"model": "…"} in OpenAI\'s SDK for Python): the conversation is then kept where it is served.';
  throw new GatewayError('invalid_request', message, { param: 'model' });
}

function noKeeper(offers: readonly Offer[]): GatewayError {
  const drained = offers.find((offer) => keepersOf({ tiers: [offer.drained] }).length > 0);
  return drained ? modelUnavailable(drained.model) : new GatewayError('not_found', NO_KEEPER);
}

function channelsIn(tiers: readonly (readonly Candidate[])[]): string {
  return JSON.stringify([...new Set(tiers.flat().map(({ target }) => target.id))].sort());
}
