/** Converts a fastify request to one about a response or a conversation that a provider stores. */
import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { ClientRequest } from '../stored/client-request.ts';
import { callerOf } from './caller.ts';
import type { ServerDeps } from './deps.ts';
import { holdUntilClosed } from './hold-response.ts';
import { errorDialectOf } from './reply-error.ts';
import { splitUrl } from './split-url.ts';

export interface StoredExchange {
  readonly request: FastifyRequest<object>;
  readonly response: ServerResponse;
  /** Aborts when the client disconnects before the response's end. */
  readonly left: AbortSignal;
}

export function storedRequest(
  { memory }: Pick<ServerDeps, 'memory'>,
  { request, response, left }: StoredExchange,
  line: Pick<ClientRequest, 'method' | 'below'>,
): ClientRequest {
  const { key } = callerOf(request);
  const hold = holdUntilClosed(memory, response);
  return {
    ...line,
    left,
    hold: (bytes) => hold(bytes, key),
    query: splitUrl(request.url).query,
    requestId: request.id,
    key,
    errorDialect: errorDialectOf(request),
    headers: request.headers,
    attempts: (request.attempts = []),
  };
}
