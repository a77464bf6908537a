/**
 * Anthropic client, OpenAI provider. The parts are in anthropic-openai/: the request and its messages and tools, the answer, and
 * the stream's state machine.
 */
import { convertRequest } from './anthropic-openai/request.ts';
import { convertResponse } from './anthropic-openai/response.ts';
import { EventsFromChunks } from './anthropic-openai/stream.ts';
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';

export const anthropicToOpenai: Converter = {
  client: 'Anthropic',
  upstream: 'OpenAI',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new EventsFromChunks(request), { client: 'Anthropic', requestId: request.id }),
};
