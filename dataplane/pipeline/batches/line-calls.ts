/** The requests that a batch can have, each of which is read and checked as a single call to its endpoint. */
import type { BatchEndpoint } from '../../protocol/batches/requests.ts';
import type { BodyFacts, BodyKind } from '../../protocol/body-kinds.ts';
import type { EndpointCall, Received } from '../context.ts';
import { CHAT_COMPLETIONS, MESSAGES } from '../endpoints/chat.ts';
import { COMPLETIONS } from '../endpoints/completions.ts';
import { EMBEDDINGS } from '../endpoints/embeddings.ts';
import { callOf } from '../endpoints/endpoint.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { MODERATIONS } from '../endpoints/moderations.ts';
import { RESPONSES } from '../endpoints/responses.ts';

type LineCall = (facts: BodyFacts[BodyKind], received: Received) => EndpointCall;

function lineCall<Facts>(endpoint: Endpoint<Facts>): LineCall {
  // the facts of a line are those of its endpoint's kind
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (facts, received) => callOf(endpoint, facts as Facts, received);
}

export const LINE_CALLS: Readonly<Record<BatchEndpoint, LineCall>> = {
  '/v1/chat/completions': lineCall(CHAT_COMPLETIONS),
  '/v1/responses': lineCall(RESPONSES),
  '/v1/completions': lineCall(COMPLETIONS),
  '/v1/embeddings': lineCall(EMBEDDINGS),
  '/v1/moderations': lineCall(MODERATIONS),
  '/v1/messages': lineCall(MESSAGES),
};
