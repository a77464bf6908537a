/**
 * Serves free requests whose answer may be a stream: a video's content, or the events of a stored response. They are
 * logged and counted like calls.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest, RouteGenericInterface } from 'fastify';
import type { ClientReply } from '../pipeline/context.ts';
import { bodyOf } from './body.ts';
import type { ServerDeps } from './deps.ts';
import { toGatewayError } from './error-handler.ts';
import { errorDialectOf } from './reply-error.ts';
import { createReply } from './reply-stream.ts';
import { report } from './report.ts';

/** The status in logs if the client left before it got one. */
const CLIENT_CLOSED_REQUEST = 499;

/** Makes a route handler. `serve` sends the response, and resolves with the status. */
export function serveReply<Route extends RouteGenericInterface>(
  deps: ServerDeps,
  serve: (request: FastifyRequest<Route>, reply: ClientReply, response: ServerResponse) => Promise<number>,
) {
  return async (request: FastifyRequest<Route>, answer: FastifyReply): Promise<void> => {
    answer.hijack();
    const ended = deps.inFlight.begin();
    const errorDialect = errorDialectOf(request);
    const reply = createReply(answer.raw, { requestId: request.id, dialect: 'OpenAI', errorDialect });
    const status = await serve(request, reply, answer.raw).catch((error: unknown) => {
      if (reply.gone) return CLIENT_CLOSED_REQUEST;
      request.failure = toGatewayError(deps, request.id, error);
      return reply.fail(request.failure);
    });
    bodyOf(request).drop();
    report(deps, request, status);
    ended();
  };
}
