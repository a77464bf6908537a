/**
 * `Expect: 100-continue`: the client sends its body when it gets 100 Continue. The gateway sends that after the early
 * checks, so that a refused request is not uploaded first; Node's default sends it before any check.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Serves requests with an expectation like all others; an unknown one is no reason to refuse (RFC 9110, 10.1.1). */
export function serveExpectations(server: Server, serve: RequestListener): void {
  server.on('checkContinue', (request, response) => {
    waiting.set(request, response);
    serve(request, response);
  });
  server.on('checkExpectation', serve);
}

/** Tells a client that waits to send its body. One whose answer is not due yet is not told, and sends by itself. */
export function sendContinue(request: IncomingMessage): void {
  const response = waiting.get(request);
  waiting.delete(request);
  if (response?.socket) response.writeContinue();
}

/** Whether a client still waits. Once it is answered instead, nobody can say whether its body comes. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return waiting.has(request);
}
