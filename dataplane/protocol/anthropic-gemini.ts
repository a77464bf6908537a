/**
 * Anthropic client, provider of Gemini's own API. The parts are in anthropic-gemini/: request, messages, tools,
 * response and stream.
 */
import { convertRequest } from './anthropic-gemini/request.ts';
import { convertResponse } from './anthropic-gemini/response.ts';
import { GeminiToEvents } from './anthropic-gemini/stream.ts';
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';

export const anthropicToGemini: Converter = {
  client: 'Anthropic',
  upstream: 'Gemini',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new GeminiToEvents(request), { client: 'Anthropic', requestId: request.id }),
};
