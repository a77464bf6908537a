/** Support: a forward proxy that tunnels CONNECT requests to ports of this machine, or refuses them. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll } from 'vitest';

export interface ConnectProxy {
  readonly url: string;
  readonly port: number;
  /** The targets of CONNECT requests in order, as "host:port". */
  readonly asked: readonly string[];
  readonly credentials: readonly (string | undefined)[];
  /** Requests that were not CONNECT. */
  readonly forwarded: readonly string[];
  /** Open tunnels. */
  readonly open: ReadonlySet<Socket>;
  /** Tunnels that were refused with this status; 200: none; 0: left without a response. */
  status: number;
  /** Closes the tunnels, as a proxy that restarts does. */
  cut(): void;
}

/** Whatever host a client asks for, the tunnel leads to this machine. It is closed after the test file. */
export async function startConnectProxy(): Promise<ConnectProxy> {
  const asked: string[] = [];
  const credentials: (string | undefined)[] = [];
  const forwarded: string[] = [];
  const open = new Set<Socket>();
  const clients = new Set<Socket>();
  const server = createServer((request, response) => {
    forwarded.push(request.url ?? '');
    response.writeHead(501).end();
  });
  server.on('connection', (socket: Socket) => {
    clients.add(socket);
    socket.on('error', () => undefined);
  });
  server.on('connect', (request, client: Socket) => {
    asked.push(request.url ?? '');
    credentials.push(request.headers['proxy-authorization']);
    if (proxy.status === 0) return;
    if (proxy.status !== 200)
      return void client.end(`HTTP/1.1 ${proxy.status} Refused\r\nconnection: close\r\n\r\npassword s3cret`);
    const upstream = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    open.add(client);
    const end = (): void => {
      open.delete(client);
      client.destroy();
      upstream.destroy();
    };
    upstream.on('error', end).on('close', end);
    client.on('error', end).on('close', end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const proxy: ConnectProxy = {
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    credentials,
    forwarded,
    open,
    status: 200,
    cut() {
      for (const client of open) client.destroy();
    },
  };
  return proxy;
}
