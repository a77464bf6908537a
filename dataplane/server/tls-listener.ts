/**
 * Serves TLS with the same HTTP server: decrypts connections and passes them to the server as 'connection' events. The
 * certificate can be replaced at any time; open connections keep theirs.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { SecureContextOptions } from 'node:tls';
import { listenOn } from '../listen.ts';
import type { ListenAddress } from '../listen.ts';

/** Certificate chain and private key, as PEM. */
export interface TlsMaterial {
  readonly certificate: string;
  readonly key: string;
}

export interface TlsListener {
  readonly port: number;
  /** Uses this certificate for new connections. If it does not match its key, throws and keeps the previous one. */
  renew(material: TlsMaterial): void;
  /** Closes the listener and all connections at once; the caller has waited for requests in flight. */
  close(): Promise<void>;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Resolves once it listens. Rejects if it cannot, or if the certificate does not match its key. */
export async function listenTls(server: Server, listen: ListenAddress, material: TlsMaterial): Promise<TlsListener> {
  const open = new Set<Socket>();
  const tls = createServer({
    ...contextOf(material),
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    ALPNProtocols: ['http/1.1'],
    // as in node:http's own listener
    allowHalfOpen: true,
    noDelay: true,
  });
  tls.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  tls.on('secureConnection', (socket) => void server.emit('connection', socket));
  tls.on('tlsClientError', (_error, socket) => void socket.destroy());
  const port = await listenOn(tls, listen);
  return {
    port,
    renew: (renewed) => tls.setSecureContext(contextOf(renewed)),
    close: () =>
      new Promise((resolve) => {
        tls.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

function contextOf({ certificate, key }: TlsMaterial): SecureContextOptions {
  // node:tls would treat an empty certificate as none, and refuse every handshake
  if (certificate.trim() === '' || key.trim() === '')
    throw new Error('the certificate or its key is empty or cannot be read');
  return { cert: certificate, key, minVersion: 'TLSv1.2' };
}
