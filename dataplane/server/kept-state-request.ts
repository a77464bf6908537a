/** Converts a fastify request to one about a response or a conversation that a provider keeps. */
import type { FastifyRequest } from 'fastify';
import type { KeptStateRequest } from '../jobs/kept-state.ts';
import { callerOf } from './caller.ts';
import { splitUrl } from './split-url.ts';

export function keptStateRequest(
  request: FastifyRequest<object>,
  left: AbortSignal,
  line: Pick<KeptStateRequest, 'method' | 'below'>,
): KeptStateRequest {
  return {
    ...line,
    left,
    query: splitUrl(request.url).query,
    requestId: request.id,
    key: callerOf(request).key,
    headers: request.headers,
    attempts: (request.attempts = []),
  };
}
