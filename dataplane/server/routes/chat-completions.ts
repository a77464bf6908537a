/** POST /v1/chat/completions: OpenAI's chat protocol, whatever protocol the model's provider speaks. */
import type { FastifyInstance } from 'fastify';
import { readChat } from '../../pipeline/endpoints/chat.ts';
import type { ServerDeps } from '../deps.ts';
import { billed } from '../billed.ts';
import { PATHS } from '../paths.ts';

export function chatCompletions(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.chatCompletions.path, billed(deps, 'chat_completions', (received) => readChat(received, 'OpenAI')));
}
