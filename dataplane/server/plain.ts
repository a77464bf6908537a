/** Endpoints that cost nothing: authenticate, answer with JSON, and report like every call. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../errors.ts';
import { LedgerUnavailable } from '../ledger/ledger.ts';
import { authenticateHeaders } from '../pipeline/authenticate.ts';
import type { KeyState } from '../state/state.ts';
import type { AttemptReport, EndpointName } from '../telemetry/call-report.ts';
import type { ServerDeps } from './deps.ts';
import { bodyOf } from './body.ts';
import { dialectOf, errorReply, requestIdHeaders } from './reply-error.ts';

/** How fastify types these routes: path parameters and query by name; a repeated query parameter is a list. */
export interface PlainRoute {
  Params: Readonly<Record<string, string>>;
  Querystring: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface PlainCall {
  readonly key: KeyState;
  readonly keyHash: string;
  readonly request: FastifyRequest<PlainRoute>;
  readonly reply: FastifyReply;
  /** Told of each provider that is asked. */
  readonly attempts: AttemptReport[];
}

/** A route handler for `answer`, which returns what is sent as JSON. */
export function plain(deps: ServerDeps, endpoint: EndpointName, answer: (call: PlainCall) => unknown) {
  return async (request: FastifyRequest<PlainRoute>, reply: FastifyReply): Promise<FastifyReply> => {
    let key: KeyState | undefined;
    let keyHash: string;
    let error: GatewayError | undefined;
    const attempts: AttemptReport[] = [];
    try {
      ({ key, keyHash } = authenticateHeaders(deps, request.headers));
      const body = await answer({ key, keyHash, request, reply, attempts });
      void reply.code(200).headers({ 'content-type': 'application/json', ...requestIdHeaders(request.id) }).send(JSON.stringify(body));
    } catch (caught) {
      error = toGatewayError(deps, request, caught);
      const refusal = errorReply(error, dialectOf(request.url), request.id);
      void reply.code(refusal.status).headers(refusal.headers).send(refusal.body);
    }
    bodyOf(request).drop();
    reportPlain(deps, { endpoint, request, status: reply.statusCode, key, error, attempts });
    return reply;
  };
}

/** What an error of an endpoint that costs nothing means for its client. Errors that nobody meant are defects. */
export function toGatewayError(deps: ServerDeps, request: Asked, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof LedgerUnavailable)
    return new GatewayError('ledger_unavailable', 'The ledger cannot be reached. Try again shortly.', { retryAfterSeconds: 1 });
  deps.defect(request.id, error);
  return new GatewayError('internal_error', 'The gateway failed on this call. The platform team finds it by its request id.');
}

/** The part of a request that is told of it. */
type Asked = Pick<FastifyRequest, 'id' | 'url' | 'arrivedAt'>;

interface PlainReport {
  readonly endpoint: EndpointName;
  readonly request: Asked;
  readonly status: number;
  readonly key: KeyState | undefined;
  readonly error: GatewayError | undefined;
  readonly attempts?: readonly AttemptReport[];
}

/** Also for answers that need no key (the price page). */
export function reportPlain(deps: ServerDeps, { endpoint, request, status, key, error, attempts = [] }: PlainReport): void {
  deps.telemetry.finished({
    requestId: request.id,
    endpoint,
    dialect: dialectOf(request.url),
    stream: false,
    httpStatus: status,
    errorCode: error?.code,
    key: key && { namespace: key.namespace, name: key.name, prefix: key.prefix, account: key.account },
    model: undefined,
    group: key?.group,
    attempts,
    billing: undefined,
    durationMs: deps.clock.monotonicMs() - request.arrivedAt,
    firstByteMs: undefined,
  });
}
