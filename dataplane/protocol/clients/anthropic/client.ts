/** Clients of Anthropic's messages. */
import type { Client } from '../client.ts';
import { readRequest } from './read-request.ts';
import { writeResponse } from './write-response.ts';
import { MessageStreamWriter } from './write-stream.ts';

export const anthropicClient: Client = {
  dialect: 'Anthropic',
  read: readRequest,
  write: writeResponse,
  stream: (context) => new MessageStreamWriter(context),
};
