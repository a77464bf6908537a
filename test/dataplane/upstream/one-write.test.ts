/** A request's bytes are the same however they are written, and a usual request is one write. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { writeTogether } from '../../../dataplane/upstream/one-write.ts';

/** Like a socket: what waits together is written together. */
class Notes extends Writable {
  readonly writes: Buffer[] = [];

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    this.writes.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
    done();
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: () => void): void {
    this.writes.push(Buffer.concat(chunks.map(({ chunk, encoding }) => (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk))));
    done();
  }
}

test('any steps leave the same bytes as without', async () => {
  const text = fc.string({ maxLength: 40 }).map((word) => word.replaceAll(/[^\x20-\x7e]/g, '~'));
  const bytes = fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.constantFrom(new Uint8Array(20_000).fill(200), new Uint8Array(15 * 1024)));
  const step = fc.oneof(
    fc.constant({ does: 'cork' as const }), fc.constant({ does: 'uncork' as const }),
    fc.record({ does: fc.constant('head' as const), text }), fc.record({ does: fc.constant('text' as const), text }), fc.record({ does: fc.constant('bytes' as const), bytes }),
  );
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
    const written: Buffer[] = [];
    for (const notes of [new Notes(), writeTogether(new Notes())]) {
      for (const each of steps) {
        if (each.does === 'cork') notes.cork();
        else if (each.does === 'uncork') notes.uncork();
        else if (each.does === 'bytes') notes.write(Buffer.from(each.bytes));
        else if (each.does === 'head') notes.write(each.text, 'latin1');
        else notes.write(each.text);
      }
      // whatever is corked yet
      for (let left = 0; left <= steps.length; left++) notes.uncork();
      await new Promise((resolve) => { notes.end(resolve); });
      written.push(Buffer.concat(notes.writes));
    }
    assert.deepEqual(written[1], written[0]);
  }));
});

test('a head and a small body are one write, byte for byte, and a large body follows its head', () => {
  const notes = writeTogether(new Notes());
  const request = (body: Buffer): void => {
    notes.cork();
    notes.write('POST / HTTP/1.1\r\nx: \xe4\r\n\r\n', 'latin1');
    notes.write(body);
    notes.uncork();
  };
  const small = Buffer.from([0, 127, 128, 255, ...Buffer.from('ä语𝄞')]);
  request(small);
  assert.deepEqual(notes.writes.splice(0), [Buffer.concat([Buffer.from('POST / HTTP/1.1\r\nx: \xe4\r\n\r\n', 'latin1'), small])]);
  request(Buffer.alloc(20_000));
  assert.equal(Buffer.concat(notes.writes).length, 'POST / HTTP/1.1\r\nx: \xe4\r\n\r\n'.length + 20_000);
});
