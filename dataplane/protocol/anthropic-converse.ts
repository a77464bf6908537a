/**
 * Anthropic client, provider of Bedrock's Converse. The parts are in anthropic-converse/: request, messages, tools,
 * response and stream.
 */
import { convertRequest } from './anthropic-converse/request.ts';
import { convertResponse } from './anthropic-converse/response.ts';
import { ConverseToEvents } from './anthropic-converse/stream.ts';
import type { Converter } from './converter.ts';
import { openEventStream } from './event-stream.ts';

export const anthropicToConverse: Converter = {
  client: 'Anthropic',
  upstream: 'BedrockConverse',
  request: convertRequest,
  response: convertResponse,
  stream: (request) => openEventStream(new ConverseToEvents(request), { client: 'Anthropic', requestId: request.id }),
};
