/** Conversations that a provider of Responses stores. They cost nothing; the calls that use them do. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.ts';
import type { RequestBody } from '../../pipeline/request-body.ts';
import type { ClientRequest } from '../../stored/client-request.ts';
import { createConversation, requestConversation } from '../../stored/conversations.ts';
import type { ConversationResponse } from '../../stored/own-conversations.ts';
import { bodyOf } from '../body.ts';
import type { ServerDeps } from '../deps.ts';
import { PATHS } from '../paths.ts';
import { exchangeOf, sendStored } from '../stored-reply.ts';
import { storedRequest } from '../stored-request.ts';

interface Params {
  Params: { readonly id: string; readonly item: string };
}

type Method = ClientRequest['method'];

const OPTIONS = { config: { endpoint: 'conversations' } } as const;

export function conversations(app: FastifyInstance, deps: ServerDeps): void {
  app.post(PATHS.conversations.path, OPTIONS, async (request, reply) => {
    const stored = storedRequest(deps, exchangeOf(request, reply), { method: 'POST', below: '' });
    return send(reply, await createConversation(deps, { ...stored, body: bodyIn(request) }));
  });
  const serve =
    (method: Method, below: (params: Params['Params']) => string) =>
    async (request: FastifyRequest<Params>, reply: FastifyReply): Promise<FastifyReply> => {
      const stored = storedRequest(deps, exchangeOf(request, reply), { method, below: below(request.params) });
      return send(reply, await requestConversation(deps, { ...stored, body: bodyIn(request) }, request.params.id));
    };
  const itself = (): string => '';
  const items = (): string => '/items';
  const item = (params: Params['Params']): string => `/items/${itemId(params.item)}`;
  app.get<Params>(PATHS.conversation.path, OPTIONS, serve('GET', itself));
  app.post<Params>(PATHS.conversationUpdate.path, OPTIONS, serve('POST', itself));
  app.delete<Params>(PATHS.conversationDeletion.path, OPTIONS, serve('DELETE', itself));
  app.get<Params>(PATHS.conversationItems.path, OPTIONS, serve('GET', items));
  app.post<Params>(PATHS.conversationItemsCreation.path, OPTIONS, serve('POST', items));
  app.get<Params>(PATHS.conversationItem.path, OPTIONS, serve('GET', item));
  app.delete<Params>(PATHS.conversationItemDeletion.path, OPTIONS, serve('DELETE', item));
}

/** Refuses what could lead to another path at the provider, such as "..", which no id contains. */
function itemId(id: string): string {
  if (!/^[\w-]+$/.test(id)) throw new GatewayError('not_found', 'The conversation has no such item.');
  return id;
}

function bodyIn(request: FastifyRequest<object>): RequestBody | undefined {
  const body = bodyOf(request);
  return body.bytes.length > 0 ? body : undefined;
}

function send(reply: FastifyReply, buffered: ConversationResponse): FastifyReply {
  const { dropped } = buffered;
  if (dropped.length > 0) void reply.header('x-modelgateway-dropped', dropped.join(', '));
  return sendStored(reply, buffered);
}
