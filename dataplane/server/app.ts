/**
 * The HTTP server: fastify with hooks, one error handler for the error table, and plugins of routes. Bodies stay
 * bytes; the hooks do what all requests need (id, drain, body budget, early refusals).
 */
import type { IncomingMessage } from 'node:http';
import fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createBodyReader } from './body.ts';
import { createConnections } from './connections.ts';
import { allowOrigins } from './cors.ts';
import type { ServerDeps } from './deps.ts';
import { refuseEarly } from './early-refusal.ts';
import { sendError } from './error-handler.ts';
import { sendContinue, serveExpectations } from './expect.ts';
import { refuseMalformed } from './malformed.ts';
import { trackResponse } from './open-responses.ts';
import { finishReply, report } from './report.ts';
import { newRequestId } from './request-id.ts';
import { asksForSession, serveUpgrades } from './upgrade.ts';
import { billed } from './routes/billed.ts';
import { gemini } from './routes/gemini.ts';
import { plain } from './routes/plain.ts';
import { pricing } from './routes/pricing.ts';

const KEEP_ALIVE_MS = 72_000;
/**
 * How long a slow client may take to send its headers and its request, so that it cannot hold connections on purpose.
 */
const HEADERS_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 300_000;
const MAX_PARAM_LENGTH = 1024;

/**
 * Builds the server, which does not listen yet. The caller must wait for `deps.inFlight` before it closes the server.
 */
export function buildServer(deps: ServerDeps): FastifyInstance {
  const onError = (error: Error, request: FastifyRequest, reply: FastifyReply): void => {
    // fastify refuses some paths and methods itself, before any hook has seen the request
    if (!request.arrivedAt) beginRequest(deps, request, reply);
    sendError(deps, error, request, reply);
  };
  const app = fastify({
    logger: false,
    genReqId: newRequestId,
    requestIdHeader: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // a hook refuses a request without a Host header, in the dialect of its path
    http: { headersTimeout: HEADERS_TIMEOUT_MS, requireHostHeader: false, shouldUpgradeCallback: asksForSession },
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    return503OnClosing: false,
    // no route has a schema, so fastify's two schema compilers need not be loaded
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // nothing is in flight when the server closes, so idle keep-alive connections need not be waited for
    forceCloseConnections: true,
    frameworkErrors: (error, request, reply) => {
      onError(error, request, reply);
      // fastify runs no onSend hook here
      report(deps, request, reply.statusCode);
    },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, newRequestId()),
  });
  for (const name of ['arrivedAt', 'endpoint', 'caller', 'failure', 'attempts']) app.decorateRequest(name, undefined);
  app.server.on('connection', deps.shutdown.onConnection);
  serveExpectations(app.server, (request, response) => {
    app.routing(request, response);
  });
  allowOrigins(app, deps.corsOrigins);
  readBodies(app, deps);
  app.addHook('preHandler', (_request, { raw }, done) => {
    // 'close' is emitted once
    if (!raw.destroyed) raw.on('close', deps.inFlight.begin());
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    finishReply(deps, request, reply);
    done();
  });
  app.setErrorHandler(onError);
  for (const plugin of [billed, gemini, plain, pricing]) app.register(plugin, deps);
  return app;
}

function readBodies(app: FastifyInstance, deps: ServerDeps): void {
  const bodies = createBodyReader({ budget: deps.memory, maxBodyBytes: deps.maxBodyBytes, worker: deps.bodyWorker });
  const connections = createConnections(deps.maxConnections);
  app.server.on('connection', connections.onConnection);
  serveUpgrades(app, deps, connections);
  app.addHook('onClose', () => bodies.stop());
  app.addHook('onRequest', async (request, reply) => {
    beginRequest(deps, request, reply);
    await refuseEarly(deps, request, { bodies, connections });
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest, message: IncomingMessage) => {
    sendContinue(message);
    return bodies.read(message, request.caller?.key);
  });
}

/** Runs first for every request. */
function beginRequest({ clock, shutdown }: ServerDeps, request: FastifyRequest, reply: FastifyReply): void {
  trackResponse(request.socket, reply.raw);
  request.arrivedAt = clock.monotonicMs();
  request.endpoint = 'other';
  // on the raw response, because fastify adds no headers to hijacked replies
  if (shutdown.closesConnections) reply.raw.setHeader('connection', 'close');
}

function noSchemas(): never {
  throw new Error('a route has a schema');
}
