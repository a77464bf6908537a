/**
 * The HTTP edge: fastify parses requests and finds routes, and nothing more. Bodies are handed on as bytes; answers are written
 * by reply-stream; every error, the framework's own included, ends in reply-error in the dialect of its path.
 */
import fastify from 'fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../errors.ts';
import { authenticateHeaders } from '../pipeline/authenticate.ts';
import { bodyOf, createBodyReader, LARGE_BODY_BYTES } from './body.ts';
import type { BodyReader } from './body.ts';
import { goOn, heedExpectations, isWaiting } from './expect.ts';
import { serveDirectly } from './direct.ts';
import { refuseMalformed } from './malformed.ts';
import { dialectOf, errorReply } from './reply-error.ts';
import type { ServerDeps } from './deps.ts';
import { reportPlain } from './plain.ts';
import { BILLED_ROUTES, registerRoutes } from './routes.ts';
import { allowedMethods } from './paths.ts';
import { watchQueued } from './queued.ts';
import { newRequestId } from './request-id.ts';
import { RequestMessage } from './request-message.ts';
import { insteadOf } from './unserved.ts';

const KEEP_ALIVE_MS = 72_000;
/** So long a request may take to arrive, its head and all of it: who sends a byte now and then holds a connection for no longer. */
const HEAD_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 300_000;
const LONGEST_PARAM = 1024;

export function buildServer(deps: ServerDeps): FastifyInstance {
  const app = fastify({
    logger: false,
    genReqId: newRequestId,
    requestIdHeader: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // a request without a host is refused below, in words
    http: { headersTimeout: HEAD_TIMEOUT_MS, requireHostHeader: false, IncomingMessage: RequestMessage },
    routerOptions: { maxParamLength: LONGEST_PARAM },
    return503OnClosing: false,
    schemaController: { compilersFactory: { buildValidator: withoutSchemas, buildSerializer: withoutSchemas } },
    // whoever closes waits for what is in flight first; then a connection that its client keeps open does not keep the process
    forceCloseConnections: true,
    frameworkErrors: (error, request, reply) => {
      watchQueued(reply.raw, request.socket);
      sendError(deps, { reply, request, error: gatewayError(deps, request, error) });
    },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, newRequestId()),
  });
  const bodies = createBodyReader(deps);
  app.decorateRequest('arrivedAt', 0);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, message, done) => {
    goOn(request.raw);
    bodies.read(message, done);
  });
  app.addHook('onRequest', (request, { raw }, done) => {
    watchQueued(raw, request.socket);
    request.arrivedAt = deps.clock.monotonicMs();
    done(earlyRefusal(deps, bodies, request));
  });
  app.addHook('preHandler', (_request, { raw }, done) => {
    // 'close' comes once
    if (!raw.destroyed) raw.on('close', deps.inFlight.begin());
    done();
  });
  app.setErrorHandler((error: FastifyError, request, reply) => { sendError(deps, { reply, request, error: gatewayError(deps, request, error) }); });
  app.setNotFoundHandler((request, reply) => { sendError(deps, { reply, request, error: unknownPath(request) }); });
  registerRoutes(app, deps);
  serveDirectly(app, { ...deps, bodies, routes: BILLED_ROUTES });
  heedExpectations(app.server);
  return app;
}

/** No route has a schema; given nothing, fastify loads two compilers for them, which takes a start a while. */
function withoutSchemas(): never {
  throw new Error('a route has a schema');
}

/** What can be said before the body is read. */
function earlyRefusal(deps: ServerDeps, bodies: BodyReader, request: FastifyRequest): Error | undefined {
  try {
    if (deps.tooLate(request.socket)) throw new GatewayError('shutting_down', 'This process is shutting down. Try again.', { retryAfterSeconds: 1, headers: { connection: 'close' } });
    if (!deps.configured()) throw new GatewayError('not_ready', 'This process has just started and has no configuration yet. Try again.', { retryAfterSeconds: 1 });
    if (request.is404) throw unknownPath(request);
    checkHead(request);
    if (request.method === 'POST' && (bodies.crowded || mayBeLarge(request))) authenticateHeaders(deps, request.headers);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('refused', { cause: error });
  }
}

function checkHead({ headers, raw }: FastifyRequest): void {
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding !== 'identity')
    throw new GatewayError('invalid_request', 'Compressed request bodies are not taken. Send the body without content-encoding.');
  if (headers.host === undefined && raw.httpVersion === '1.1')
    throw new GatewayError('invalid_request', 'The Host header is missing; HTTP/1.1 requires it.');
}

function mayBeLarge(request: FastifyRequest): boolean {
  const length = request.headers['content-length'];
  return length === undefined || Number(length) >= LARGE_BODY_BYTES;
}

/** For calls that never reached their endpoint. */
function sendError(deps: ServerDeps, { reply, request, error }: { reply: FastifyReply; request: FastifyRequest; error: GatewayError }): void {
  const { status, headers, body } = errorReply(error, dialectOf(request.url), request.id);
  // the framework answers some requests itself (a bad path, a line without a version), and no hook runs for them
  if (!(request.arrivedAt > 0)) request.arrivedAt = deps.clock.monotonicMs();
  // the framework closes on a client that is still sending its body, which would lose the answer; the rest is read and forgotten
  void reply.removeHeader('connection').code(status).headers(headers);
  if (isWaiting(request.raw)) void reply.header('connection', 'close');
  void reply.send(body);
  bodyOf(request).drop();
  reportPlain(deps, { endpoint: 'other', request, status, key: undefined, error });
}

/** The framework's errors in the words of the error table. */
function gatewayError(deps: ServerDeps, request: FastifyRequest, error: Error & { code?: string; statusCode?: number }): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error.code === 'FST_ERR_BAD_URL')
    return new GatewayError('invalid_request', 'The path is not well-formed: every "%" in it must begin an escape of two hexadecimal digits, such as %2F.');
  if (error.code === 'FST_ERR_MAX_PARAM_LENGTH') return new GatewayError('not_found', 'There is nothing at a path of this length.');
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new GatewayError('invalid_request', 'The request is not well-formed HTTP for this endpoint.');
  deps.defect(request.id, error);
  return new GatewayError('internal_error', 'The gateway failed on this call. The platform team finds it by its request id.');
}

function unknownPath(request: FastifyRequest): GatewayError {
  const path = request.url.split('?', 1)[0] ?? '';
  const instead = insteadOf(request.method, path);
  if (instead !== undefined) return new GatewayError('not_found', instead);
  const allowed = allowedMethods(path);
  if (allowed.length > 0)
    return new GatewayError('method_not_allowed', `${request.method} is not possible here; use ${allowed.join(' or ')}.`, { headers: { allow: allowed.join(', ') } });
  if (path.startsWith('/v1/v1/'))
    return new GatewayError('not_found', 'The path has /v1 twice: the base URL given to the SDK must not have /v1 where the SDK adds it (OpenAI: with /v1, Anthropic: without).');
  const nothing = `There is nothing at ${request.method} ${path.slice(0, 200)}.`;
  if (allowedMethods(`/v1${path}`).length > 0)
    return new GatewayError('not_found', `${nothing} The path lacks /v1: the base URL given to OpenAI's SDK must end in /v1.`);
  return new GatewayError('not_found', nothing);
}
