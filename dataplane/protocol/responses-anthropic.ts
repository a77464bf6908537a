/**
 * Responses client, Anthropic provider. The parts are in responses-anthropic/: request, response and stream.
 */
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';
import { convertRequest } from './responses-anthropic/request.ts';
import { convertResponse } from './responses-anthropic/response.ts';
import { EventsToResponse } from './responses-anthropic/stream.ts';

export const responsesToAnthropic: Converter = {
  client: 'Responses',
  upstream: 'Anthropic',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new EventsToResponse(request), { client: 'OpenAI', requestId: request.id }),
};
