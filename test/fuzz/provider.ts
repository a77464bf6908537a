/**
 * A provider on raw sockets: it parses requests strictly, records every fault of theirs, and answers with the scripted
 * bytes.
 */
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface ProviderRequest {
  readonly method: string;
  readonly path: string;
  /** Lower-case names, in order, repeated ones apart. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

export interface ProviderAnswer {
  readonly pieces: readonly Uint8Array[];
  /** After the last piece: the connection stays, is ended, is reset, or is left silent until the other side goes. */
  readonly end: 'keep' | 'fin' | 'reset' | 'stall';
  /** Between two pieces; default 0. */
  readonly dripMs?: number;
}

export interface RawProvider {
  readonly url: string;
  /** Requests so far. */
  readonly count: number;
  /** What was wrong with requests, or with the bytes where one should have been. */
  readonly faults: readonly string[];
  /** Connections that are open now. */
  readonly open: number;
  stop(): Promise<void>;
}

const MOST_HEAD_BYTES = 128 * 1024;

export async function startRawProvider(
  answer: (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer>,
): Promise<RawProvider> {
  const faults: string[] = [];
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    serve(socket, {
      fault: (words) => {
        faults.push(words);
      },
      async answer(request) {
        count++;
        return answer(request);
      },
    }).catch((error: unknown) => faults.push(String(error)));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get count() {
      return count;
    },
    faults,
    get open() {
      return sockets.size;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

interface Serving {
  readonly fault: (words: string) => void;
  readonly answer: (request: ProviderRequest) => Promise<ProviderAnswer>;
}

async function serve(socket: Socket, { fault, answer }: Serving): Promise<void> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of readable(socket)) {
    pending = Buffer.concat([pending, chunk]);
    const request = readRequest(pending);
    if (request === undefined) continue;
    if (typeof request === 'string') {
      fault(request);
      socket.destroy();
      return;
    }
    if (request.rest > 0) fault(`${request.rest} bytes behind a request's end`);
    pending = Buffer.alloc(0);
    if (!(await perform(socket, await answer(request.request)))) return;
  }
  if (pending.length > 0 && readRequest(pending) !== undefined) fault('a broken request');
}

async function* readable(socket: Socket): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const chunk of socket) yield chunk as Buffer;
  } catch {
    // the other side may break off at any time
  }
}

/** Undefined: more is to come. A string: what is wrong. */
function readRequest(bytes: Buffer): { request: ProviderRequest; rest: number } | string | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return bytes.length > MOST_HEAD_BYTES ? 'an endless request head' : undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const [, method, path] = /^([A-Z]+) (\/[\x21-\x7e]*) HTTP\/1\.1$/.exec(first) ?? [];
  if (method === undefined || path === undefined) return `not a request line: ${JSON.stringify(first.slice(0, 200))}`;
  const headers: (readonly [string, string])[] = [];
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return `not a header: ${JSON.stringify(line.slice(0, 200))}`;
    headers.push([name.toLowerCase(), value]);
  }
  const lengths = headers.filter(([name]) => name === 'content-length').map(([, value]) => value);
  // a question about a job has no body
  const [length = method === 'GET' || method === 'DELETE' ? '0' : ''] = lengths;
  if (lengths.length > 1 || !/^\d+$/.test(length)) return `content-length: ${JSON.stringify(lengths)}`;
  if (headers.some(([name]) => name === 'transfer-encoding')) return 'transfer-encoding beside content-length';
  const from = end + 4;
  if (bytes.length < from + Number(length)) return undefined;
  return {
    request: { method, path, headers, body: bytes.subarray(from, from + Number(length)) },
    rest: bytes.length - from - Number(length),
  };
}

/** False where the connection is over. */
async function perform(socket: Socket, { pieces, end, dripMs = 0 }: ProviderAnswer): Promise<boolean> {
  for (const piece of pieces) {
    if (socket.destroyed) return false;
    if (!socket.write(piece)) await drained(socket);
    if (dripMs > 0)
      await new Promise((resolve) => {
        setTimeout(resolve, dripMs);
      });
  }
  if (end === 'fin') socket.end();
  if (end === 'reset') socket.resetAndDestroy();
  return end === 'keep' || end === 'stall';
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.once('drain', done).once('close', done);
  });
}
