/** Request bodies: complete and unchanged, in any chunks, and within the limits of one and of all. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { GatewayError } from '../../../../dataplane/errors.ts';
import { bodyOf, createBodyReader } from '../../../../dataplane/server/body.ts';
import { LARGE_BODY_BYTES, MemoryBudget } from '../../../../dataplane/memory-budget.ts';
import type { MemoryLimits } from '../../../../dataplane/memory-budget.ts';
import type { BodyReader, BodyReaderOptions } from '../../../../dataplane/server/body.ts';

function readerOf(limits: MemoryLimits, options: Pick<BodyReaderOptions, 'every'> = {}): BodyReader {
  return createBodyReader({ budget: new MemoryBudget(limits), maxBodyBytes: limits.maxBodyBytes, ...options });
}

/** A request whose body arrives in these chunks; `declared`: its content-length. */
function message(pieces: readonly Uint8Array[], declared?: number, encoding?: string): IncomingMessage {
  const headers = {
    ...(declared !== undefined && { 'content-length': String(declared) }),
    ...(encoding !== undefined && { 'content-encoding': encoding }),
  };
  return Object.assign(Readable.from(pieces, { objectMode: true }), {
    headers,
    socket: { destroyed: false },
  }) as unknown as IncomingMessage;
}

function gzipped(bytes: Uint8Array): IncomingMessage {
  const encoded = gzipSync(bytes);
  return message([encoded], encoded.length, 'gzip');
}

async function refusal(reader: BodyReader, request: IncomingMessage): Promise<GatewayError> {
  const error: unknown = await reader.read(request).catch((caught: unknown) => caught);
  assert.ok(error instanceof GatewayError);
  return error;
}

function zeros(bytes: number): IncomingMessage {
  return message([Buffer.alloc(bytes)], bytes);
}

const MIB = 2 ** 20;

