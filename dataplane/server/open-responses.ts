/**
 * Keeps the open responses of each connection, in the order of their requests. Node has no public way from a connection
 * to its response, and forgets pipelined responses after a CONNECT, so that they would never be closed.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const openResponses = new WeakMap<Socket, Set<ServerResponse>>();

/** Keeps a response until it closes, and destroys it when its connection closes. */
export function trackResponse(connection: Socket, response: ServerResponse): void {
  const responses = openResponses.get(connection) ?? openConnection(connection);
  responses.add(response);
  // 'close' is emitted once
  response.on('close', () => responses.delete(response));
}

/** The response that is being sent on a connection; undefined if none is open. */
export function currentResponse(connection: Socket): ServerResponse | undefined {
  return openResponses.get(connection)?.values().next().value;
}

function openConnection(connection: Socket): Set<ServerResponse> {
  const responses = new Set<ServerResponse>();
  openResponses.set(connection, responses);
  connection.once('close', () => {
    for (const response of responses) response.destroy();
  });
  return responses;
}
