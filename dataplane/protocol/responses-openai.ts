/**
 * Responses client, OpenAI provider without responses: chat completions. The parts are in responses-openai/: request,
 * items, tools, response and stream.
 */
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';
import { convertRequest } from './responses-openai/request.ts';
import { convertResponse } from './responses-openai/response.ts';
import { ChunksToResponse } from './responses-openai/stream.ts';

export const responsesToOpenai: Converter = {
  client: 'Responses',
  upstream: 'OpenAI',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new ChunksToResponse(request), { client: 'OpenAI', requestId: request.id }),
};
