/**
 * `Expect: 100-continue`: the client sends its body when it gets 100 Continue. The gateway sends that after the early
 * checks, so that a body is not uploaded for a refused request; Node by default sends it before any check.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * Serves requests with an expectation like all others. An unknown expectation does not lead to a refusal (RFC 9110,
 * 10.1.1).
 */
export function serveExpectations(server: Server, serve: RequestListener): void {
  server.on('checkContinue', (request, response) => {
    waiting.set(request, response);
    serve(request, response);
  });
  server.on('checkExpectation', serve);
}

/**
 * Sends 100 Continue to a client that waits for it. A pipelined request whose turn has not come gets none, and sends
 * its body by itself.
 */
export function sendContinue(request: IncomingMessage): void {
  const response = waiting.get(request);
  waiting.delete(request);
  if (response?.socket) response.writeContinue();
}

/** True if a client still waits for 100 Continue. If it gets a final response instead, it may send its body or not. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return waiting.has(request);
}

/** True if the message declares a body (RFC 9112, 6.3). */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers;
  return coding !== undefined || Number(length) !== 0;
}

/** Whether the header `upgrade` of a request asks for a WebSocket. */
export function asksForWebSocket(upgrade: string | undefined): boolean {
  return upgrade?.toLowerCase() === 'websocket';
}
