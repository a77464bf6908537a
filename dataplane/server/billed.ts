/** How an endpoint that costs money enters the pipeline: fastify lets go of the reply, and the pipeline owns it to its last byte. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { handleCall } from '../pipeline/pipeline.ts';
import type { EndpointCall, Received } from '../pipeline/context.ts';
import type { Dialect } from '../protocol/call-facts.ts';
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

/** Of endpoints with one path: what that path says. */
const DIALECTS: Readonly<Partial<Record<EndpointName, Dialect>>> = { chat_completions: 'OpenAI', messages: 'Anthropic' };

/** A request as the pipeline takes it. */
export function receive(deps: ServerDeps, endpoint: EndpointName, { request, reply, read }: Arrival): Received {
  const dialect = DIALECTS[endpoint] ?? dialectOf(request.url);
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
  const end = ({ body }: Received, ended: () => void): void => {
    body.drop();
    ended();
  };
  return (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    const ended = deps.inFlight.begin();
    const received = receive(deps, endpoint, { request, reply, read });
    handleCall(deps, received).then(() => end(received, ended), (error: unknown) => {
      // it never rejects, but if it did, the process would be gone
      deps.defect(received.requestId, error);
      end(received, ended);
    });
  };
}
