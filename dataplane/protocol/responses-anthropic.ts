/**
 * Responses client, Anthropic provider. The parts are in responses-anthropic/: request, response and stream.
 */
import type { ProofMaker } from './conversation/reasoning.ts';
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';
import { requestConverter } from './responses-anthropic/request.ts';
import { convertResponse } from './responses-anthropic/response.ts';
import { EventsToResponse } from './responses-anthropic/stream.ts';

export const responsesToAnthropic = responsesWith(['Anthropic']);
/** For a second conversion, which leaves out reasoning that its provider refuses. */
export const responsesToMessages = responsesWith(['Anthropic', 'Gemini', 'OpenAI']);

/** `proofs`: whose reasoning the messages have. */
function responsesWith(proofs: readonly ProofMaker[]): Converter {
  return {
    client: 'Responses',
    upstream: 'Anthropic',
    request: requestConverter(proofs),
    response: convertResponse,
    stream: (request) => openEventStream(new EventsToResponse(request), { client: 'OpenAI', requestId: request.id }),
  };
}
