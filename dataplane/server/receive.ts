/** Makes of a fastify request what the pipeline receives. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EndpointCall, Received } from '../pipeline/context.ts';
import type { EndpointName } from '../telemetry/call-report.ts';
import { bodyOf } from './body.ts';
import { callerOf } from './caller.ts';
import type { ServerDeps } from './deps.ts';
import { holdUntilClosed } from './hold-response.ts';
import { dialectOf, errorDialectOf } from './reply-error.ts';
import { createReply } from './reply-stream.ts';

export interface Arrival {
  readonly endpoint: EndpointName;
  /** Reads the body as this endpoint requires. */
  readonly read: (received: Received) => Promise<EndpointCall>;
  readonly request: FastifyRequest<object>;
  readonly reply: Pick<FastifyReply, 'raw'>;
}

export function receive(
  { clock, memory }: Pick<ServerDeps, 'clock' | 'memory'>,
  { endpoint, read, request, reply }: Arrival,
): Received {
  const dialect = dialectOf(request.url);
  const errorDialect = errorDialectOf(request);
  return {
    requestId: request.id,
    createdMs: clock.nowMs(),
    arrivedAt: request.arrivedAt,
    endpoint,
    dialect,
    errorDialect,
    headers: request.headers,
    keyHash: callerOf(request).keyHash,
    body: bodyOf(request),
    read,
    reply: createReply(reply.raw, { requestId: request.id, dialect, errorDialect }),
    hold: holdUntilClosed(memory, reply.raw),
  };
}
