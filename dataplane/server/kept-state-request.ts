/** Makes of a fastify request one about what a provider keeps. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KeptStateRequest } from '../jobs/kept-state.ts';
import { callerOf } from './caller.ts';
import { dialectOf } from './reply-error.ts';
import { createReply } from './reply-stream.ts';

export function keptStateRequest(
  request: FastifyRequest<object>, { raw }: FastifyReply, line: Pick<KeptStateRequest, 'method' | 'below'>,
): KeptStateRequest {
  const [, query = ''] = request.url.split(/\?(.*)/s);
  const { left } = createReply(raw, { requestId: request.id, dialect: dialectOf(request.url) });
  return {
    ...line, query, left, requestId: request.id, key: callerOf(request).key, headers: request.headers,
    attempts: request.attempts = [],
  };
}