describe('a body', () => {
  it('has the bytes that arrived, in chunks of any size, with content-length or without', async () => {
    const reader = readerOf({ maxBodyBytes: MIB, maxBufferedBytes: MIB });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 9000 }), { maxLength: 12 }),
        fc.boolean(),
        async (pieces, declare) => {
          const whole = Buffer.concat(pieces);
          const body = await reader.read(
            message(
              pieces.filter(({ length }) => length > 0).map((piece) => Buffer.from(piece)),
              declare ? whole.length : undefined,
            ),
          );
          assert.deepEqual(body.bytes, whole);
          body.drop();
        },
      ),
      { numRuns: 60 },
    );
    assert.equal(reader.crowded, false);
  });

  it('counts against the budget until it is dropped', async () => {
    const reader = readerOf({ maxBodyBytes: 1000, maxBufferedBytes: 1000 });
    const body = await reader.read(zeros(600));
    assert.equal(reader.crowded, true);
    assert.equal((await refusal(reader, zeros(600))).code, 'too_busy');
    body.drop();
    assert.equal((await reader.read(zeros(1000))).bytes.length, 1000);
  });

  it('may have the size limit and not a byte more', async () => {
    const reader = readerOf({ maxBodyBytes: 1000, maxBufferedBytes: 10_000 });
    assert.equal((await reader.read(zeros(1000))).bytes.length, 1000);
    assert.equal((await refusal(reader, zeros(1001))).code, 'request_too_large');
    assert.equal((await refusal(reader, message([Buffer.alloc(600), Buffer.alloc(401)]))).code, 'request_too_large');
  });

  it('that is compressed counts with its decoded size, until it is dropped', async () => {
    const reader = readerOf({ maxBodyBytes: 100_000, maxBufferedBytes: 200_000 });
    const body = await reader.read(gzipped(Buffer.alloc(100_000)));
    assert.equal(body.bytes.length, 100_000);
    assert.equal((await refusal(reader, gzipped(Buffer.alloc(50_000)))).code, 'too_busy');
    body.drop();
    assert.equal((await reader.read(gzipped(Buffer.alloc(0)))).bytes.length, 0);
    assert.equal(reader.crowded, false);
  });

  it('that is compressed counts with the window of its decoder too, while that runs', async () => {
    const reader = readerOf({ maxBodyBytes: 100_000, maxBufferedBytes: 150_000 });
    assert.equal((await refusal(reader, gzipped(Buffer.alloc(100_000)))).code, 'too_busy');
    assert.equal((await reader.read(zeros(100_000))).bytes.length, 100_000);
  });

  it('that is compressed may have the size limit, compressed and decoded, and a share of its key', async () => {
    const reader = readerOf({ maxBodyBytes: 100_000, maxBufferedBytes: 400_000 });
    assert.equal((await refusal(reader, gzipped(Buffer.alloc(100_001)))).code, 'request_too_large');
    const members = Buffer.concat(Array.from({ length: 6_000 }, () => gzipSync('')));
    assert.ok(members.length > 100_000, 'it decodes to nothing, and is too large all the same');
    for (const declared of [members.length, undefined])
      assert.equal((await refusal(reader, message([members], declared, 'gzip'))).code, 'request_too_large');
    const owner = { uid: 'a', account: 'x' };
    const dense = Buffer.from(randomBytes(50_000).toString('hex'));
    const body = await reader.read(gzipped(dense), owner);
    assert.deepEqual(body.bytes, dense);
    body.drop();
    assert.equal(reader.crowded, false);
  });

  it('that inflates without measure is refused at its first MiB', async () => {
    const reader = readerOf({ maxBodyBytes: 64 * MIB, maxBufferedBytes: 256 * MIB });
    const compress = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync };
    for (const [coding, encode] of Object.entries(compress)) {
      const bomb = encode(Buffer.alloc(2 * MIB, ' '));
      assert.equal((await refusal(reader, message([bomb], bomb.length, coding))).code, 'request_too_large', coding);
      const small = encode(Buffer.alloc(MIB, ' '));
      const body = await reader.read(message([small], small.length, coding));
      assert.equal(body.bytes.length, MIB, coding);
      body.drop();
    }
    assert.equal(reader.crowded, false);
  });

  it('that is compressed is not decoded once its client has left', async () => {
    const reader = readerOf({ maxBodyBytes: 1000, maxBufferedBytes: 1000 });
    const left = Object.assign(gzipped(Buffer.alloc(10)), { socket: { destroyed: true } });
    assert.match((await refusal(reader, left)).message, /left/);
  });

  it('that is cut off is refused, and frees its memory', async () => {
    const reader = readerOf({ maxBodyBytes: 1000, maxBufferedBytes: 1000 });
    for (let round = 0; round < 5; round++) {
      const broken = message([Buffer.alloc(400)], 900);
      broken.once('data', () => broken.destroy(new Error('gone')));
      assert.equal((await refusal(reader, broken)).code, 'invalid_request');
    }
    assert.equal((await reader.read(zeros(1000))).bytes.length, 1000);
  });

  it('is parsed once, and keeps neither bytes nor value when it is dropped', async () => {
    const reader = readerOf({ maxBodyBytes: 1000, maxBufferedBytes: 1000 });
    const body = await reader.read(message([Buffer.from('{"model":"x"}')]));
    assert.deepEqual(body.parse(), { model: 'x' });
    assert.equal(body.parse(), body.parse());
    body.drop();
    assert.equal(body.bytes.length, 0);
    assert.throws(() => body.parse(), /The body is empty/);
  });

  it('is empty without a body', () => {
    assert.equal(bodyOf({}).bytes.length, 0);
    assert.equal(bodyOf({ body: 'text' }).bytes.length, 0);
  });
});

