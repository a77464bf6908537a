/**
 * Bounds the connections of this process, in all and by key, so that one key's connections do not exclude others. A
 * connection counts for the key of its latest request.
 */
import type { Socket } from 'node:net';
import { addTo } from '../memory-budget.ts';

export interface Connections {
  /** Listens for each connection of the server, and closes those beyond the limit. */
  readonly onConnection: (socket: Socket) => void;
  /** Counts the connection for this key. Returns false if the key has reached its share. */
  claim(socket: Socket, keyUid: string): boolean;
  /** The number of open connections. */
  readonly count: number;
}

/** The largest fraction of the connections for one key. */
const KEY_SHARE = 1 / 2;

/** `max` is the most connections at a time. */
export function createConnections(max: number): Connections {
  const open = new Map<Socket, string | undefined>();
  const byKey = new Map<string, number>();
  const release = (socket: Socket): void => {
    const keyUid = open.get(socket);
    if (keyUid !== undefined) addTo(byKey, keyUid, -1);
    open.delete(socket);
  };
  return {
    get count() {
      return open.size;
    },
    onConnection(socket) {
      if (open.size >= max) {
        socket.destroy();
        return;
      }
      open.set(socket, undefined);
      socket.once('close', () => release(socket));
    },
    claim(socket, keyUid) {
      const before = open.get(socket);
      if (before === keyUid || !open.has(socket)) return true;
      if ((byKey.get(keyUid) ?? 0) >= max * KEY_SHARE) return false;
      if (before !== undefined) addTo(byKey, before, -1);
      addTo(byKey, keyUid, 1);
      open.set(socket, keyUid);
      return true;
    },
  };
}
