/**
 * The HTTP edge: fastify parses requests and finds routes, and nothing more. Bodies are handed on as bytes; answers are written
 * by reply-stream; every error, the framework's own included, ends in reply-error in the dialect of its path.
 */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import fastify from 'fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../errors.ts';
import { authenticateHeaders } from '../pipeline/authenticate.ts';
import { dialectOf, errorReply, requestIdHeaders } from './reply-error.ts';
import type { ServerDeps } from './deps.ts';
import { reportPlain } from './plain.ts';
import { registerRoutes } from './routes.ts';
import { allowedMethods } from './paths.ts';

/** A body of this size or more is not read before its sender's key is known. */
const UNKNOWN_SENDER_BYTES = 64 * 1024;
const KEEP_ALIVE_MS = 72_000;
const LONGEST_PARAM = 1024;

export function buildServer(deps: ServerDeps): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: deps.maxBodyBytes,
    genReqId: newRequestId,
    requestIdHeader: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    routerOptions: { maxParamLength: LONGEST_PARAM },
    return503OnClosing: false,
    // whoever closes waits for what is in flight first; then a connection that its client keeps open does not keep the process
    forceCloseConnections: true,
    frameworkErrors: (error, request, reply) => {
      request.arrivedAt = deps.clock.monotonicMs(); // no hook runs for a path that cannot be routed
      sendError(deps, { reply, request, error: gatewayError(deps, request, error) });
    },
    clientErrorHandler: refuseMalformed,
  });
  app.decorateRequest('arrivedAt', 0);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, _reply, done) => {
    request.arrivedAt = deps.clock.monotonicMs();
    done(earlyRefusal(deps, request));
  });
  app.addHook('preHandler', (_request, { raw }, done) => {
    if (!raw.destroyed) raw.once('close', deps.inFlight.begin());
    done();
  });
  app.setErrorHandler((error: FastifyError, request, reply) => { sendError(deps, { reply, request, error: gatewayError(deps, request, error) }); });
  app.setNotFoundHandler((request, reply) => { sendError(deps, { reply, request, error: unknownPath(request) }); });
  registerRoutes(app, deps);
  return app;
}

function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}

/** What can be said before the body is read. */
function earlyRefusal(deps: ServerDeps, request: FastifyRequest): Error | undefined {
  try {
    if (deps.draining()) throw new GatewayError('shutting_down', 'This process is shutting down. Try again.', { retryAfterSeconds: 1, headers: { connection: 'close' } });
    if (!deps.configured()) throw new GatewayError('not_ready', 'This process has just started and has no configuration yet. Try again.', { retryAfterSeconds: 1 });
    if (request.headers['content-encoding'] !== undefined && request.headers['content-encoding'] !== 'identity')
      throw new GatewayError('invalid_request', 'Compressed request bodies are not taken. Send the body without content-encoding.');
    if (request.method === 'POST' && mayBeLarge(request) && !request.is404) authenticateHeaders(deps, request.headers);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('refused', { cause: error });
  }
}

function mayBeLarge(request: FastifyRequest): boolean {
  const length = request.headers['content-length'];
  return length === undefined || Number(length) >= UNKNOWN_SENDER_BYTES;
}

/** For calls that never reached their endpoint. */
function sendError(deps: ServerDeps, { reply, request, error }: { reply: FastifyReply; request: FastifyRequest; error: GatewayError }): void {
  const { status, headers, body } = errorReply(error, dialectOf(request.url), request.id);
  void reply.code(status).headers(headers).send(body);
  reportPlain(deps, { endpoint: 'other', request, status, key: undefined, error });
}

/** The framework's errors in the words of the error table. */
function gatewayError(deps: ServerDeps, request: FastifyRequest, error: Error & { code?: string; statusCode?: number }): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new GatewayError('request_too_large', `The request body is larger than ${deps.maxBodyBytes} bytes.`);
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

/** What is not HTTP at all never becomes a request: answered on the socket. */
function refuseMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = error.code === 'HPE_HEADER_OVERFLOW'
    ? ['431 Request Header Fields Too Large', 'The request headers are too large.']
    : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'The request was not complete in time.']
      : ['400 Bad Request', 'This is not well-formed HTTP.'];
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: 'bad_request' } });
  const ids = Object.entries(requestIdHeaders(newRequestId())).map(([name, id]) => `${name}: ${id}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status}\r\n${ids}connection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