describe('a body on a connection', () => {
  interface Arrived {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly text: Promise<string>;
  }
  const reader = readerOf({ maxBodyBytes: 1000, maxBufferedBytes: 10_000 });
  const arrived: Arrived[] = [];
  const waiting: ((arrival: Arrived) => void)[] = [];
  const server = createServer((request, response) => {
    const text = reader.read(request).then(
      (body) => {
        const read = body.bytes.toString();
        body.drop();
        return read;
      },
      (error: unknown) => (error instanceof GatewayError ? error.code : String(error)),
    );
    const next = waiting.shift();
    if (next) next({ request, response, text });
    else arrived.push({ request, response, text });
  });
  const next = (): Promise<Arrived> =>
    new Promise((resolve) => {
      const arrival = arrived.shift();
      if (arrival) resolve(arrival);
      else waiting.push(resolve);
    });
  const dial = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('is read whole, in chunks of any size, one after the other', async () => {
    const socket = await dial();
    const body = fc.string({ unit: fc.constantFrom('a', '0', '\r\n', 'é', '"'), maxLength: 40 });
    const pipelined = fc.array(body, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(pipelined, fc.integer({ min: 1, max: 60 }), fc.boolean(), async (bodies, size, chunked) => {
        const bytes = Buffer.from(bodies.map((each) => requestWith(each, chunked)).join(''));
        for (let at = 0; at < bytes.length; at += size) socket.write(bytes.subarray(at, at + size));
        for (const each of bodies) {
          const { request, response, text } = await next();
          assert.equal(await text, each);
          assert.equal(request.complete, true);
          response.end('ok');
          await once(response, 'close');
        }
      }),
      { numRuns: 60 },
    );
    socket.destroy();
  });

  it('that is cut off is refused, and its request is not complete', async () => {
    const socket = await dial();
    socket.write('POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 10\r\n\r\nhalf');
    const { request, text } = await next();
    socket.destroy();
    assert.equal(await text, 'invalid_request');
    assert.equal(request.complete, false);
  });

  it('that is responded to before it has arrived, or refused, does not delay the next request', async () => {
    const socket = await dial();
    for (const [length, text] of [
      [4, 'half'],
      [2000, 'request_too_large'],
    ] as const) {
      const answer = once(socket, 'data');
      socket.write(`POST / HTTP/1.1\r\nhost: h\r\ncontent-length: ${length}\r\n\r\nha`);
      const first = await next();
      first.response.writeHead(400).end();
      await answer;
      socket.write(`lf${'x'.repeat(length - 4)}${requestWith('second', false)}`);
      assert.equal(await first.text, text);
      const second = await next();
      assert.equal(await second.text, 'second');
      second.response.end('ok');
      await once(second.response, 'close');
    }
    socket.destroy();
  });
});

function requestWith(body: string, chunked: boolean): string {
  const bytes = Buffer.byteLength(body);
  const framed = chunked ? `${bytes > 0 ? `${bytes.toString(16)}\r\n${body}\r\n` : ''}0\r\n\r\n` : body;
  const framing = chunked ? 'transfer-encoding: chunked' : `content-length: ${bytes}`;
  return `POST / HTTP/1.1\r\nhost: h\r\n${framing}\r\n\r\n${framed}`;
}

