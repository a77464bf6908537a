/**
 * The memory of a gateway: per stream, per idle connection, for slow readers, for bodies that arrive all at once or
 * byte by byte.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { answerBytes, chunk, honestAnswer, honestReply, jsonOf } from '../../fuzz/honest.ts';
import { startMeasured } from '../../fuzz/measured.ts';
import type { Measured } from '../../fuzz/measured.ts';
import { startRawProvider } from '../../fuzz/provider.ts';
import type { ProviderAnswer, ProviderRequest, RawProvider } from '../../fuzz/provider.ts';

const MIB = 2 ** 20;
const MAX_BODY = 16 * MIB;
const MAX_BUFFERED = 32 * MIB;

let provider: RawProvider;
let gateway: Measured;
/** Streams pause after their first events until this is called. */
let finish: () => void;
let finished: Promise<void>;

beforeAll(async () => {
  hold();
  provider = await startRawProvider(answer);
  gateway = await startMeasured(provider.url, MAX_BODY, MAX_BUFFERED);
});
afterAll(async () => {
  finish();
  await provider.stop();
  await gateway.stop();
});

/** All connections of a test, also of one that fails. */
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});

function hold(): void {
  ({ promise: finished, resolve: finish } = Promise.withResolvers<void>());
}

async function answer(request: ProviderRequest): Promise<ProviderAnswer> {
  const { user, stream } = jsonOf(request);
  if (user === 'held') return { pieces: [...heldStream(request)], end: 'keep' };
  if (user === 'large') return { pieces: stream === true ? largeStream() : largeAnswer(), end: 'keep' };
  if (user === 'late') await finished;
  return honestAnswer(request);
}

/** Sends only the first half: the raw provider leaves the connection open. */
function heldStream(request: ProviderRequest): Uint8Array[] {
  const bytes = answerBytes(honestReply(request));
  return [bytes.subarray(0, bytes.indexOf('"content":"lo"') - 200)];
}

const LARGE_BYTES = 50 * MIB;
const FILLER = Buffer.alloc(MIB, 'x');

function largeAnswer(): Uint8Array[] {
  return [
    Buffer.from(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${LARGE_BYTES + 24}\r\n\r\n{"choices":[],"x":"`,
    ),
    ...Array.from({ length: LARGE_BYTES / MIB }, () => FILLER),
    Buffer.from('"   }'),
  ];
}

function largeStream(): Uint8Array[] {
  const event = Buffer.from(`data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(1000)}"}}]}\n\n`);
  const many = chunk(Buffer.concat(Array.from({ length: 1000 }, () => event)));
  return [
    Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'),
    ...Array.from({ length: 50 }, () => many),
    chunk(Buffer.from('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')),
    Buffer.from('0\r\n\r\n'),
  ];
}

function requestBytes(body: Record<string, unknown>): Buffer {
  const text = JSON.stringify({ model: 'gpt-model', max_tokens: 10, ...body });
  return Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ` +
      `${KEYS.main}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

function chatOf(user: string, content: string, stream = true): Record<string, unknown> {
  return { user, stream, messages: [{ role: 'user', content }] };
}

/** Opens a connection that has sent this; resolves with the first bytes of the response. */
function opened(bytes: Buffer): Promise<{ socket: Socket; first: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1' });
    sockets.add(socket);
    socket.once('error', reject);
    socket.once('data', (data: Buffer) => resolve({ socket, first: data.toString('latin1') }));
    socket.write(bytes);
  });
}

/** How long a thousand calls may take to be settled on a machine that runs other suites too. */
const CLOSED_MS = 60_000;

async function close(open: readonly Socket[]): Promise<void> {
  for (const socket of open) socket.destroy();
  for (const endMs = performance.now() + CLOSED_MS; (await gateway.memory()).holds > 0;)
    assert.ok(performance.now() < endMs, 'something is still held');
}

/** Opened in groups, so that neither the backlog nor the budget for bodies is full. */
const GROUP = 50;

async function streams(count: number, content: string): Promise<Socket[]> {
  const open: Socket[] = [];
  const bytes = requestBytes(chatOf('held', content));
  while (open.length < count)
    open.push(
      ...(await Promise.all(Array.from({ length: GROUP }, () => opened(bytes)))).map(({ socket, first }) => {
        assert.match(first, /^HTTP\/1\.1 200 /);
        return socket;
      }),
    );
  return open;
}

/** The heap that each of so many holds beyond `start`. Beside other suites, what was held before may be freed later. */
async function heldByEach(count: number, { start, bound }: { start: number; bound: number }): Promise<number> {
  let each = Infinity;
  for (let tries = 0; tries < 10 && each >= bound; tries++) {
    if (tries > 0)
      await new Promise((resolve) => {
        setTimeout(resolve, 300);
      });
    each = ((await gateway.memory()).held - start) / count;
  }
  return each;
}

async function perStream(
  count: number,
  content: string,
  bound: number,
): Promise<{ heldBytes: number; rssBytes: number }> {
  const cold = await gateway.memory();
  const first = await streams(count, content);
  const { rss } = await gateway.memory();
  await close(first); // code is compiled, pools have their size
  const start = await gateway.memory();
  const open = await streams(count, content);
  const heldBytes = await heldByEach(count, { start: start.held, bound });
  await close(open);
  return { heldBytes, rssBytes: (rss - cold.rss) / count };
}

