/** A listener of node's, of whatever protocol, as something to wait for. */
import type { Server } from 'node:net';

export interface ListenAddress {
  readonly host: string;
  /** 0: one that is free. */
  readonly port: number;
}

/** Resolves with the port once it listens; rejects where it cannot. What becomes of it later is the server's own to hear. */
export async function listening(server: Server, { host, port }: ListenAddress): Promise<number> {
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
