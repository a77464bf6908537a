/** Converts a fastify request to one about a response or a conversation that a provider keeps. */
import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { KeptStateRequest } from '../jobs/kept-state.ts';
import type { MemoryBudget, MemoryOwner } from '../memory-budget.ts';
import { callerOf } from './caller.ts';
import type { ServerDeps } from './deps.ts';
import { splitUrl } from './split-url.ts';

export interface KeptStateExchange {
  readonly request: FastifyRequest<object>;
  readonly response: ServerResponse;
  /** Aborts when the client disconnects before the response's end. */
  readonly left: AbortSignal;
}

export function keptStateRequest(
  { memory }: Pick<ServerDeps, 'memory'>,
  { request, response, left }: KeptStateExchange,
  line: Pick<KeptStateRequest, 'method' | 'below'>,
): KeptStateRequest {
  return {
    ...line,
    left,
    hold: holdUntilClosed(memory, callerOf(request).key, response),
    query: splitUrl(request.url).query,
    requestId: request.id,
    key: callerOf(request).key,
    headers: request.headers,
    attempts: (request.attempts = []),
  };
}

/** Returns a function that counts bytes for the owner until the response is closed. It throws GatewayError. */
function holdUntilClosed(memory: MemoryBudget, owner: MemoryOwner, response: ServerResponse): (bytes: number) => void {
  let held = 0;
  response.once('close', () => memory.giveBack(held, owner));
  return (bytes) => {
    // a client that has left ends the exchange, too
    if (response.destroyed) return;
    const refusal = memory.take(bytes, held + bytes, owner);
    if (refusal) throw refusal;
    held += bytes;
  };
}
