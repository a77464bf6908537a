/** What the HTTP edge works with, and what it remembers of a request. */
import type { Socket } from 'node:net';
import type { CountDeps } from '../pipeline/count-tokens.ts';
import type { InFlight } from './in-flight.ts';

export interface ServerDeps extends CountDeps {
  readonly maxBodyBytes: number;
  /** Of all request bodies together that are held at a time. */
  readonly maxBufferedBytes: number;
  /** False until the first configuration is in force: nobody's key is known yet. */
  readonly configured: () => boolean;
  /** True for connections that were made when the process drained already: they get no call. */
  readonly tooLate: (connection: Socket) => boolean;
  readonly inFlight: InFlight;
}

declare module 'fastify' {
  interface FastifyRequest {
    arrivedAt: number;
  }
}
