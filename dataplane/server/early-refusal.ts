/** Refuses requests before their bodies are read, which saves useless uploads and memory. */
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../errors.ts';
import { authenticateHeaders } from '../pipeline/authenticate.ts';
import { LARGE_BODY_BYTES } from './body.ts';
import type { ServerDeps } from './deps.ts';
import { awaitsContinue } from './expect.ts';
import { notFound } from './not-found.ts';

const RETRY_SECONDS = 1;

/** The refusal, if there is one. `crowded`: the body budget is so full that even small bodies need a key. */
export function refuseEarly(deps: ServerDeps, request: FastifyRequest, crowded: boolean): Error | undefined {
  try {
    checkProcess(deps, request);
    if (request.is404) throw notFound(request.method, request.url);
    checkHead(request);
    if (request.method === 'POST' && (crowded || mayBeLarge(request) || awaitsContinue(request.raw)))
      authenticateHeaders(deps, request.headers);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error('refused', { cause: error });
  }
}

function checkProcess({ shutdown, configured }: ServerDeps, { socket }: FastifyRequest): void {
  if (shutdown.isRefused(socket))
    throw new GatewayError('shutting_down', 'This process is shutting down. Try again.', {
      retryAfterSeconds: RETRY_SECONDS, headers: { connection: 'close' },
    });
  if (!configured())
    throw new GatewayError('not_ready', 'This process has just started and has no configuration yet. Try again.', {
      retryAfterSeconds: RETRY_SECONDS,
    });
}

function checkHead({ headers, raw }: FastifyRequest): void {
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding !== 'identity')
    throw new GatewayError('invalid_request',
      'Compressed request bodies are not taken. Send the body without content-encoding.');
  if (headers.host === undefined && raw.httpVersion === '1.1')
    throw new GatewayError('invalid_request', 'The Host header is missing; HTTP/1.1 requires it.');
}

function mayBeLarge({ headers }: FastifyRequest): boolean {
  const length = headers['content-length'];
  return length === undefined || Number(length) >= LARGE_BODY_BYTES;
}
