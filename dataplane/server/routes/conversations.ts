/** Conversations that a provider of Responses keeps. They cost nothing; the calls that use them do. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { askForConversation, createConversation } from '../../jobs/conversations.ts';
import type { ConversationAnswer } from '../../jobs/conversations.ts';
import { GatewayError } from '../../errors.ts';
import { bufferedHeaders } from '../../jobs/respond.ts';
import type { KeptStateRequest } from '../../jobs/kept-state.ts';
import type { RequestBody } from '../../pipeline/request-body.ts';
import { bodyOf } from '../body.ts';
import type { ServerDeps } from '../deps.ts';
import { keptStateRequest } from '../kept-state-request.ts';
import type { KeptStateExchange } from '../kept-state-request.ts';
import { PATHS } from '../paths.ts';
import { leftBeforeEnd } from '../reply-stream.ts';

interface Params {
  Params: { readonly id: string; readonly item: string };
}

type Method = KeptStateRequest['method'];

const OPTIONS = { config: { endpoint: 'conversations' } } as const;

export function conversations(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.conversations.path, OPTIONS, async (request, reply) => {
    const asked = keptStateRequest(deps, exchangeOf(request, reply), { method: 'POST', below: '' });
    return send(reply, await createConversation(deps, { ...asked, body: bodyIn(request) }));
  });
  const ask =
    (method: Method, below: (params: Params['Params']) => string) =>
    async (request: FastifyRequest<Params>, reply: FastifyReply): Promise<FastifyReply> => {
      const asked = keptStateRequest(deps, exchangeOf(request, reply), { method, below: below(request.params) });
      return send(reply, await askForConversation(deps, { ...asked, body: bodyIn(request) }, request.params.id));
    };
  const itself = (): string => '';
  const items = (): string => '/items';
  const item = (params: Params['Params']): string => `/items/${itemId(params.item)}`;
  app.get<Params>(PATHS.conversation.path, OPTIONS, ask('GET', itself));
  app.post<Params>(PATHS.conversationUpdate.path, OPTIONS, ask('POST', itself));
  app.delete<Params>(PATHS.conversationDeletion.path, OPTIONS, ask('DELETE', itself));
  app.get<Params>(PATHS.conversationItems.path, OPTIONS, ask('GET', items));
  app.post<Params>(PATHS.conversationItemsCreation.path, OPTIONS, ask('POST', items));
  app.get<Params>(PATHS.conversationItem.path, OPTIONS, ask('GET', item));
  app.delete<Params>(PATHS.conversationItemDeletion.path, OPTIONS, ask('DELETE', item));
}

/** Refuses what could lead to another path at the provider, such as "..", which no id contains. */
function itemId(id: string): string {
  if (!/^[\w-]+$/.test(id)) throw new GatewayError('not_found', 'The conversation has no such item.');
  return id;
}

function exchangeOf(request: FastifyRequest<object>, { raw }: FastifyReply): KeptStateExchange {
  return { request, response: raw, left: leftBeforeEnd(raw) };
}

function bodyIn(request: FastifyRequest<object>): RequestBody | undefined {
  const body = bodyOf(request);
  return body.bytes.length > 0 ? body : undefined;
}

function send(reply: FastifyReply, answer: ConversationAnswer): FastifyReply {
  const { response, body, dropped } = answer;
  if (dropped.length > 0) void reply.header('x-modelgateway-dropped', dropped.join(', '));
  return reply.code(response.status).headers(bufferedHeaders(answer)).send(body);
}
