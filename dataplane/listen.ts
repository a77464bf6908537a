/** Makes any of Node's servers listen on a port, and returns a promise. */
import type { Server } from 'node:net';

export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Resolves with the port once the server listens; rejects if it cannot. The server emits later errors as events. */
export async function listenOn(server: Server, { host, port }: ListenAddress): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
}
