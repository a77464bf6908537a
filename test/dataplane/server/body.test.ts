/** Request bodies: whole and exact, however they come, and within the limits of one and of all. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../../dataplane/errors.ts';
import type { RequestBody } from '../../../dataplane/pipeline/request-body.ts';
import { bodyOf, createBodyReader, LARGE_BODY_BYTES } from '../../../dataplane/server/body.ts';
import type { BodyReader } from '../../../dataplane/server/body.ts';

/** A request whose body comes in these pieces; `declared`: its content-length. */
function message(pieces: readonly Uint8Array[], declared?: number): IncomingMessage {
  const stream = Readable.from(pieces, { objectMode: true });
  return Object.assign(stream, { headers: declared === undefined ? {} : { 'content-length': String(declared) } }) as unknown as IncomingMessage;
}

function read(reader: BodyReader, request: IncomingMessage): Promise<RequestBody> {
  return new Promise((resolve, reject) => {
    reader.read(request, (error, body) => (body ? resolve(body) : reject(error ?? new Error('neither'))));
  });
}

async function refusal(reader: BodyReader, request: IncomingMessage): Promise<GatewayError> {
  const error: unknown = await read(reader, request).catch((caught: unknown) => caught);
  assert.ok(error instanceof GatewayError);
  return error;
}

function zeros(bytes: number): IncomingMessage {
  return message([Buffer.alloc(bytes)], bytes);
}

const MIB = 2 ** 20;

describe('a body', () => {
  it('is the bytes that came, in pieces of any size, declared or not', async () => {
    const reader = createBodyReader({ maxBodyBytes: MIB, maxBufferedBytes: MIB });
    await fc.assert(fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 9000 }), { maxLength: 12 }), fc.boolean(), async (pieces, declare) => {
      const whole = Buffer.concat(pieces);
      const body = await read(reader, message(pieces.filter(({ length }) => length > 0).map((piece) => Buffer.from(piece)), declare ? whole.length : undefined));
      assert.deepEqual(body.bytes, whole);
      body.drop();
    }), { numRuns: 60 });
    assert.equal(reader.crowded, false);
  });

  it('that comes in one piece of its own is not copied, and counts until it is dropped', async () => {
    const reader = createBodyReader({ maxBodyBytes: 1000, maxBufferedBytes: 1000 });
    const bytes = Buffer.from(new Uint8Array(600).buffer);
    const body = await read(reader, message([bytes], 600));
    assert.equal(body.bytes.buffer, bytes.buffer);
    assert.equal(reader.crowded, true);
    assert.equal((await refusal(reader, zeros(600))).code, 'too_busy');
    body.drop();
    assert.equal((await read(reader, zeros(1000))).bytes.length, 1000);
  });

  it('may have the limit and not a byte more', async () => {
    const reader = createBodyReader({ maxBodyBytes: 1000, maxBufferedBytes: 10_000 });
    assert.equal((await read(reader, zeros(1000))).bytes.length, 1000);
    assert.equal((await refusal(reader, zeros(1001))).code, 'request_too_large');
    assert.equal((await refusal(reader, message([Buffer.alloc(600), Buffer.alloc(401)]))).code, 'request_too_large');
  });

  it('that breaks off is refused, and gives its room back', async () => {
    const reader = createBodyReader({ maxBodyBytes: 1000, maxBufferedBytes: 1000 });
    for (let round = 0; round < 5; round++) {
      const broken = message([Buffer.alloc(400)], 900);
      broken.once('data', () => broken.destroy(new Error('gone')));
      assert.equal((await refusal(reader, broken)).code, 'invalid_request');
    }
    assert.equal((await read(reader, zeros(1000))).bytes.length, 1000);
  });

  it('is parsed once, and neither bytes nor value stay when it is dropped', async () => {
    const reader = createBodyReader({ maxBodyBytes: 1000, maxBufferedBytes: 1000 });
    const body = await read(reader, message([Buffer.from('{"model":"x"}')]));
    assert.deepEqual(body.parse(), { model: 'x' });
    assert.equal(body.parse(), body.parse());
    body.drop();
    assert.equal(body.bytes.length, 0);
    assert.throws(() => body.parse(), /The body is empty/);
  });

  it('is empty where there is none', () => {
    assert.equal(bodyOf({}).bytes.length, 0);
    assert.equal(bodyOf({ body: 'text' }).bytes.length, 0);
  });
});

describe('all bodies together', () => {
  it('have a budget: beyond it a call is told to try again, until others are dropped', async () => {
    const reader = createBodyReader({ maxBodyBytes: MIB, maxBufferedBytes: 4 * MIB });
    const held = [await read(reader, zeros(MIB)), await read(reader, zeros(MIB)), await read(reader, zeros(MIB))];
    const refused = await refusal(reader, zeros(MIB));
    assert.equal(refused.code, 'too_busy');
    assert.equal(refused.details.retryAfterSeconds, 1);
    held[0]?.drop();
    held[0]?.drop(); // gives back once
    const again = await read(reader, zeros(MIB));
    assert.equal((await refusal(reader, zeros(MIB))).code, 'too_busy');
    for (const body of [...held, again]) body.drop();
  });

  it('keep a share for small ones', async () => {
    const reader = createBodyReader({ maxBodyBytes: MIB, maxBufferedBytes: 8 * MIB });
    for (let count = 0; count < 7; count++) await read(reader, zeros(MIB));
    assert.equal((await refusal(reader, zeros(LARGE_BODY_BYTES))).code, 'too_busy');
    for (let count = 0; count < 16; count++) await read(reader, zeros(LARGE_BODY_BYTES - 1));
    assert.equal((await refusal(reader, message(Array.from({ length: 200 }, () => Buffer.alloc(1000))))).code, 'too_busy');
  });

  it('are crowded from half of it on', async () => {
    const reader = createBodyReader({ maxBodyBytes: MIB, maxBufferedBytes: 4 * MIB });
    const bodies = [await read(reader, zeros(MIB)), await read(reader, zeros(MIB))];
    assert.equal(reader.crowded, false);
    const third = await read(reader, zeros(1));
    assert.equal(reader.crowded, true);
    for (const body of [...bodies, third]) body.drop();
    assert.equal(reader.crowded, false);
  });

  it('always have room for one of the largest', async () => {
    const reader = createBodyReader({ maxBodyBytes: 4 * MIB, maxBufferedBytes: MIB });
    const body = await read(reader, zeros(4 * MIB));
    body.drop();
    await read(reader, zeros(4 * MIB));
  });
});
