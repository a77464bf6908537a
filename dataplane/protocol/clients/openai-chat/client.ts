/** Clients of OpenAI's chat completions. */
import type { Client } from '../client.ts';
import { readRequest } from './read-request.ts';
import { writeResponse } from './write-response.ts';
import { ChunkStreamWriter } from './write-stream.ts';

export const openaiChatClient: Client = {
  dialect: 'OpenAI',
  read: readRequest,
  write: writeResponse,
  stream: (context) => new ChunkStreamWriter(context),
};
