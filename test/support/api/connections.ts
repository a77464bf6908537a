/** A TCP proxy that counts connections: it shows whether a client reuses its connection. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

interface CountedConnections {
  readonly url: string;
  /** The number of connections so far. */
  readonly accepted: number;
  close(): Promise<void>;
}

/** Listens on a free port and forwards all bytes to `target` and back. */
export async function openConnections(target: string): Promise<CountedConnections> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((client) => {
    accepted += 1;
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get accepted() {
      return accepted;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
