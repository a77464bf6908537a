/** Clients of OpenAI's image endpoints. */
import type { Client } from '../client.ts';
import { readRequest } from './read-request.ts';
import { ImageStreamWriter, writeResponse } from './write-response.ts';
import type { ImageEvents } from './write-response.ts';

export function openaiImagesClient(events: ImageEvents): Client {
  return {
    dialect: 'OpenAI',
    countsImages: true,
    read: readRequest,
    write: writeResponse,
    stream: (context) => new ImageStreamWriter(events, context),
  };
}
