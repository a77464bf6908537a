/**
 * `Expect: 100-continue`: a client that waits with its body until it is told to go on. It is told once its body is wanted, so
 * that a refused call is not uploaded first. Node's own answer comes before anything is checked, and on a pipelined request it
 * lands within the answer.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Requests with an expectation are served like all others. One that nobody knows is no reason to refuse (RFC 9110, 10.1.1). */
export function heedExpectations(server: Server): void {
  server.on('checkContinue', (request, response) => {
    waiting.set(request, response);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => { server.emit('request', request, response); });
}

/** Its body is wanted. Nothing is said before it is this request's turn on its connection: the client sends its body after a while. */
export function goOn(request: IncomingMessage): void {
  if (request.headers.expect === undefined) return;
  const response = waiting.get(request);
  waiting.delete(request);
  if (response?.socket) response.writeContinue();
}

/** Its body was never asked for, so that nobody can say whether it comes. */
export function isWaiting(request: IncomingMessage): boolean {
  return waiting.has(request);
}
