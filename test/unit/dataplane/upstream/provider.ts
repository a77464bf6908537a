/** Support: local providers that misbehave on request, and targets that point to them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import type { RequestListener, Server as HttpServer } from 'node:http';
import { createServer as createTcp } from 'node:net';
import type { Server, Socket } from 'node:net';
import { afterAll } from 'vitest';
import { allowHeaders } from '../../../../dataplane/upstream/headers.ts';
import { createUpstreams } from '../../../../dataplane/upstream/client.ts';
import type { PooledUpstreams, UpstreamOptions } from '../../../../dataplane/upstream/client.ts';
import { SecretValue, UpstreamFailure } from '../../../../dataplane/upstream/upstream.ts';
import type { UpstreamFailureKind, UpstreamRequest, UpstreamTarget } from '../../../../dataplane/upstream/upstream.ts';

const TIMEOUTS = { connectMs: 2000, firstByteMs: 5000, wholeMs: 5000, idleMs: 5000 };

/** Returns the base URL of an HTTP server, which is closed after the test file. */
export async function startHttp(
  listener: RequestListener,
  configure: (server: HttpServer) => void = () => undefined,
): Promise<string> {
  const server = createHttp(listener);
  configure(server);
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return listen(server);
}

/** Returns the base URL of a raw TCP server. `onRequest` is called for each chunk that a client sends. */
export async function startRaw(
  onRequest: (socket: Socket, request: string, connection: number) => void,
): Promise<string> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createTcp((socket) => {
    const connection = ++connections;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => onRequest(socket, bytes.toString('latin1'), connection));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listen(server);
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

/** A client whose pools are closed after the test file. */
export function startUpstreams(options?: UpstreamOptions): PooledUpstreams {
  const upstreams = createUpstreams(options);
  afterAll(() => upstreams.close());
  return upstreams;
}

export function targetAt(
  baseUrl: string,
  changes: Partial<Omit<UpstreamTarget, 'timeouts'>> & {
    timeouts?: Partial<UpstreamTarget['timeouts']>;
  } = {},
): UpstreamTarget {
  return {
    id: 'route/channel',
    protocol: 'OpenAI',
    credential: {
      header: 'authorization',
      value: new SecretValue('Bearer provider-secret'),
    },
    endpoints: new Set(['Chat']),
    defaultHeaders: {},
    clientHeaders: allowHeaders([]),
    ...changes,
    baseUrl,
    timeouts: { ...TIMEOUTS, ...changes.timeouts },
  };
}

export function requestOf(changes: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    method: 'POST',
    path: '/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{}'),
    stream: false,
    signal: new AbortController().signal,
    ...changes,
  };
}

export async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** One piece of a body. */
export function text(result: IteratorResult<Uint8Array>): string {
  return result.value instanceof Uint8Array ? Buffer.from(result.value).toString() : '(done)';
}

/** For assert.rejects. */
export function failsWith(kind: UpstreamFailureKind): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof UpstreamFailure, String(error));
    assert.equal(error.kind, kind, error.message);
    return true;
  };
}
