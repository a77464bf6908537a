/** Behaves like a Map, and keeps no reference to removed entries. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { CallMap } from '../../../../dataplane/ledger/call-map.ts';

test('behaves like a Map', () => {
  // many ids have the same end, and so the same position
  const id = fc.tuple(fc.nat({ max: 40 }), fc.constantFrom('', '-0123456789abcdef')).map(([n, end]) => `${n}${end}`);
  const step = fc.record({ id, value: fc.nat(), does: fc.constantFrom('set', 'set', 'delete', 'get') });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const [map, model] = [new CallMap<number>(), new Map<string, number>()];
      for (const { id: callId, value, does } of steps) {
        if (does === 'set') {
          map.set(callId, value);
          model.set(callId, value);
        } else if (does === 'delete') {
          map.delete(callId);
          model.delete(callId);
        }
        assert.equal(map.get(callId), model.get(callId));
        assert.equal(map.size, model.size);
      }
      assert.deepEqual(new Map(map.entries()), model);
      assert.deepEqual(
        [...map.values()].toSorted((a, b) => a - b),
        [...model.values()].toSorted((a, b) => a - b),
      );
      for (const callId of model.keys()) map.delete(callId);
      assert.deepEqual([map.size, [...map.values()]], [0, []]);
    }),
  );
});

test('handles thousands of calls, also when some leave during an iteration', () => {
  const map = new CallMap<string>();
  const ids = Array.from({ length: 5000 }, (_none, n) => `req_${n.toString(16).padStart(32, '0')}`);
  for (const id of ids) map.set(id, id);
  assert.ok(ids.every((id) => map.get(id) === id));
  const seen = new Set<string>();
  for (const [id] of map.entries()) {
    seen.add(id);
    map.delete(id);
  }
  assert.deepEqual([seen.size, map.size], [5000, 0]);
});
