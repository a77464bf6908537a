/** POST /v1/messages/count_tokens: Anthropic's shape, for any chat model; free. */
import type { FastifyInstance } from 'fastify';
import { authenticate } from '../../pipeline/authenticate.ts';
import { countTokens as count } from '../../pipeline/count-tokens.ts';
import { readChat } from '../../pipeline/endpoints/chat.ts';
import type { ServerDeps } from '../deps.ts';
import { receive } from '../billed.ts';
import { PATHS } from '../paths.ts';
import { plain } from '../plain.ts';
import type { PlainRoute } from '../plain.ts';

export function countTokens(app: FastifyInstance, deps: ServerDeps): void {
  app.post<PlainRoute>(PATHS.countTokens.path, plain(deps, 'count_tokens', async ({ request, reply }) => {
    const received = receive(deps, 'count_tokens', { request, reply, read: (call) => readChat(call, 'Anthropic') });
    return { input_tokens: await count(deps, authenticate(deps, received)) };
  }));
}
