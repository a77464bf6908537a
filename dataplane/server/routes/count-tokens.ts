/** POST /v1/messages/count_tokens in Anthropic's format, for any chat model; free. */
import type { FastifyInstance } from 'fastify';
import { countTokens as count } from '../../pipeline/count-tokens.ts';
import { ENDPOINTS } from '../../pipeline/endpoints/endpoints.ts';
import { callerOf } from '../caller.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { receive } from '../receive.ts';

export function countTokens(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.countTokens.path, { config: { endpoint: 'count_tokens' } }, async (request, reply) => {
    const { read } = ENDPOINTS.messages;
    const received = receive(deps, { endpoint: 'count_tokens', request, reply, read });
    const attempts = (request.attempts = []);
    const caller = callerOf(request);
    const { inputTokens, estimated } = await count(deps, { received, ...caller }, { dialect: 'Anthropic', attempts });
    if (estimated) void reply.header('x-modelgateway-usage', 'estimated');
    return { input_tokens: inputTokens };
  });
}
