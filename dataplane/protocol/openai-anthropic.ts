/**
 * OpenAI client, Anthropic provider. The parts are in openai-anthropic/: the request and its messages and tools, the answer, and
 * the stream's state machine.
 */
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';
import { convertRequest } from './openai-anthropic/request.ts';
import { convertResponse } from './openai-anthropic/response.ts';
import { ChunksFromEvents } from './openai-anthropic/stream.ts';

export const openaiToAnthropic: Converter = {
  client: 'OpenAI',
  upstream: 'Anthropic',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new ChunksFromEvents(request), { client: 'OpenAI', requestId: request.id }),
};
