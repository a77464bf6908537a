/** fastify's error handler: every error, the framework's own included, becomes a row of the error table. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../errors.ts';
import { LedgerUnavailable } from '../ledger/ledger.ts';
import type { ServerDeps } from './deps.ts';
import { awaitsContinue } from './expect.ts';
import { dialectOf, errorReply } from './reply-error.ts';

const RETRY_SECONDS = 1;

/** Answers a request that failed, in the dialect of its path. */
export function sendError(deps: ServerDeps, error: Error, request: FastifyRequest, reply: FastifyReply): void {
  request.failure = toGatewayError(deps, request.id, error);
  const { status, headers, body } = errorReply(request.failure, dialectOf(request.url), request.id);
  // fastify closes the connection where a body is refused, and a client that is still uploading would lose the
  // answer: the gateway reads the rest of the body instead, unless the client waits to be told to send it
  void reply.removeHeader('connection');
  if (deps.shutdown.draining || awaitsContinue(request.raw)) void reply.header('connection', 'close');
  void reply.code(status).headers(headers).send(body);
}

/** The row of the error table that an error belongs to. An unexpected error is logged as a defect. */
export function toGatewayError(deps: ServerDeps, requestId: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof LedgerUnavailable)
    return new GatewayError('ledger_unavailable', 'The ledger cannot be reached. Try again shortly.', {
      retryAfterSeconds: RETRY_SECONDS,
    });
  const refusal = error instanceof Error ? frameworkRefusal(error) : undefined;
  if (refusal) return refusal;
  deps.defect(requestId, error);
  return new GatewayError('internal_error',
    'The gateway failed on this call. The platform team finds it by its request id.');
}

/** What fastify itself refuses. */
function frameworkRefusal({ code = '', statusCode = 500 }: Partial<FastifyError>): GatewayError | undefined {
  if (code === 'FST_ERR_BAD_URL')
    return new GatewayError('invalid_request',
      'The path is not well-formed: every "%" in it must begin an escape of two hexadecimal digits, such as %2F.');
  if (code === 'FST_ERR_MAX_PARAM_LENGTH')
    return new GatewayError('not_found', 'There is nothing at a path of this length.');
  if (code.startsWith('FST_') && statusCode >= 400 && statusCode < 500)
    return new GatewayError('invalid_request', 'The request is not well-formed HTTP for this endpoint.');
  return undefined;
}
