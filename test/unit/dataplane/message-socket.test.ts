/** What a socket holds of memory and for how long, and how it closes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { openMessageSocket } from '../../../dataplane/message-socket.ts';
import type { MessageSocket } from '../../../dataplane/message-socket.ts';

const MIB = 1024 * 1024;
let server: Server;
let client: WebSocket;
let socket: MessageSocket;
let held: number;
/** Resolves once half a MiB is held. */
let manyHeld: Promise<void>;
let closed: Promise<unknown>;

beforeEach(async () => {
  held = 0;
  const many = Promise.withResolvers<void>();
  manyHeld = many.promise;
  server = createServer();
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 2 * MIB });
  const opened = Promise.withResolvers<MessageSocket>();
  server.on('upgrade', (request, connection, head) => {
    closed = once(connection, 'close');
    const hold = (bytes: number): void => {
      held = bytes;
      if (bytes >= MIB / 2) many.resolve();
    };
    sockets.handleUpgrade(request, connection, head, (accepted) => {
      opened.resolve(openMessageSocket(accepted, { socket: connection, hold }));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.on('error', () => undefined);
  [socket] = await Promise.all([opened.promise, once(client, 'open')]);
});
afterEach(() => {
  client.terminate();
  server.close();
});

describe('what a socket holds', () => {
  it('is released with the connection, whatever arrives after the end of its session', async () => {
    client.send('first');
    for await (const message of socket.messages()) {
      assert.equal(String(message), 'first');
      break;
    }
    client.send(Buffer.alloc(MIB), { fin: false });
    socket.close(4000, 'the end');
    await manyHeld;
    client.terminate();
    await closed;
    assert.equal(held, 0);
  });

  it('does not delay the closing handshake: messages after the end are dropped', async () => {
    for (let count = 0; count < 8; count++) client.send(Buffer.alloc(MIB));
    socket.close(4000, 'the end');
    const [code] = (await once(client, 'close')) as [number];
    assert.equal(code, 4000);
    await closed;
    assert.equal(held, 0);
  });
});

describe('a message larger than the limit', () => {
  it.each([false, true])('closes the socket with 1009 (fragmented: %s)', async (fragmented) => {
    if (fragmented) client.send(Buffer.alloc(1.5 * MIB), { fin: false });
    client.send(Buffer.alloc(fragmented ? MIB : 3 * MIB));
    for await (const message of socket.messages()) assert.fail(`${message.length} bytes were received`);
    assert.deepEqual([socket.closed?.code, socket.closed?.receivedTooBig], [1009, true]);
  });

  it('is not what the other end reports that closes with 1009 itself', async () => {
    client.close(1009);
    for await (const message of socket.messages()) assert.fail(`${message.length} bytes were received`);
    assert.deepEqual([socket.closed?.code, socket.closed?.receivedTooBig], [1009, false]);
  });
});
