/**
 * How callers leave a process that ends, without a failed call. Load balancers send new connections elsewhere, but an HTTP/1.1
 * client asks again on the one it has. So once the end is announced each answer closes its connection, and a call on a connection
 * from before is answered however late it comes. Only who connects after the doors were closed is refused.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Departure {
  /** From now on each answer that begins closes its connection. */
  announce(): void;
  /** From now on connections are too late. */
  closeDoors(): void;
  readonly announced: boolean;
  isLate(connection: Socket): boolean;
  /** Sees a server's connections and requests before anybody else does. */
  watch(server: Server): void;
}

export function createDeparture(): Departure {
  const late = new WeakSet<Socket>();
  const state = { announced: false, closed: false };
  return {
    announce() { state.announced = true; },
    closeDoors() { state.closed = true; },
    get announced() { return state.announced; },
    isLate: (connection) => late.has(connection),
    watch(server) {
      server.prependListener('connection', (connection: Socket) => {
        if (state.closed) late.add(connection);
      });
      server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
        if (state.announced) response.shouldKeepAlive = false;
      });
    },
  };
}
