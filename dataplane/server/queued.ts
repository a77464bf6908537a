/**
 * Answers that wait for their turn on a connection, where a client sends several requests at once. Node forgets them when
 * CONNECT follows: nobody would hear that their client has gone.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const queues = new WeakMap<Socket, Set<ServerResponse>>();

/** Destroys the answer with its connection. One whose turn it is already needs no help. */
export function watchQueued(response: ServerResponse, connection: Socket): void {
  if (response.socket) return;
  const queue = queues.get(connection) ?? openQueue(connection);
  queue.add(response);
  response.once('close', () => queue.delete(response));
}

function openQueue(connection: Socket): Set<ServerResponse> {
  const queue = new Set<ServerResponse>();
  queues.set(connection, queue);
  connection.once('close', () => {
    for (const response of queue) response.destroy();
  });
  return queue;
}
