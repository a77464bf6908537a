/** Waiting for a server of node's to listen. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'vitest';
import { listenOn } from '../../../dataplane/listen.ts';

describe('listenOn', () => {
  it('returns the free port, and leaves no listener of its own', async () => {
    await using server = createServer();
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    assert.ok(port > 0);
    assert.deepEqual(server.address(), { address: '127.0.0.1', family: 'IPv4', port });
    assert.equal(server.listenerCount('error'), 0);
  });

  it('rejects if the port is in use', async () => {
    await using first = createServer();
    const port = await listenOn(first, { host: '127.0.0.1', port: 0 });
    await assert.rejects(listenOn(createServer(), { host: '127.0.0.1', port }), { code: 'EADDRINUSE' });
  });
});
