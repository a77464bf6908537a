/** Support: a cable on which what the first client sends after the handshake is held back until a test releases it. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

interface LateCable extends AsyncDisposable {
  readonly port: number;
  /** What was held back so far. */
  held(): Buffer;
  /** Delivers these bytes, although the client may have gone. */
  release(bytes: Buffer): void;
}

export async function lateCable(to: number): Promise<LateCable> {
  const held: Buffer[] = [];
  const sockets: Socket[] = [];
  let far: Socket | undefined;
  const server = createServer((near) => {
    const onward = connect(to, '127.0.0.1');
    far ??= onward;
    sockets.push(near, onward);
    let shaken = false;
    onward.on('data', (bytes) => {
      shaken = true;
      if (near.writable) near.write(bytes);
    });
    near.on('data', (bytes: Buffer) => {
      if (shaken) held.push(bytes);
      else onward.write(bytes);
    });
    for (const socket of [near, onward]) socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    held: () => Buffer.concat(held),
    release: (bytes) => void far?.write(bytes),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
