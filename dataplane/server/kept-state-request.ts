/** Converts a fastify request to one about a response or a conversation that a provider keeps. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KeptStateRequest } from '../jobs/kept-state.ts';
import { callerOf } from './caller.ts';
import { leftBeforeEnd } from './reply-stream.ts';

export function keptStateRequest(
  request: FastifyRequest<object>, { raw }: FastifyReply, line: Pick<KeptStateRequest, 'method' | 'below'>,
): KeptStateRequest {
  const [, query = ''] = request.url.split(/\?(.*)/s);
  return {
    ...line, query, left: leftBeforeEnd(raw), requestId: request.id, key: callerOf(request).key,
    headers: request.headers, attempts: request.attempts = [],
  };
}
