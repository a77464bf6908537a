/** Lines that are gathered as bytes: none is lost, and what was large is given back. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Lines } from '#ledger/valkey/lines.ts';

const MIB = 2 ** 20;
const roomOf = (taken: Uint8Array): number => taken.buffer.byteLength;

describe('lines', () => {
  it('come out as they were added, each time those since the last time', () => {
    fc.assert(fc.property(fc.array(fc.array(fc.string({ unit: 'grapheme', maxLength: 30_000 }), { maxLength: 6 }), { maxLength: 6 }), (turns) => {
      const lines = new Lines();
      for (const turn of turns) {
        for (const line of turn) lines.add(line);
        assert.equal(Buffer.from(lines.take()).toString(), turn.join(''));
      }
    }), { numRuns: 50 });
  });

  it('are untouched by what is added while they are written', () => {
    const lines = new Lines();
    lines.add('first');
    const writing = lines.take();
    lines.add('second');
    assert.equal(Buffer.from(writing).toString(), 'first');
  });

  it('give back the room of an unusual amount once it was written', () => {
    const lines = new Lines();
    lines.add('x'.repeat(4 * MIB));
    const large = lines.take();
    assert.ok(roomOf(large) > MIB);
    assert.equal(large.length, 4 * MIB);
    // each of the two is filled in its turn
    for (let turn = 0; turn < 4; turn++) {
      lines.add('y');
      assert.ok(roomOf(lines.take()) <= MIB, `turn ${turn}`);
    }
  });

  it('keep the room that is usual', () => {
    const lines = new Lines();
    const rooms = Array.from({ length: 6 }, () => {
      lines.add('x'.repeat(100_000));
      return lines.take().buffer;
    });
    assert.equal(new Set(rooms).size, 2);
  });
});
