/** Refuses requests before their bodies are read, which saves useless uploads and memory. */
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../errors.ts';
import { authenticateHead } from '../pipeline/authenticate.ts';
import { checkConcurrency, checkFunds } from '../pipeline/early-checks.ts';
import type { BodyReader } from './body.ts';
import { LARGE_BODY_BYTES } from '../memory-budget.ts';
import { checkHead } from './check-head.ts';
import type { Connections } from './connections.ts';
import { codingOf } from './decode-body.ts';
import type { ServerDeps } from './deps.ts';
import { hasBody } from './expect.ts';
import { isTokenCount } from './gemini-path.ts';
import { notFound } from './not-found.ts';

const RETRY_SECONDS = 1;

/** The open bodies and connections of this process. */
export interface OpenRequests {
  readonly bodies: Pick<BodyReader, 'crowded' | 'uploads'>;
  readonly connections: Connections;
}

/**
 * Throws the refusal, if there is one, and records whose body is read. Resolves at once unless the body may be large;
 * then the ledger is asked whether the key has any money left.
 */
export function refuseEarly(deps: ServerDeps, request: FastifyRequest, open: OpenRequests): Promise<void> | undefined {
  checkProcess(deps, request.socket);
  if (request.is404) throw notFound(request.method, request.url, request.headers.upgrade);
  checkHead(request.raw);
  const { endpoint = 'other', isPublic = false } = request.routeOptions.config;
  request.endpoint = endpoint;
  if (isPublic) {
    checkBodiless(request);
    return undefined;
  }
  const caller = authenticateHead(deps, request.headers);
  request.caller = caller;
  if (!open.connections.claim(request.socket, caller.key.uid)) throw tooManyConnections();
  if (request.method !== 'POST') {
    checkBodiless(request);
    return undefined;
  }
  if (!open.bodies.crowded && !mayBeLarge(request)) return undefined;
  checkConcurrency(deps, caller.key, open.bodies.uploads(caller.key.uid));
  return hasNoPrice(request) ? undefined : checkFunds(deps, caller);
}

/** Throws shutting_down and not_ready. */
export function checkProcess({ shutdown, configured }: ServerDeps, socket: FastifyRequest['socket']): void {
  if (shutdown.isRefused(socket))
    throw new GatewayError('shutting_down', 'This process is shutting down. Try again.', {
      retryAfterSeconds: RETRY_SECONDS,
      headers: { connection: 'close' },
    });
  if (!configured())
    throw new GatewayError('not_ready', 'This process has no configuration yet, or none recent enough. Try again.', {
      retryAfterSeconds: RETRY_SECONDS,
    });
}

/** Refuses a body that nobody would read. */
function checkBodiless({ method, raw }: FastifyRequest): void {
  if (hasBody(raw)) throw new GatewayError('invalid_request', `A ${method} takes no body here. Send it without one.`);
}

function mayBeLarge({ headers, raw }: FastifyRequest): boolean {
  const length = headers['content-length'];
  return length === undefined || Number(length) >= LARGE_BODY_BYTES || codingOf(raw) !== undefined;
}

/** True if calls of the endpoint are free. Only free endpoints have a name in their route's config. */
function hasNoPrice({ routeOptions: { config }, url }: FastifyRequest): boolean {
  return config.endpoint !== undefined || isTokenCount(url);
}

/** The error if a key has its share of the connections. */
export function tooManyConnections(): GatewayError {
  const message = 'This API key has as many connections as one key may. Close some, or reuse those that are open.';
  return new GatewayError('rate_limit_exceeded', message, {
    retryAfterSeconds: RETRY_SECONDS,
    headers: { connection: 'close' },
  });
}
