/**
 * Cross-origin requests: a page of an allowed origin may call the API from a browser. The key is sent in a header,
 * never in a cookie, so no credentials mode is needed.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RATE_LIMIT_HEADERS } from '../pipeline/rate-limit-headers.ts';

/** Response headers that a page may read. */
const EXPOSED = [
  'x-request-id',
  'request-id',
  'retry-after',
  'x-should-retry',
  'x-modelgateway-cost-usd',
  'x-modelgateway-remaining-usd',
  'x-modelgateway-group',
  'x-modelgateway-member',
  'x-modelgateway-usage',
  'x-modelgateway-max-tokens',
  'x-modelgateway-dropped',
  ...RATE_LIMIT_HEADERS,
].join(', ');
/** How long browsers cache a preflight response; most of them cap it at two hours. */
const MAX_AGE_SECONDS = '7200';

/** Adds the headers to every response and answers preflight requests. `origins` are exact origins, or `*` for any. */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const allowed = new Set(origins);
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    // on the raw response, because fastify adds no headers to hijacked replies
    reply.raw.setHeader('vary', 'origin');
    if (origin === undefined || !(allowed.has('*') || allowed.has(origin))) return done();
    reply.raw.setHeader('access-control-allow-origin', origin);
    reply.raw.setHeader('access-control-expose-headers', EXPOSED);
    if (isPreflight(request)) answerPreflight(request, reply);
    else done();
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    const vary = reply.getHeader('vary');
    if (typeof vary === 'string') void reply.header('vary', `${vary}, origin`);
    done();
  });
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/**
 * Allows whatever headers a page asks for, because each SDK version adds its own. A preflight request is not a call.
 */
function answerPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  const requested = headers['access-control-request-headers'];
  reply.hijack();
  reply.raw
    .writeHead(204, {
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
      ...(requested === undefined ? {} : { 'access-control-allow-headers': requested }),
      'access-control-max-age': MAX_AGE_SECONDS,
    })
    .end();
}
