/**
 * Graceful shutdown in two steps. A process that is not ready gets no new connections from load balancers, but an
 * HTTP/1.1 client reuses the connection that it has: while the process drains, each answer closes its connection, and
 * requests on existing connections are served however late they come. Then requests on new connections are refused.
 */
import type { Socket } from 'node:net';

export interface GracefulShutdown {
  /** Each answer closes its connection. */
  readonly draining: boolean;
  startDraining(): void;
  /** Requests on connections that open from now on are refused. */
  refuseNewConnections(): void;
  /** A listener for each connection of the server. */
  readonly onConnection: (connection: Socket) => void;
  /** Whether requests on this connection are refused. */
  isRefused(connection: Socket): boolean;
}

export function createGracefulShutdown(): GracefulShutdown {
  const refused = new WeakSet<Socket>();
  let draining = false;
  let refusing = false;
  return {
    get draining() { return draining; },
    startDraining() { draining = true; },
    refuseNewConnections() { refusing = true; },
    onConnection(connection) {
      if (refusing) refused.add(connection);
    },
    isRefused: (connection) => refused.has(connection),
  };
}
