/** Forwards a client's requests about responses that a provider stores: retrieval, deletion, input items and so on. */
import { GatewayError } from '../errors.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { RESPONSE_ID } from '../protocol/openai/response-seals.ts';
import { askKeeper, findKept } from './kept-state.ts';
import type { KeptStateRequest } from './kept-state.ts';
import type { BufferedResponse } from './videos.ts';

const NOT_KEPT = 'This account has no such response here: only a response that its provider keeps can be asked for, by '
  + 'the id that its call answered. Read the answer of POST /v1/responses itself, and send whole conversations in '
  + '"input".';

/**
 * Returns the provider's response, with its ids sealed again. `id` is the sealed id that the client was given. Throws
 * not_found if the response belongs to another account or its channel is no longer available to the key, and the errors
 * of a call.
 */
export async function askForResponse(
  deps: PipelineDeps, asked: KeptStateRequest, id: string,
): Promise<BufferedResponse> {
  const kept = findKept(deps.state.get(), asked.key, { id, kind: RESPONSE_ID });
  if (!kept) throw new GatewayError('not_found', NOT_KEPT);
  const path = `/responses/${encodeURIComponent(kept.ownId)}${asked.below}`;
  return askKeeper(deps, asked, kept, { about: 'response', path, body: undefined });
}
