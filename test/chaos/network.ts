/**
 * The network in front of a server of the store: a TCP proxy that delays, loses what goes in one direction, or breaks
 * connections. A connection that has lost something ends when the network is well again, as TCP ends one.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

export type Trouble =
  /** The store executes what it is sent, and nobody hears of it. */
  | { readonly kind: 'lose answers' }
  /** The gateway is heard no more. */
  | { readonly kind: 'lose requests' }
  | { readonly kind: 'delay'; readonly ms: number };

export interface Network {
  readonly port: number;
  trouble(trouble: Trouble): void;
  heal(): void;
  close(): Promise<void>;
}

export async function openNetwork(storePort: number): Promise<Network> {
  const sockets = new Set<Socket>();
  let trouble: Trouble | undefined;
  const forward = (from: Socket, to: Socket, lost: Trouble['kind']): void => {
    sockets.add(from);
    from
      .on('error', () => undefined)
      .on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    // in order, however the delay changes
    let before = Promise.resolve();
    from.on('data', (bytes) => {
      if (trouble?.kind === lost) return;
      const delay = trouble?.kind === 'delay' ? trouble.ms : 0;
      const due =
        delay === 0
          ? undefined
          : new Promise<void>((resolve) => {
              setTimeout(resolve, delay);
            });
      before = before
        .then(() => due)
        .then(() => {
          to.write(bytes);
        });
    });
  };
  const server: Server = createServer((gateway) => {
    const store = connect(storePort, '127.0.0.1');
    forward(gateway, store, 'lose requests');
    forward(store, gateway, 'lose answers');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port is free');
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    trouble: (next) => {
      trouble = next;
    },
    heal() {
      const hasLost = trouble !== undefined && trouble.kind !== 'delay';
      if (hasLost) breakAll();
      trouble = undefined;
    },
    async close() {
      breakAll();
      server.close();
      await once(server, 'close');
    },
  };
}
