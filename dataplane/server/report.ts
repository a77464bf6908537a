/** Reports requests that bypass the billed pipeline to telemetry, each once, with its response. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { gatewayMessage } from '../errors.ts';
import { bodyOf } from './body.ts';
import type { ServerDeps } from './deps.ts';
import { dialectOf, requestIdHeaders } from './reply-error.ts';

/** Before fastify sends a reply: sets its id headers, drops the request's body, and reports the request. */
export function finishReply(deps: ServerDeps, request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(requestIdHeaders(request.id));
  bodyOf(request).drop();
  report(deps, request, reply.statusCode);
}

type ReportedRequest = Pick<
  FastifyRequest,
  'id' | 'failure' | 'caller' | 'endpoint' | 'url' | 'attempts' | 'arrivedAt'
>;

/** Reports a request that was free. */
export function report({ telemetry, clock }: ServerDeps, request: ReportedRequest, httpStatus: number): void {
  const { failure } = request;
  const key = request.caller?.key ?? failure?.details.key;
  telemetry.finished({
    requestId: request.id,
    endpoint: request.endpoint,
    dialect: dialectOf(request.url),
    stream: false,
    httpStatus,
    errorCode: failure?.code,
    ...(failure && {
      errorMessage: gatewayMessage(failure),
      exceededLimitNanoUsd: failure.details.exceededLimitNanoUsd,
      fundsOf: failure.details.fundsOf,
    }),
    key: key && {
      uid: key.uid,
      namespace: key.namespace,
      name: key.name,
      prefix: key.prefix,
      account: key.account,
    },
    model: undefined,
    group: request.caller?.key.group,
    attempts: request.attempts ?? [],
    billing: undefined,
    durationMs: clock.monotonicMs() - request.arrivedAt,
    firstByteMs: undefined,
  });
}
