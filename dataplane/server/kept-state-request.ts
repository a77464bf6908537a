/** Converts a fastify request to one about a response or a conversation that a provider keeps. */
import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { KeptStateRequest } from '../jobs/kept-state.ts';
import { callerOf } from './caller.ts';
import type { ServerDeps } from './deps.ts';
import { holdUntilClosed } from './hold-response.ts';
import { splitUrl } from './split-url.ts';

export interface KeptStateExchange {
  readonly request: FastifyRequest<object>;
  readonly response: ServerResponse;
  /** Aborts when the client disconnects before the response's end. */
  readonly left: AbortSignal;
}

export function keptStateRequest(
  { memory }: Pick<ServerDeps, 'memory'>,
  { request, response, left }: KeptStateExchange,
  line: Pick<KeptStateRequest, 'method' | 'below'>,
): KeptStateRequest {
  const { key } = callerOf(request);
  const hold = holdUntilClosed(memory, response);
  return {
    ...line,
    left,
    hold: (bytes) => hold(bytes, key),
    query: splitUrl(request.url).query,
    requestId: request.id,
    key,
    headers: request.headers,
    attempts: (request.attempts = []),
  };
}
