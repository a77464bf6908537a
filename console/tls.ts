/**
 * TLS for a console without a TLS-terminating proxy in front: certificate and key are read from a folder, and read
 * again when they are renewed.
 */
import { readFile } from 'node:fs/promises';
import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:https';
import type { Server as TlsServer } from 'node:https';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { REQUEST_LIMITS } from './http.ts';

export interface ConsoleTls {
  /** For fastify's option of that name. */
  readonly serverFactory: (handler: RequestListener) => Server;
  stop(): void;
}

interface TlsOptions {
  /** Calls a function once after a delay; the function that it returns cancels that. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly log: Pick<Logger, 'info' | 'error'>;
}

interface Pair {
  readonly cert: string;
  readonly key: string;
}

const LOOK_EVERY_MS = 30_000;

/** Rejects where tls.crt or tls.key cannot be read. */
export async function openTls(folder: string, { after, log }: TlsOptions): Promise<ConsoleTls> {
  let pair = await readPair(folder);
  const servers = new Set<TlsServer>();
  let stopped = false;
  let cancel = (): void => undefined;

  async function look(): Promise<void> {
    try {
      const next = await readPair(folder);
      if (next.cert !== pair.cert || next.key !== pair.key) {
        for (const server of servers) server.setSecureContext(next);
        pair = next;
        log.info('the console has a new certificate');
      }
    } catch (error) {
      log.error({ err: error }, "the console's certificate cannot be read again; the previous one stays");
    }
    lookLater();
  }

  function lookLater(): void {
    if (!stopped) cancel = after(LOOK_EVERY_MS, () => void look());
  }

  lookLater();
  return {
    serverFactory(handler) {
      const server = createServer({ ...pair, minVersion: 'TLSv1.2', ...REQUEST_LIMITS }, handler);
      servers.add(server);
      server.once('close', () => servers.delete(server));
      return asHttpServer(server);
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}

/** Fastify only listens, closes and drops connections, which http and https servers both can. */
function asHttpServer(server: unknown): Server {
  if (isServer(server)) return server;
  throw new Error('not a server');
}

function isServer(server: unknown): server is Server {
  return typeof server === 'object' && server !== null && 'listen' in server && 'closeIdleConnections' in server;
}

async function readPair(folder: string): Promise<Pair> {
  // sequential, so that the error always names the same file when both are missing
  const cert = await readFile(join(folder, 'tls.crt'), 'utf8');
  return { cert, key: await readFile(join(folder, 'tls.key'), 'utf8') };
}
