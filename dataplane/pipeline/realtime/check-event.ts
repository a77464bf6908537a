/** [P] Refuses events of clients that could make a session cost more than is held for it, or that it does not offer. */
import { GatewayError } from '../../errors.ts';
import type { ClientEvent } from '../../protocol/realtime/client-events.ts';
import type { Candidate, KeyState, Offer } from '../../state/state.ts';
import { checkAllowed } from '../endpoints/allowed-features.ts';
import { checkCostFields } from '../endpoints/check-cost-fields.ts';
import { isOfEndpoint, modelNotFound } from '../route.ts';

/** The number of responses that a client may wait for at a time. */
const MAX_ASKED = 16;

interface SessionState {
  readonly candidate: Candidate;
  readonly key: Pick<KeyState, 'models'>;
  /** Of the key's group. */
  readonly offers: ReadonlyMap<string, Pick<Offer, 'endpoints'>> | undefined;
  /** How many responses the client waits for. */
  readonly asked: number;
  /** The model that transcribes the session's audio; undefined: there is none. */
  readonly transcriber: string | undefined;
}

/** Throws GatewayError: not_allowed, unsupported_image, invalid_request, model_not_found, model_not_priced. */
export function checkEvent(event: ClientEvent, state: SessionState): void {
  const { candidate } = state;
  checkCostFields(event.unknown, candidate);
  checkAllowed(event, candidate);
  if (event.type === 'response.create' && state.asked >= MAX_ASKED) throw tooManyAsked();
  if (!event.session) return;
  const { model, transcriber } = event.session;
  if (model !== undefined && model !== candidate.model.name) throw modelIsFixed(candidate.model.name);
  if (typeof transcriber === 'string') checkTranscriber(transcriber, state);
}

/** The transcriber is a model of the key's group for transcriptions, with a price, named as its provider names it. */
function checkTranscriber(model: string, { candidate, key, offers, transcriber }: SessionState): void {
  if (transcriber !== undefined && transcriber !== model) {
    const message = `The audio of this session is written down by ${transcriber}. Open another session to use ${model}.`;
    throw new GatewayError('invalid_request', message, { param: TRANSCRIBER });
  }
  const isOffered = offers?.get(model)?.endpoints.has('Transcriptions') === true && key.models?.has(model) !== false;
  if (!isOffered) throw modelNotFound(model, TRANSCRIBER);
  const price = candidate.priceOf(model);
  if (!price || !isOfEndpoint('Transcriptions', price)) throw transcriberNotPriced(model);
}

function transcriberNotPriced(model: string): GatewayError {
  const message = `The model "${model}" has no price for transcriptions, so it cannot write down audio.`;
  return new GatewayError('model_not_priced', message, { param: TRANSCRIBER });
}

const TRANSCRIBER = 'session.audio.input.transcription.model';

function modelIsFixed(model: string): GatewayError {
  const message = `This session is with ${model}. Open another one to talk to another model.`;
  return new GatewayError('invalid_request', message, { param: 'session.model' });
}

function tooManyAsked(): GatewayError {
  const message = `This session waits for ${MAX_ASKED} responses already. Ask again when one of them has begun.`;
  return new GatewayError('rate_limit_exceeded', message);
}
