/**
 * OpenAI client, Anthropic provider. The parts are in openai-anthropic/: request, messages, tools, response
 * and stream.
 */
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';
import { convertRequest } from './openai-anthropic/request.ts';
import { convertResponse } from './openai-anthropic/response.ts';
import { EventsToChunks } from './openai-anthropic/stream.ts';

export const openaiToAnthropic: Converter = {
  client: 'OpenAI',
  upstream: 'Anthropic',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new EventsToChunks(request), { client: 'OpenAI', requestId: request.id }),
};
