/** Offsets are found again by any ids, also where several ids have the same number. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CallOffsets } from '#ledger/call-offsets.ts';

test('like a map, for any ids', () => {
  // few characters and beginnings of any length: many ids have the same end, and so the same number
  const id = fc.tuple(fc.string({ maxLength: 4 }), fc.constantFrom('', 'x', '0123456789012345678901234567890')).map((parts) => parts.join(''));
  fc.assert(fc.property(fc.uniqueArray(id, { maxLength: 200 }), fc.array(id), fc.nat(300), (ids, others, expected) => {
    const offsets = new CallOffsets(expected);
    for (const [offset, callId] of ids.entries()) offsets.add(callId, offset);
    assert.equal(offsets.size, ids.length);
    for (const callId of [...ids, ...others]) {
      const expectedAt = ids.indexOf(callId);
      assert.equal(offsets.find(callId, (offset) => ids[offset] === callId), expectedAt < 0 ? undefined : expectedAt);
    }
  }));
});

test('tens of thousands of them, and hardly any look for nothing', () => {
  const offsets = new CallOffsets();
  const ids = Array.from({ length: 50_000 }, (_none, n) => `req_${Math.imul(n + 1, 0x9e3779b1).toString(16).padStart(32, '0')}`);
  for (const [offset, id] of ids.entries()) offsets.add(id, offset);
  let looks = 0;
  for (const [offset, id] of ids.entries()) {
    assert.equal(offsets.find(id, (at) => {
      looks++;
      return ids[at] === id;
    }), offset);
  }
  assert.ok(looks < ids.length * 1.01, `${looks} looks`);
  assert.equal(offsets.find('req_none', () => assert.fail('looked')), undefined);
});
