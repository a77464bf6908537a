/**
 * A second door to the same HTTP server: TLS is taken off here, and what is inside goes on as a connection of the server's, which
 * knows nothing of it. Certificates are replaced under way; connections that are open keep theirs.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import { listening } from '../listen.ts';
import type { ListenAddress } from '../listen.ts';

/** As PEM. */
export interface TlsMaterial {
  readonly certificate: string;
  readonly key: string;
}

export interface TlsListener {
  readonly port: number;
  /** For connections from now on. Throws where certificate and key are none, or not each other's; then those of before stay. */
  renew(material: TlsMaterial): void;
  /** No new connections, and the open ones end at once: the HTTP server has waited for their calls. */
  close(): Promise<void>;
}

const HANDSHAKE_MS = 10_000;

/** Resolves once it listens. */
export async function listenTls(server: Server, listen: ListenAddress, material: TlsMaterial): Promise<TlsListener> {
  const open = new Set<Socket>();
  // allowHalfOpen and noDelay are what node:http's own listener has
  const tls = createServer({ ...contextOf(material), handshakeTimeout: HANDSHAKE_MS, ALPNProtocols: ['http/1.1'], allowHalfOpen: true, noDelay: true });
  tls.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  tls.on('secureConnection', (socket) => void server.emit('connection', socket));
  tls.on('tlsClientError', (_error, socket) => void socket.destroy());
  const port = await listening(tls, listen);
  return {
    port,
    renew: (renewed) => tls.setSecureContext(contextOf(renewed)),
    close: () => new Promise((resolve) => {
      tls.close(() => resolve());
      for (const socket of open) socket.destroy();
    }),
  };
}

function contextOf({ certificate, key }: TlsMaterial): { readonly cert: string; readonly key: string; readonly minVersion: 'TLSv1.2' } {
  // node:tls takes what is empty for not given, and would then refuse every handshake
  if (certificate.trim() === '' || key.trim() === '') throw new Error('the certificate or its key is empty or cannot be read');
  return { cert: certificate, key, minVersion: 'TLSv1.2' };
}
