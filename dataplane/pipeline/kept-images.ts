/**
 * Images in what a provider keeps for a later call: the responses before it, and conversations. The gateway does not see
 * them again, so that the sealed id says whether there may be any.
 */
import { GatewayError } from '../errors.ts';
import { CONVERSATION_ID, RESPONSE_ID } from '../protocol/openai/response-seals.ts';
import type { Candidate, KeyState, State } from '../state/state.ts';
import type { EndpointCall } from './context.ts';
import { sealFor } from './sealing-context.ts';

type KeptCall = Pick<EndpointCall, 'affinity' | 'imageParam' | 'model'>;

/**
 * Whether what the call continues may contain images. Throws unsupported_image for an image in a conversation that is
 * for text only.
 */
export function continuesImages(state: State, key: KeyState, { affinity, imageParam }: KeptCall): boolean {
  const seal = sealFor(state, key, '');
  const kept = (affinity?.bound ?? []).flatMap((sealed) => seal?.open(sealed) ?? []);
  const isForText = kept.some(({ kind, images }) => kind === CONVERSATION_ID && !images);
  if (isForText && imageParam !== undefined) throw textConversation(imageParam);
  return kept.some(({ kind, images }) => images && (kind === CONVERSATION_ID || kind === RESPONSE_ID));
}

/** The error for an image in a conversation that models which take text only may continue. */
export function textConversation(param: string): GatewayError {
  const message =
    'This conversation is for text only, because a model that takes text only may continue it. Make one for images ' +
    'with POST /v1/conversations and a "model" that takes images.';
  return new GatewayError('unsupported_image', message, { param });
}

/** The candidates that may get what the call continues. Throws unsupported_image if there are none. */
export function ableToContinue(
  candidates: readonly Candidate[],
  isOfImages: boolean,
  model: string,
): readonly Candidate[] {
  if (!isOfImages) return candidates;
  const able = candidates.filter((candidate) => candidate.model.acceptsImages);
  if (able.length > 0) return able;
  const message =
    `The model "${model}" takes text only, and what the request continues may contain images. Send the text in ` +
    '"input", or choose a model that takes images.';
  throw new GatewayError('unsupported_image', message, { param: 'model' });
}
