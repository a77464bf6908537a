/** Clients of Google's protocol. */
import type { Client } from '../client.ts';
import { readRequest } from './read-request.ts';
import { writeResponse } from './write-response.ts';
import { ChunkStreamWriter } from './write-stream.ts';

export const geminiClient: Client = {
  dialect: 'Gemini',
  read: readRequest,
  write: writeResponse,
  stream: (context) => new ChunkStreamWriter(context),
};
