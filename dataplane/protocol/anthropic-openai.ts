/**
 * Anthropic client, OpenAI provider. The parts are in anthropic-openai/: request, messages, tools, response
 * and stream.
 */
import { convertRequest } from './anthropic-openai/request.ts';
import { convertResponse } from './anthropic-openai/response.ts';
import { ChunksToEvents } from './anthropic-openai/stream.ts';
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';

export const anthropicToOpenai: Converter = {
  client: 'Anthropic',
  upstream: 'OpenAI',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new ChunksToEvents(request), { client: 'Anthropic', requestId: request.id }),
};
