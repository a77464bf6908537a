/** Responses that refuse a WebSocket: their bodies fail as those of other responses do. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'vitest';
import { openSocket } from '../../../../dataplane/upstream/open-socket.ts';
import { parseBaseUrl } from '../../../../dataplane/upstream/address.ts';
import { UpstreamFailure } from '../../../../dataplane/upstream/upstream.ts';
import type { UpstreamResponse } from '../../../../dataplane/upstream/upstream.ts';

const BEGINNING = '{"error": {"mess';
let server: Server;
let abort: AbortController;
/** The connection of the latest request for an upgrade. */
let connection: Socket;

beforeEach(async () => {
  abort = new AbortController();
  server = createServer();
  server.on('upgrade', (_request, socket: Socket) => {
    connection = socket;
    socket.on('error', () => undefined);
    socket.resume();
    socket.once('end', () => socket.end());
    socket.write(`HTTP/1.1 503 No\r\ncontent-length: 1000\r\n\r\n${BEGINNING}`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  connection.destroy();
  server.close();
});

async function refused(): Promise<UpstreamResponse> {
  const options = {
    base: parseBaseUrl(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`),
    proxies: undefined,
    ca: undefined,
    timeoutMs: 10_000,
    headers: {},
  };
  const opened = await openSocket(options, '/v1/realtime', {
    path: '',
    headers: {},
    signal: abort.signal,
    maxMessageBytes: 1000,
  });
  assert.ok('status' in opened);
  assert.equal(opened.status, 503);
  return opened;
}

/** Reads the body, calls `interrupt` after its first piece, and resolves with what came and how the body failed. */
async function readUntilFailure(
  { body }: UpstreamResponse,
  interrupt: () => void,
): Promise<{ readonly text: string; readonly failure: unknown }> {
  let text = '';
  try {
    for await (const piece of body) {
      text += Buffer.from(piece).toString('utf8');
      interrupt();
    }
  } catch (failure) {
    return { text, failure };
  }
  return { text, failure: undefined };
}

describe('the body of a response that refuses a WebSocket', () => {
  it('that breaks off fails as a provider that has cut its response', async () => {
    const { text, failure } = await readUntilFailure(await refused(), () => connection.destroy());
    assert.equal(text, BEGINNING);
    assert.ok(failure instanceof UpstreamFailure);
    assert.equal(failure.kind, 'Cut');
  });

  it('stops at an abort while it is read', async () => {
    const { text, failure } = await readUntilFailure(await refused(), () => abort.abort());
    assert.equal(text, BEGINNING);
    assert.ok(failure instanceof UpstreamFailure);
    assert.equal(failure.kind, 'Aborted');
  });

  it('stops at an abort before it is read', async () => {
    const response = await refused();
    const closed = once(connection, 'close');
    abort.abort();
    const { failure } = await readUntilFailure(response, () => undefined);
    assert.ok(failure instanceof UpstreamFailure);
    assert.equal(failure.kind, 'Aborted');
    await closed;
  });
});
