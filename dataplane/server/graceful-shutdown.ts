/**
 * Graceful shutdown in two steps. First the process reports not ready, so that load balancers open no new connections.
 * HTTP/1.1 clients still reuse the ones they have, so each response closes its connection, and requests on existing
 * connections are served however late they come. Then requests on new connections are refused. A proxy that is out of
 * rotation closes connections too, without refusing anything.
 */
import type { Socket } from 'node:net';

export interface GracefulShutdown {
  readonly draining: boolean;
  /** True if each response must close its connection. */
  readonly closesConnections: boolean;
  startDraining(): void;
  /**
   * Calls `drain` once when requests on new connections are refused, at once if they are already. Returns a function that
   * forgets it.
   */
  onDrain(drain: () => void): () => void;
  /** From now on, requests on newly opened connections are refused. */
  refuseNewConnections(): void;
  /** Listens for each connection of the server. */
  readonly onConnection: (connection: Socket) => void;
  /** True if requests on this connection are refused. */
  isRefused(connection: Socket): boolean;
}

/** `isOutOfRotation`: whether clients should call other processes for now. */
export function createGracefulShutdown(isOutOfRotation: () => boolean = () => false): GracefulShutdown {
  const refused = new WeakSet<Socket>();
  const waiting = new Set<() => void>();
  let draining = false;
  let refusing = false;
  return {
    get draining() {
      return draining;
    },
    get closesConnections() {
      return draining || isOutOfRotation();
    },
    startDraining() {
      draining = true;
    },
    onDrain(drain) {
      if (refusing) drain();
      else waiting.add(drain);
      return () => waiting.delete(drain);
    },
    refuseNewConnections() {
      refusing = true;
      for (const drain of waiting) drain();
      waiting.clear();
    },
    onConnection(connection) {
      if (refusing) refused.add(connection);
    },
    isRefused: (connection) => refused.has(connection),
  };
}
