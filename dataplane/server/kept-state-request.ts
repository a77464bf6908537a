/** Converts a fastify request to one about a response or a conversation that a provider keeps. */
import type { FastifyRequest } from 'fastify';
import type { KeptStateRequest } from '../jobs/kept-state.ts';
import { callerOf } from './caller.ts';

export function keptStateRequest(
  request: FastifyRequest<object>, left: AbortSignal, line: Pick<KeptStateRequest, 'method' | 'below'>,
): KeptStateRequest {
  const [, query = ''] = request.url.split(/\?(.*)/s);
  return {
    ...line, query, left, requestId: request.id, key: callerOf(request).key,
    headers: request.headers, attempts: request.attempts = [],
  };
}
