/** How an endpoint that costs money enters the pipeline: fastify lets go of the reply, and the pipeline owns it to its last byte. */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { handleCall } from '../pipeline/pipeline.ts';
import type { EndpointCall, Received } from '../pipeline/context.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import type { EndpointName } from '../telemetry/call-report.ts';
import type { ServerDeps } from './deps.ts';
import { dialectOf } from './reply-error.ts';
import { createReply } from './reply-stream.ts';
import { bodyOf } from './body.ts';

/** An endpoint that is billed. */
export interface BilledRoute {
  readonly path: string;
  readonly endpoint: EndpointName;
  /** Makes of the body what the endpoint asks for. */
  readonly read: (received: Received) => EndpointCall;
}

/** A request as the server has it: the framework's, or one that went past it. */
export interface ArrivedRequest {
  readonly id: string;
  readonly url: string;
  /** By the monotonic clock. */
  readonly arrivedAt: number;
  readonly headers: IncomingHttpHeaders;
  readonly body?: unknown;
}

interface Arrival {
  readonly request: ArrivedRequest;
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
export function billed(deps: ServerDeps, { endpoint, read }: Pick<BilledRoute, 'endpoint' | 'read'>) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    serveBilled(deps, endpoint, { request, reply, read });
  };
}

/** Gives a request to the pipeline, which answers it. */
export function serveBilled(deps: ServerDeps, endpoint: EndpointName, arrival: Arrival): void {
  const ended = deps.inFlight.begin();
  const received = receive(deps, endpoint, arrival);
  const end = (): void => {
    received.body.drop();
    ended();
  };
  handleCall(deps, received).then(end, (error: unknown) => {
    // it never rejects, but if it did, the process would be gone
    deps.defect(received.requestId, error);
    end();
  });
}