describe('all bodies together', () => {
  it('have a budget, beyond which a call is told to retry, until others are dropped', async () => {
    const reader = readerOf({ maxBodyBytes: MIB, maxBufferedBytes: 4 * MIB });
    const held = [await reader.read(zeros(MIB)), await reader.read(zeros(MIB)), await reader.read(zeros(MIB))];
    const refused = await refusal(reader, zeros(MIB));
    assert.equal(refused.code, 'too_busy');
    assert.equal(refused.details.retryAfterSeconds, 1);
    held[0]?.drop();
    held[0]?.drop(); // gives back once
    const again = await reader.read(zeros(MIB));
    assert.equal((await refusal(reader, zeros(MIB))).code, 'too_busy');
    for (const body of [...held, again]) body.drop();
  });

  it('reserve a share for small ones', async () => {
    const reader = readerOf({ maxBodyBytes: MIB, maxBufferedBytes: 8 * MIB });
    for (let count = 0; count < 7; count++) await reader.read(zeros(MIB));
    assert.equal((await refusal(reader, zeros(LARGE_BODY_BYTES))).code, 'too_busy');
    for (let count = 0; count < 16; count++) await reader.read(zeros(LARGE_BODY_BYTES - 1));
    assert.equal(
      (await refusal(reader, message(Array.from({ length: 200 }, () => Buffer.alloc(1000))))).code,
      'too_busy',
    );
  });

  it('are crowded from half of it on', async () => {
    const reader = readerOf({ maxBodyBytes: MIB, maxBufferedBytes: 4 * MIB });
    const bodies = [await reader.read(zeros(MIB)), await reader.read(zeros(MIB))];
    assert.equal(reader.crowded, false);
    const third = await reader.read(zeros(1));
    assert.equal(reader.crowded, true);
    for (const body of [...bodies, third]) body.drop();
    assert.equal(reader.crowded, false);
  });

  it('always fit one of the largest', async () => {
    const reader = readerOf({ maxBodyBytes: 4 * MIB, maxBufferedBytes: MIB });
    const body = await reader.read(zeros(4 * MIB));
    body.drop();
    await reader.read(zeros(4 * MIB));
  });
});

describe('the bodies of one key or account', () => {
  const limits = { maxBodyBytes: 1000, maxBufferedBytes: 8000 };

  it('have a share of the budget, and leave the rest to others', async () => {
    const reader = readerOf(limits);
    const [a, b, other] = [
      { uid: 'a', account: 'x' },
      { uid: 'b', account: 'x' },
      { uid: 'c', account: 'y' },
    ];
    const held = [await reader.read(zeros(1000), a), await reader.read(zeros(1000), a)];
    const refused = async (owner: typeof a): Promise<string> =>
      reader.read(zeros(1000), owner).then(
        (body) => {
          body.drop();
          return 'none';
        },
        (error: GatewayError) => error.code,
      );
    assert.equal(await refused(a), 'rate_limit_exceeded');
    held.push(await reader.read(zeros(1000), b), await reader.read(zeros(1000), b));
    assert.equal(await refused({ uid: 'd', account: 'x' }), 'rate_limit_exceeded');
    assert.equal(await refused(other), 'none');
    for (const body of held) body.drop();
    assert.equal(await refused(a), 'none');
  });

  it('count as uploads while they arrive', async () => {
    const reader = readerOf(limits);
    const reading = reader.read(zeros(10), { uid: 'a', account: 'x' });
    assert.equal(reader.uploads('a'), 1);
    (await reading).drop();
    assert.equal(reader.uploads('a'), 0);
  });
});

describe('a body that arrives too slowly', () => {
  it('is refused once its grace period is over, and a faster one is not', async () => {
    let tick = (): void => undefined;
    const every = (_ms: number, run: () => void) => {
      tick = run;
      return () => undefined;
    };
    const reader = readerOf({ maxBodyBytes: MIB, maxBufferedBytes: MIB }, { every });
    const pass = (seconds: number): void => {
      for (let second = 0; second < seconds; second++) tick();
    };
    const [slow, fast] = [new Readable({ read: () => undefined }), new Readable({ read: () => undefined })];
    const [slowly, fastly] = [slow, fast].map((stream) =>
      reader.read(Object.assign(stream, { headers: {} }) as unknown as IncomingMessage),
    );
    slow.push(Buffer.alloc(1000));
    fast.push(Buffer.alloc(100_000));
    await once(fast, 'data');
    pass(14);
    const early = await Promise.race([slowly?.catch(() => 'refused'), setImmediate('still arriving')]);
    assert.equal(early, 'still arriving');
    pass(6);
    const error: unknown = await slowly?.catch((caught: unknown) => caught);
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'request_timeout');
    fast.push(null);
    assert.equal((await fastly)?.bytes.length, 100_000);
    reader.stop();
  });
});
