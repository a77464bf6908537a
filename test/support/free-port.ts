/**
 * Ports for programs that must know them before they start. They are below the ephemeral ports, so that no outgoing
 * connection takes one before the program listens. An abstract socket of Linux reserves each port.
 */
import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';

const FIRST = 12_000;
const COUNT = 17_000;

/** Returns a free port of 127.0.0.1, which is not returned again while this process lives. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const claim = createServer();
    if (!(await listens(claim, { path: `\0model-gateway-test-port-${port}` }))) continue;
    claim.unref();
    const probe = createServer();
    if (await listens(probe, { port, host: '127.0.0.1' })) {
      probe.close();
      await once(probe, 'close');
      return port;
    }
    claim.close();
  }
}

async function listens(server: ReturnType<typeof createServer>, options: ListenOptions): Promise<boolean> {
  server.listen(options);
  try {
    await once(server, 'listening');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}