const SINGLE_BYTES = 2_000_000;

const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;

describe('memory is bounded', () => {
  it('of 1,000 streams at once', async () => {
    const bound = 40 * 1024;
    const { heldBytes, rssBytes } = await perStream(1000, 'x'.repeat(900), bound);
    console.info(`a stream holds ${kib(heldBytes)} of heap, ${kib(rssBytes)} of resident memory`);
    assert.ok(heldBytes < bound, kib(heldBytes));
  });

  it('of streams with large contexts, which are freed when the response begins', async () => {
    const bound = 100 * 1024;
    const { heldBytes, rssBytes } = await perStream(100, 'x'.repeat(300_000), bound);
    console.info(
      `a stream with a context of 300 KB holds ${kib(heldBytes)} of heap, ${kib(rssBytes)} of resident memory`,
    );
    assert.ok(heldBytes < bound, kib(heldBytes)); // what was let go may still be counted at a hundred streams
  });

  it('of idle connections', async () => {
    const open: Socket[] = [];
    const start = await gateway.memory();
    const ask = Buffer.from(`GET /v1/key HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${KEYS.main}\r\n\r\n`);
    for (let group = 0; group < 10; group++)
      open.push(...(await Promise.all(Array.from({ length: 100 }, () => opened(ask)))).map(({ socket }) => socket));
    const { held } = await gateway.memory();
    await close(open);
    console.info(`an idle connection holds ${kib((held - start.held) / open.length)} of heap`);
    assert.ok((held - start.held) / open.length < 16 * 1024);
  });

  for (const stream of [false, true])
    it(`of 50 MB in ${stream ? 'a stream' : 'an answer'} whose client does not read: the provider waits`, async () => {
      const start = await gateway.memory();
      const readers = await Promise.all(
        // two responses that are held whole are more than one key may hold
        Array.from({ length: stream ? 4 : 1 }, async () => {
          const reader = await opened(requestBytes(chatOf('large', 'x', stream)));
          assert.match(reader.first, /^HTTP\/1\.1 200 /);
          reader.socket.pause();
          return reader;
        }),
      );
      // a response is buffered up to 8 MiB, a stream not at all
      const bound = (stream ? 4 : 12) * MIB;
      const each = await heldByEach(readers.length, { start: start.held, bound });
      console.info(`a reader that stopped holds ${kib(each)}`);
      assert.ok(each < bound, kib(each));
      const [{ socket: reader, first } = assert.fail()] = readers;
      let size = first.length;
      await new Promise<void>((resolve, reject) => {
        reader.on('data', (data: Buffer) => {
          size += data.length;
          if (size >= LARGE_BYTES) resolve();
        });
        reader.once('close', () => reject(new Error(`closed after ${size} bytes`)));
        reader.resume();
      });
      await close(readers.map(({ socket }) => socket));
    });

  it('of more bodies than a key may have at once, the excess of which is refused at once', async () => {
    const start = await gateway.memory();
    const body = requestBytes(chatOf('late', 'x'.repeat(MAX_BODY - 1000), false));
    const calls = Array.from({ length: 10 }, () => opened(body));
    const { first } = await Promise.race(calls);
    assert.match(first, /^HTTP\/1\.1 429 [\s\S]*retry-after: 1\r\n[\s\S]*"code":"rate_limit_exceeded"/);
    const { held, peakRss } = await gateway.memory();
    console.info(
      `10 bodies of 16 MiB: ${kib(held - start.held)} held, ${kib(peakRss - start.rss)} of resident ` +
        `memory at the most`,
    );
    finish();
    const answers = await Promise.all(calls);
    const statuses = answers.map(({ first }) => first.slice(9, 12)).sort();
    assert.ok(
      statuses.includes('200') && statuses.every((status) => status === '200' || status === '429'),
      statuses.join(),
    );
    assert.ok(held - start.held < MAX_BUFFERED * 6, kib(held - start.held));
    await close(answers.map(({ socket }) => socket));
    hold();
    const { held: after } = await gateway.memory();
    assert.ok(after - start.held < 16 * MIB, `${kib(after - start.held)} stay`);
    const again = await opened(requestBytes(chatOf('now', 'x'.repeat(MAX_BODY - 1000), false)));
    assert.match(again.first, /^HTTP\/1\.1 200 /);
    await close([again.socket]);
  });

  it('of a body in pieces of one byte', async () => {
    const text = JSON.stringify({
      model: 'gpt-model',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'x'.repeat(SINGLE_BYTES) }],
    });
    const start = await gateway.memory();
    const socket = connect({ port: gateway.port, host: '127.0.0.1' });
    sockets.add(socket);
    const answered = new Promise<string>((resolve) => {
      socket.once('data', (data: Buffer) => resolve(data.toString('latin1')));
    });
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ` +
        `${KEYS.main}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    socket.write(text.replace(/./g, '1\r\n$&\r\n'));
    await new Promise((resolve) => {
      setTimeout(resolve, 1000);
    });
    const { held } = await gateway.memory();
    socket.write('0\r\n\r\n');
    assert.match(await answered, /^HTTP\/1\.1 200 /);
    await close([socket]);
    console.info(`2 MB in pieces of one byte hold ${kib(held - start.held)}`);
    assert.ok(held - start.held < 40 * MIB, kib(held - start.held)); // an object for each byte would be 200
  });
});
