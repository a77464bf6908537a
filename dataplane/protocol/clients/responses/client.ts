/** Clients of OpenAI's Responses. */
import type { Client } from '../client.ts';
import { readRequest } from './read-request.ts';
import { writeResponse } from './write-response.ts';
import { EventStreamWriter } from './write-stream.ts';

export const responsesClient: Client = {
  dialect: 'Responses',
  read: readRequest,
  write: writeResponse,
  stream: (context) => new EventStreamWriter(context),
};
