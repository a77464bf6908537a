/** POST /v1/messages/count_tokens: Anthropic's shape, for any chat model; free. */
import type { FastifyInstance } from 'fastify';
import { countTokens as count } from '../../pipeline/count-tokens.ts';
import { readChat } from '../../pipeline/endpoints/chat.ts';
import type { ServerDeps } from '../deps.ts';
import { receive } from '../billed.ts';
import { PATHS } from '../paths.ts';
import { plain } from '../plain.ts';
import type { PlainRoute } from '../plain.ts';

export function countTokens(app: FastifyInstance, deps: ServerDeps): void {
  app.post<PlainRoute>(PATHS.countTokens.path, plain(deps, 'count_tokens', async ({ request, reply, attempts, keyHash, key }) => {
    const received = receive(deps, 'count_tokens', { request, reply, read: (call) => readChat(call, 'Anthropic') });
    const { inputTokens, estimated } = await count(deps, { ...received, keyHash, key }, attempts);
    if (estimated) void reply.header('x-modelgateway-usage', 'estimated');
    return { input_tokens: inputTokens };
  }));
}
