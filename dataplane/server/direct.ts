/**
 * The short way of nearly all calls: a small JSON body for a billed endpoint, at its very path. Such a request goes past the
 * framework, whose steps for requests of any kind cost a tenth of a call. Whatever is not like this (other content types and paths,
 * large bodies, bodies without a length, expectations, a process that drains) is left to the framework; what both check, they check alike.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { withRequests } from '../turn.ts';
import { serveBilled } from './billed.ts';
import type { BilledRoute } from './billed.ts';
import { LARGE_BODY_BYTES } from './body.ts';
import type { BodyReader } from './body.ts';
import type { ServerDeps } from './deps.ts';
import { reportPlain, toGatewayError } from './plain.ts';
import { dialectOf } from './reply-error.ts';
import { createReply } from './reply-stream.ts';
import { newRequestId } from './request-id.ts';

const USUAL_TYPES: ReadonlySet<string | undefined> = new Set(['application/json', 'application/json; charset=utf-8', 'application/json;charset=utf-8']);
const LENGTH = /^[1-9]\d{0,9}$/;

interface DirectDeps extends ServerDeps {
  readonly bodies: BodyReader;
  readonly routes: readonly BilledRoute[];
}

/** Stands before the framework, which gets what is not for here. */
export function serveDirectly({ server }: Pick<FastifyInstance, 'server'>, deps: DirectDeps): void {
  const others = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const route = request.method === 'POST' ? routeOf(deps.routes, request.url) : undefined;
    if (route && isUsual(deps, request, response)) serve(deps, route, { request, response });
    else for (const other of others) other.call(server, request, response);
  });
}

/** By comparing: a look into a map makes V8 keep each text that it is asked for in a table of its own. */
function routeOf(routes: readonly BilledRoute[], url: string | undefined): BilledRoute | undefined {
  for (const route of routes) if (route.path === url) return route;
  return undefined;
}

function isUsual(deps: DirectDeps, { headers }: IncomingMessage, response: ServerResponse): boolean {
  return USUAL_TYPES.has(headers['content-type']) && isSmall(deps, headers['content-length']) && headers.host !== undefined
    && headers['content-encoding'] === undefined && headers.expect === undefined
    // its turn on its connection: nobody has to tell it that the connection has closed
    && response.socket !== null
    && !deps.bodies.crowded && !deps.tooLate(response.socket) && deps.configured();
}

function isSmall({ maxBodyBytes }: DirectDeps, length: string | undefined): boolean {
  if (length === undefined || !LENGTH.test(length)) return false;
  const bytes = Number(length);
  return bytes < LARGE_BODY_BYTES && bytes <= maxBodyBytes;
}

function serve(deps: DirectDeps, { path, endpoint, read }: BilledRoute, { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse }): void {
  const [id, arrivedAt, { headers }] = [newRequestId(), deps.clock.monotonicMs(), request];
  deps.bodies.read(request, (failure, body) => {
    if (!response.destroyed) response.on('close', deps.inFlight.begin());
    const arrived = { id, url: path, arrivedAt, headers, body };
    if (!failure) return withRequests(() => serveBilled(deps, endpoint, { request: arrived, reply: { raw: response }, read }));
    const error = toGatewayError(deps, arrived, failure);
    const status = createReply(response, { requestId: id, dialect: dialectOf(path) }).fail(error);
    reportPlain(deps, { endpoint: 'other', request: arrived, status, key: undefined, error });
  });
}
