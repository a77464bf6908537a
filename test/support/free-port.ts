/**
 * Ports for programs that need to know theirs before they start. They lie below the range of ephemeral ports, so that
 * no connection takes one between the choice and the program's start. A socket of Linux's abstract namespace reserves
 * each for the process that asked.
 */
import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';

const FIRST = 12_000;
const COUNT = 17_000;

/**
 * A port of 127.0.0.1 on which nothing listens, and which this function gives to nobody else while this process lives.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const claim = createServer();
    if (!await listens(claim, { path: `\0model-gateway-test-port-${port}` })) continue;
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
