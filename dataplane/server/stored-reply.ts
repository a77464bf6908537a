/** Replies to requests about what is kept: the exchange that such a request is, and its response in one piece. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bufferedHeaders } from '../stored/respond.ts';
import type { BufferedResponse } from '../stored/respond.ts';
import { leftBeforeEnd } from './reply-stream.ts';
import type { StoredExchange } from './stored-request.ts';

export function exchangeOf(request: FastifyRequest<object>, { raw }: FastifyReply): StoredExchange {
  return { request, response: raw, left: leftBeforeEnd(raw) };
}

export function sendStored(reply: FastifyReply, buffered: BufferedResponse): FastifyReply {
  return reply.code(buffered.response.status).headers(bufferedHeaders(buffered)).send(buffered.body);
}
