/** How an endpoint that costs money enters the pipeline: fastify lets go of the reply, and the pipeline owns it to its last byte. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { handleCall } from '../pipeline/pipeline.ts';
import type { EndpointCall, Received } from '../pipeline/context.ts';
import type { EndpointName } from '../telemetry/call-report.ts';
import type { ServerDeps } from './deps.ts';
import { dialectOf } from './reply-error.ts';
import { createReply } from './reply-stream.ts';
import { bodyOf } from './body.ts';


interface Arrival {
  readonly request: Pick<FastifyRequest, 'id' | 'url' | 'arrivedAt' | 'headers' | 'body'>;
  readonly reply: Pick<FastifyReply, 'raw'>;
  /** Makes of the body what the endpoint asks for. */
  readonly read: (received: Received) => EndpointCall;
}

/** A request as the pipeline takes it. */
export function receive(deps: ServerDeps, endpoint: EndpointName, { request, reply, read }: Arrival): Received {
  const dialect = dialectOf(request.url);
  return {
    requestId: request.id,
    createdMs: deps.clock.nowMs(),
    arrivedAt: request.arrivedAt,
    endpoint,
    dialect,
    headers: request.headers,
    body: bodyOf(request),
    read,
    reply: createReply(reply.raw, { requestId: request.id, dialect }),
  };
}

/** A route handler for an endpoint that is billed. */
export function billed(deps: ServerDeps, endpoint: EndpointName, read: Arrival['read']) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack();
    const ended = deps.inFlight.begin();
    const received = receive(deps, endpoint, { request, reply, read });
    await handleCall(deps, received).finally(() => {
      received.body.drop();
      ended();
    });
  };
}
