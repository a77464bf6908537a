/**
 * Finds the channels that may serve the call: model → the group's offer → candidates in the order in which they are
 * tried. An unknown model and another group's model get the same error, so that a client cannot tell them apart.
 */
import { GatewayError } from '../errors.ts';
import { RequestFault } from '../protocol/call-facts.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import type { Candidate, EndpointKind, Offer } from '../state/state.ts';
import { continueResponse } from './continue-response.ts';
import { beginTurn } from './conversation-turn.ts';
import { orderByAffinity } from './affinity.ts';
import { ableToContinue, continuesImages } from './kept-images.ts';
import type { Authenticated, EndpointCall, PipelineDeps, Received, Routed } from './context.ts';

/** What a model of each kind does, and at which path. */
const USES: Readonly<Record<EndpointKind, string>> = {
  Chat: 'answers chats: POST /v1/chat/completions or /v1/messages',
  Embeddings: 'reads texts and writes none: POST /v1/embeddings, /v1/moderations or /v1/rerank, whichever it is for',
  Images: 'makes images: POST /v1/images/generations',
  Videos: 'makes videos: POST /v1/videos',
  Speech: 'speaks texts: POST /v1/audio/speech',
  Transcriptions: 'writes down what audio says: POST /v1/audio/transcriptions or /v1/audio/translations',
  Realtime: 'talks: open a WebSocket at /v1/realtime?model=…',
};

/** Throws or rejects where what a call continues is not to be read for it. */
type MayContinue = (call: EndpointCall) => Promise<void> | undefined;

/**
 * Rejects with invalid_json, invalid_request, the refusals of `mayContinue`, model_not_found, wrong_endpoint, model_unavailable, model_not_priced, or
 * an error of the endpoint's own check.
 */
export async function route(
  deps: Pick<PipelineDeps, 'state' | 'random' | 'refusing' | 'kept' | 'memory'>,
  authenticated: Authenticated,
  mayContinue: MayContinue = () => undefined,
): Promise<Routed> {
  const read = await readCall(deps, authenticated, mayContinue);
  const { call } = read;
  const { key } = authenticated;
  if (call.background === true && !deps.state.get().sealingKeys) throw notFetchable();
  const { group, offer } = findOffer(deps.state.get(), key, call);
  const ordered = deps.refusing.ordered(orderByAffinity(deps, authenticated, { call, offer }));
  const isOfImages = continuesImages(deps.state.get(), key, call);
  const candidates = eligibleCandidates(call, offer, ableToContinue(ordered, isOfImages, call.model));
  if (call.accountBoundField !== undefined) checkOneChannel(call.accountBoundField, call.model, candidates);
  return { ...authenticated, ...read, group, offer, candidates, continuesImages: isOfImages };
}

/** Reads the call, again once what it continues is a part of it. */
async function readCall(
  deps: Parameters<typeof continueResponse>[0],
  authenticated: Authenticated,
  mayContinue: MayContinue,
): Promise<Pick<Routed, 'call' | 'continues' | 'turn'>> {
  const call = await parseCall(authenticated.received);
  const { continues, conversation } = call;
  if (continues === undefined && conversation === undefined) return { call };
  if (conversation !== undefined && call.background === true) throw noBackgroundTurn();
  await mayContinue(call);
  let turn: Routed['turn'];
  try {
    if (conversation !== undefined) turn = await beginTurn(deps, authenticated, conversation);
    else if (continues !== undefined) await continueResponse(deps, authenticated, continues);
  } catch (error) {
    throw clientErrorOf(error);
  }
  return { call: await parseCall(authenticated.received), continues, turn };
}

function noBackgroundTurn(): GatewayError {
  const message =
    'A response in the background ends after its call, which is when its conversation here would get its items. Leave ' +
    '"background" out, or send the whole conversation in "input".';
  return new GatewayError('unsupported_parameter', message, { param: 'background' });
}

/** Throws model_not_found, wrong_endpoint or model_unavailable. */
function findOffer(
  { groups }: ReturnType<PipelineDeps['state']['get']>,
  key: Authenticated['key'],
  call: EndpointCall,
): Pick<Routed, 'group' | 'offer'> {
  const group = groups.get(key.group);
  const offer = group?.offers.get(call.model);
  if (!group || !offer || (key.models && !key.models.has(call.model))) throw modelNotFound(call.model);
  if (!offer.endpoints.has(call.kind)) throw wrongEndpoint(call.model, offer.endpoints);
  if (isDrained(call, offer)) throw modelUnavailable(call.model);
  return { group, offer };
}

function notFetchable(): GatewayError {
  const message = 'This gateway has no key to seal ids with, so that an answer in the background could not be fetched.';
  return new GatewayError('unsupported_parameter', message, { param: 'background' });
}

/** The same error for every reason why this key cannot call the model. */
export function modelNotFound(model: string, param = 'model'): GatewayError {
  const name = model.length > 200 ? `${model.slice(0, 200)}…` : model;
  const message =
    `The model "${name}" does not exist or you do not have access to it. ` +
    'GET /v1/models lists the models of this key.';
  return new GatewayError('model_not_found', message, { param });
}

/** True if drained channels could serve the call, and no others. */
function isDrained(call: EndpointCall, { tiers, drained }: Offer): boolean {
  return drained.some((candidate) => serves(call, candidate)) && !tiers.flat().some((open) => serves(call, open));
}

function serves(call: EndpointCall, candidate: Candidate): boolean {
  if (!candidate.model.endpoints.has(call.kind)) return false;
  return call.serves?.(candidate) ?? call.converter(candidate) !== undefined;
}

