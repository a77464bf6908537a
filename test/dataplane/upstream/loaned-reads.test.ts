/** Reads past the stream bring the same bytes in the same order, however slowly they are taken, and their end comes last. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { LoanedReads } from '../../../dataplane/upstream/loaned-reads.ts';
import { readAll, requestOf, startRaw, startUpstreams, targetAt, text } from './provider.ts';

async function sendInTurns(socket: Socket, pieces: Iterable<Uint8Array>): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece);
    await turn();
  }
}

/** A connection whose other side sends these pieces and ends; read by loan once it is connected. */
async function startSending(pieces: readonly Uint8Array[]): Promise<{ socket: Socket; close: () => void }> {
  const server = createServer({ noDelay: true }, (peer) => void sendInTurns(peer, pieces).then(() => peer.end()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reads = new LoanedReads();
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', onread: reads.onread });
  await once(socket, 'connect');
  reads.attach(socket);
  return {
    socket,
    close: () => {
      socket.destroy();
      server.close();
    },
  };
}

/** What a reader does when it is told that there is something, in turns; without any left it takes all. */
type Step = 'take' | 'part' | 'later';

test('all bytes come, whatever is put back or left for later', async () => {
  const step = fc.constantFrom<Step>('take', 'part', 'later');
  await fc.assert(fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000 }), { minLength: 1, maxLength: 8 }), fc.array(step, { maxLength: 12 }), async (pieces, steps) => {
    const { socket, close } = await startSending(pieces);
    const got: Buffer[] = [];
    const late: Promise<void>[] = [];
    const left = [...steps];
    const takeAll = (): void => {
      for (let bytes: unknown = socket.read(); bytes instanceof Buffer; bytes = socket.read()) got.push(bytes);
    };
    socket.on('readable', () => {
      const does = left.shift() ?? 'take';
      if (does === 'take') return takeAll();
      if (does === 'part') {
        const bytes: unknown = socket.read();
        if (bytes instanceof Buffer) {
          got.push(bytes.subarray(0, 1));
          socket.unshift(bytes.subarray(1));
        }
      }
      late.push(turn().then(takeAll));
    });
    await once(socket, 'end');
    await Promise.all(late);
    assert.deepEqual(Buffer.concat(got), Buffer.concat(pieces));
    close();
  }), { numRuns: 80 });
});

test('nothing more is read while something is left', async () => {
  const { socket, close } = await startSending(Array.from({ length: 400 }, () => Buffer.alloc(64 * 1024, 7)));
  await once(socket, 'readable');
  const { bytesRead } = socket;
  for (let turns = 0; turns < 50; turns++) await turn();
  assert.equal(socket.bytesRead, bytesRead);
  let sum = 0;
  const takeAll = (): void => {
    for (let bytes: unknown = socket.read(); bytes instanceof Buffer; bytes = socket.read()) sum += bytes.length;
  };
  socket.on('readable', takeAll);
  takeAll();
  await once(socket, 'end');
  assert.equal(sum, 400 * 64 * 1024);
  close();
});

test('answers on two connections at once, in single bytes, do not get into each other', async () => {
  const answer = (word: string): string => `HTTP/1.1 200 OK\r\nx-word: ${word}\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n${word.length.toString(16)}\r\n${word}\r\n0\r\n\r\n`;
  const base = await startRaw((socket, request) => {
    const bytes = Buffer.from(answer(/word=(\w+)/.exec(request)?.[1] ?? ''));
    void sendInTurns(socket, Array.from(bytes, (byte) => Uint8Array.of(byte)));
  });
  const upstreams = startUpstreams();
  const target = targetAt(base);
  const words = ['gateway', 'somewhatlongerword', 'x'];
  const seen = await Promise.all(words.map(async (word) => {
    const { headers, body } = await upstreams.send(target, requestOf({ path: `/word=${word}` }));
    return [headers['x-word'], await readAll(body)];
  }));
  assert.deepEqual(seen, words.map((word) => [word, word]));
});

test('what a reader keeps of a stream is not changed by what comes later', async () => {
  const more = Promise.withResolvers<void>();
  const base = await startRaw((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nfirst');
    void more.promise.then(() => socket.end('other'));
  });
  const { body } = await startUpstreams().send(targetAt(base), requestOf({ stream: true }));
  const iterator = body[Symbol.asyncIterator]();
  const first = await iterator.next();
  more.resolve();
  assert.equal(text(await iterator.next()), 'other');
  assert.equal(text(first), 'first');
});

test('what is put back comes before what has arrived since, and the end of all after both', async () => {
  const reads = new LoanedReads();
  const socket = new Socket();
  reads.attach(socket);
  const { onread } = reads;
  const { buffer } = onread;
  assert.ok(buffer instanceof Uint8Array);
  const arrive = (word: string): boolean => onread.callback(Buffer.from(buffer.buffer, 0).write(word), buffer);
  assert.equal(arrive('one'), false);
  assert.equal(String(socket.read()), 'one');
  assert.equal(arrive('two'), false);
  assert.equal(arrive('three'), false);
  socket.unshift(Buffer.from('one'));
  socket.push(null);
  socket.read(0);
  assert.equal(socket.readableEnded, false);
  assert.equal(String(socket.read()), 'onetwothree');
  const ended = once(socket, 'end');
  assert.equal(socket.read(), null);
  await ended;
});
