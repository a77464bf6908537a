/** The free endpoints for responses: token counts, and requests about responses that their provider stores. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.ts';
import type { KeptStateRequest } from '../../jobs/kept-state.ts';
import { bufferedHeaders } from '../../jobs/respond.ts';
import { askForResponse } from '../../jobs/stored-responses.ts';
import { countTokens } from '../../pipeline/count-tokens.ts';
import { readResponse } from '../../pipeline/endpoints/responses.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { keptStateRequest } from '../kept-state-request.ts';
import { PATHS } from '../paths.ts';
import { receive } from '../receive.ts';

interface IdParams {
  Params: { readonly id: string };
}

const OPTIONS = { config: { endpoint: 'responses' } } as const;

export function responses(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.responseTokens.path, OPTIONS, async (request, reply) => {
    const received = receive(deps, { endpoint: 'responses', request, reply, read: readResponse });
    const attempts = request.attempts = [];
    const { inputTokens, estimated } =
      await countTokens(deps, { received, ...callerOf(request) }, { dialect: 'Responses', attempts });
    if (estimated) void reply.header('x-modelgateway-usage', 'estimated');
    return { object: 'response.input_tokens', input_tokens: inputTokens };
  });
  app.get<IdParams>(PATHS.response.path, OPTIONS, ask(deps, 'GET', ''));
  app.delete<IdParams>(PATHS.responseDeletion.path, OPTIONS, ask(deps, 'DELETE', ''));
  app.post<IdParams>(PATHS.responseCancellation.path, OPTIONS, ask(deps, 'POST', '/cancel'));
  app.get<IdParams>(PATHS.responseInput.path, OPTIONS, ask(deps, 'GET', '/input_items'));
}

function ask(deps: ServerDeps, method: KeptStateRequest['method'], below: string) {
  return async (request: FastifyRequest<IdParams>, reply: FastifyReply): Promise<FastifyReply> => {
    const asked = keptStateRequest(request, reply, { method, below });
    if (new URLSearchParams(asked.query).get('stream') === 'true')
      throw new GatewayError('unsupported_parameter', 'A response that was made is not streamed again. Leave "stream" '
        + 'out, or set "stream" on POST /v1/responses.', { param: 'stream' });
    const answer = await askForResponse(deps, asked, request.params.id);
    return reply.code(answer.response.status).headers(bufferedHeaders(answer)).send(answer.body);
  };
}