/** The error for a model of the key whose channels get no new calls for now. */
export function modelUnavailable(model: string): GatewayError {
  const message = `The model "${model}" is out of service for the moment. Try again, or use another model of this key.`;
  return new GatewayError('model_unavailable', message, { param: 'model', retryAfterSeconds: DRAINED_RETRY_SECONDS });
}

/** Channels are drained for minutes, and the official SDKs wait for up to 60 seconds. */
const DRAINED_RETRY_SECONDS = 15;

/**
 * The error for a model that the key can call at another endpoint: "flux-1.1-pro makes images: POST
 * /v1/images/generations".
 */
function wrongEndpoint(model: string, endpoints: ReadonlySet<EndpointKind>): GatewayError {
  const message = `${model} ${[...endpoints].map((kind) => USES[kind]).join('; it ')}`;
  return new GatewayError('wrong_endpoint', message, { param: 'model' });
}

async function parseCall(received: Received): Promise<EndpointCall> {
  try {
    return await received.read(received);
  } catch (error) {
    throw clientErrorOf(error);
  }
}

/** The GatewayError of a RequestFault; any other error as it is. */
export function clientErrorOf(error: unknown): unknown {
  if (!(error instanceof RequestFault)) return error;
  return new GatewayError(error.code, error.message, error.param === undefined ? {} : { param: error.param });
}

/** The candidates that can serve this call. Throws the reason if there are none. */
function eligibleCandidates(call: EndpointCall, offer: Offer, ordered: readonly Candidate[]): readonly Candidate[] {
  const served = ordered.filter((candidate) => serves(call, candidate));
  if (served.length === 0) throw notServed(call, ordered);
  const priced = served.filter((candidate) => candidate.price !== undefined && isBounded(call, offer, candidate));
  if (priced.length === 0) throw notPriced(call, offer);
  const refusals = priced.map((candidate) => refusalOf(call, candidate));
  if (!refusals.includes(undefined)) throw refusals[0];
  return priced.filter((_, index) => refusals[index] === undefined);
}

/** Throws unsupported_parameter if the candidates have several channels. */
function checkOneChannel(param: string, model: string, candidates: readonly Candidate[]): void {
  if (new Set(candidates.map(({ target }) => target.id)).size === 1) return;
  const message =
    `The field "${param}" names what one provider account keeps, and "${model}" is served by several. ` +
    'Send the content itself, or ask the platform team for a model with one channel.';
  throw new GatewayError('unsupported_parameter', message, { param });
}

/** Why the candidate's model does not allow this call; undefined if it does. */
function refusalOf(call: EndpointCall, candidate: Candidate): unknown {
  try {
    call.check(candidate);
    return undefined;
  } catch (error) {
    return error;
  }
}

function notServed(call: EndpointCall, candidates: readonly Candidate[]): GatewayError {
  return call.unservable(candidates) ?? modelNotFound(call.model);
}

function notPriced({ model, kind }: EndpointCall, offer: Offer): GatewayError {
  return new GatewayError('model_not_priced', `The model "${model}" ${whyNotPriced(kind, offer)}`, { param: 'model' });
}

function whyNotPriced(kind: EndpointKind, { catalog, quotaType }: Offer): string {
  if (catalog === undefined)
    return 'has no price yet, so it cannot be called. Ask the platform team to add it to a PriceCatalog.';
  if (quotaType === 'Request' && kind === 'Realtime')
    return 'has a price per request, and sessions cost tokens. Ask the platform team for its price per token.';
  if (quotaType === 'Request')
    return (
      'has no price for this endpoint, so it cannot be called here. Its price is per image (perImage), per second of ' +
      'a video (perSecondUsd, perSecond), per minute of audio (perMinuteUsd) or by the characters of speech ' +
      '(perMillionCharactersUsd).'
    );
  if (AUDIO.has(kind))
    return (
      'has a price per token and no limits that bound it, so it cannot be called. Ask the platform team for ' +
      'contextTokens and maxOutputTokens in its ModelRoute.'
    );
  return (
    'has a price per token only, so it cannot be called here. Ask the platform team for a price per request ' +
    `(quotaType Request)${kind === 'Images' ? ", or, if it is Gemini's, for contextTokens and maxOutputTokens" : ''}.`
  );
}

const AUDIO: ReadonlySet<EndpointKind> = new Set(['Speech', 'Transcriptions', 'Realtime']);

/** A price of what an endpoint makes or reads counts there only. */
export function isOfEndpoint(kind: EndpointKind, { perSecond, perImage, perAudio }: CompiledPrice): boolean {
  if (perAudio) return kind === (perAudio.unit === 'character' ? 'Speech' : 'Transcriptions');
  if (perSecond) return kind === 'Videos';
  return perImage.length === 0 || kind === 'Images';
}

function isBounded(call: EndpointCall, { quotaType }: Offer, candidate: Candidate): boolean {
  const { price } = candidate;
  if (price && !isOfEndpoint(call.kind, price)) return false;
  if (quotaType === 'Request') return call.kind !== 'Realtime';
  return hasTokenBound(call, candidate);
}

/**
 * Images have a bound in tokens where an output limit is sent, and audio where the model states one; of others and videos,
 * a price per generation is held.
 */
function hasTokenBound(call: EndpointCall, candidate: Candidate): boolean {
  const { contextTokens, maxOutputTokens } = candidate.model;
  if (call.kind === 'Videos' || contextTokens === 0) return false;
  if (AUDIO.has(call.kind)) return maxOutputTokens > 0;
  return call.kind !== 'Images' || (maxOutputTokens > 0 && call.converter(candidate)?.limitsOutput === true);
}
