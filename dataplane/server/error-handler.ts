/** fastify's error handler: maps every error, including the framework's own, to a row of the error table. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../errors.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { ClientDisconnected } from '../pipeline/failures.ts';
import type { ServerDeps } from './deps.ts';
import { awaitsContinue } from './expect.ts';
import { errorDialectOf, errorReply } from './reply-error.ts';

const RETRY_SECONDS = 1;

/** Responds to a request that failed, in the dialect of its path or its client. */
export function sendError(deps: ServerDeps, error: Error, request: FastifyRequest, reply: FastifyReply): void {
  request.failure = toGatewayError(deps, request.id, error);
  const { status, headers, body } = errorReply(request.failure, errorDialectOf(request), request.id);
  // fastify closes the connection of a refused body, and a client that is still uploading would not see the response.
  // The gateway instead reads the rest of the body, unless the client waits for 100 Continue
  void reply.removeHeader('connection');
  if (deps.shutdown.closesConnections || awaitsContinue(request.raw)) void reply.header('connection', 'close');
  void reply.code(status).headers(headers).send(body);
}

/** The GatewayError for an error. An unexpected error is logged as a defect. */
export function toGatewayError(deps: ServerDeps, requestId: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof LedgerUnavailable)
    return new GatewayError('ledger_unavailable', 'The ledger cannot be reached. Try again shortly.', {
      retryAfterSeconds: RETRY_SECONDS,
    });
  // nobody reads this response
  if (error instanceof ClientDisconnected)
    return new GatewayError('request_timeout', 'The client left before the provider had answered.');
  const refusal = error instanceof Error ? frameworkRefusal(error) : undefined;
  if (refusal) return refusal;
  deps.defect(requestId, error);
  return new GatewayError(
    'internal_error',
    'The gateway failed on this call. The platform team finds it by its request id.',
  );
}

/** The GatewayError for what fastify itself refuses. */
function frameworkRefusal({ code = '', statusCode = 500 }: Partial<FastifyError>): GatewayError | undefined {
  if (code === 'FST_ERR_BAD_URL')
    return new GatewayError(
      'invalid_request',
      'The path is not well-formed: every "%" in it must begin an escape of two hexadecimal digits, such as %2F.',
    );
  if (code === 'FST_ERR_MAX_PARAM_LENGTH')
    return new GatewayError('not_found', 'There is nothing at a path of this length.');
  if (code.startsWith('FST_') && statusCode >= 400 && statusCode < 500)
    return new GatewayError('invalid_request', 'The request is not well-formed HTTP for this endpoint.');
  return undefined;
}
