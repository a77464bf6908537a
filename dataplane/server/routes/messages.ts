/** POST /v1/messages: Anthropic's messages protocol, whatever protocol the model's provider speaks. */
import type { FastifyInstance } from 'fastify';
import { readChat } from '../../pipeline/endpoints/chat.ts';
import type { ServerDeps } from '../deps.ts';
import { billed } from '../billed.ts';
import { PATHS } from '../paths.ts';

export function messages(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.messages.path, billed(deps, 'messages', (received) => readChat(received, 'Anthropic')));
}
