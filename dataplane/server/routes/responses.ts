/** The free endpoints for responses: token counts, and requests about responses that their provider stores. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { countTokens } from '../../pipeline/count-tokens.ts';
import { ENDPOINTS } from '../../pipeline/endpoints/endpoints.ts';
import type { ClientRequest } from '../../stored/client-request.ts';
import { requestResponse, streamResponse } from '../../stored/responses.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { receive } from '../receive.ts';
import { serveReply } from '../serve-reply.ts';
import { exchangeOf, sendStored } from '../stored-reply.ts';
import { storedRequest } from '../stored-request.ts';
import { splitUrl } from '../split-url.ts';

interface IdParams {
  Params: { readonly id: string };
}

const OPTIONS = { config: { endpoint: 'responses' } } as const;

export function responses(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.responseTokens.path, OPTIONS, async (request, reply) => {
    const received = receive(deps, { ...ENDPOINTS.responses, request, reply });
    const attempts = (request.attempts = []);
    const { inputTokens, estimated } = await countTokens(
      deps,
      { received, ...callerOf(request) },
      { dialect: 'Responses', attempts },
    );
    if (estimated) void reply.header('x-modelgateway-usage', 'estimated');
    return { object: 'response.input_tokens', input_tokens: inputTokens };
  });
  const stream = serveReply(deps, (request: FastifyRequest<IdParams>, reply, response) => {
    const stored = storedRequest(deps, { request, response, left: reply.left }, LINE);
    return streamResponse(deps, stored, { id: request.params.id, reply });
  });
  const retrieve = serveStored(deps, LINE);
  app.get<IdParams>(PATHS.response.path, OPTIONS, (request, reply) =>
    asksForStream(request) ? stream(request, reply) : retrieve(request, reply),
  );
  app.delete<IdParams>(PATHS.responseDeletion.path, OPTIONS, serveStored(deps, { method: 'DELETE', below: '' }));
  app.post<IdParams>(PATHS.responseCancellation.path, OPTIONS, serveStored(deps, { method: 'POST', below: '/cancel' }));
  app.get<IdParams>(PATHS.responseInput.path, OPTIONS, serveStored(deps, { method: 'GET', below: '/input_items' }));
}

const LINE = { method: 'GET', below: '' } as const;

function asksForStream({ url }: FastifyRequest<IdParams>): boolean {
  return new URLSearchParams(splitUrl(url).query).get('stream') === 'true';
}

function serveStored(deps: ServerDeps, line: Pick<ClientRequest, 'method' | 'below'>) {
  return async (request: FastifyRequest<IdParams>, reply: FastifyReply): Promise<FastifyReply> => {
    const stored = storedRequest(deps, exchangeOf(request, reply), line);
    return sendStored(reply, await requestResponse(deps, stored, request.params.id));
  };
}
