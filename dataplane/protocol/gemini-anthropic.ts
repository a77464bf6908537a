/**
 * Client of Google's protocol, Anthropic provider. The parts are in gemini-anthropic/: request, contents, tools,
 * response and stream.
 */
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';
import { convertRequest } from './gemini-anthropic/request.ts';
import { convertResponse } from './gemini-anthropic/response.ts';
import { EventsToAnswer } from './gemini-anthropic/stream.ts';

export const geminiToAnthropic: Converter = {
  client: 'Gemini',
  upstream: 'Anthropic',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new EventsToAnswer(request), { client: 'Gemini', requestId: request.id }),
};
