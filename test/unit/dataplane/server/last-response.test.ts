/** Responses that refuse an upgrade: the socket is closed whatever its client does. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, describe, it } from 'vitest';
import { GatewayError } from '../../../../dataplane/errors.ts';
import { UpgradeReply } from '../../../../dataplane/server/upgrade-reply.ts';

const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});

/** Asks for an upgrade, and keeps its end of the connection open. */
function stay(port: number, early = ''): Socket {
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  client.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${early}`);
  clients.push(client);
  return client;
}

describe('a refused upgrade', () => {
  it('is closed by the server when its client stays, so that the server can close', async () => {
    const server = createServer();
    server.on('upgrade', (_request, socket) => {
      new UpgradeReply(socket, { requestId: 'req_1' }).fail(new GatewayError('invalid_api_key', 'no such key'));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    for (const early of ['', 'x'.repeat(1000)]) {
      let text = '';
      const client = stay(port, early).on('data', (piece: Buffer) => {
        text += String(piece);
      });
      await once(client, 'end');
      assert.match(text, /^HTTP\/1\.1 401 [^]*"code":"invalid_api_key"[^]*\}$/);
    }
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });

  it('is closed when its client takes nothing', async () => {
    const socket = new Duplex({ read: () => undefined, write: () => undefined });
    new UpgradeReply(socket, { requestId: 'req_1' }).fail(new GatewayError('invalid_api_key', 'no such key'));
    await once(socket, 'close');
  });
});
