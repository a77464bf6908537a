/** A layered map is as a copied one would be. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LayeredMap } from '../../../dataplane/snapshot/layered-map.ts';

function entries<V>(map: ReadonlyMap<string, V>): [string, V][] {
  return [...map].sort(([a], [b]) => a < b ? -1 : 1);
}

describe('a layered map', () => {
  it('is as a copied one would be, beyond where it is copied', () => {
    let layered: ReadonlyMap<string, number> = new Map([['a', 1], ['b', 2]]);
    const plain = new Map(layered);
    for (let n = 0; n < 3000; n += 1) {
      const value = n % 3 === 0 ? undefined : n;
      layered = LayeredMap.of(layered, new Map([[`k${n % 1500}`, value]]));
      if (value === undefined) plain.delete(`k${n % 1500}`);
      else plain.set(`k${n % 1500}`, value);
    }
    assert.deepEqual(entries(layered), entries(plain));
    assert.deepEqual([layered.size, [...layered.keys()].length, [...layered.values()].length], [plain.size, plain.size, plain.size]);
    let sum = 0;
    for (const value of layered.values()) sum += value;
    let counted = 0;
    // oxlint-disable-next-line unicorn/no-array-for-each -- it is this very method that is tried
    layered.forEach((value) => { counted += value; });
    assert.equal(counted, sum);
  });

  it('differs from what it was made from, from its like and from any other in what a look at each entry finds', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd');
    const changes = fc.array(fc.tuple(key, fc.option(fc.nat(2), { nil: undefined })), { maxLength: 3 }).map((list) => new Map(list));
    const start = fc.dictionary(key, fc.nat(2)).map((values) => new Map(Object.entries(values)));
    fc.assert(fc.property(start, changes, changes, changes, (base, first, second, third) => {
      const one = LayeredMap.of(base, first);
      const maps = [base, one, LayeredMap.of(one, second), LayeredMap.of(base, third), new Map(one), LayeredMap.of(new Map(base), second)];
      for (const before of maps) {
        for (const now of maps) {
          const expected = ['a', 'b', 'c', 'd'].filter((name) => before.get(name) !== now.get(name));
          assert.deepEqual(LayeredMap.differences(before, now).toSorted(), expected);
        }
      }
    }));
  });

  it('looks only at changes where both were made from one map', () => {
    const base = new Map([['a', 1], ['b', 2]]);
    const [one, other] = [LayeredMap.of(base, new Map([['a', 3]])), LayeredMap.of(base, new Map([['c', 4]]))];
    base.keys = () => assert.fail('all keys are looked at');
    assert.deepEqual(LayeredMap.differences(one, other), ['a', 'c']);
    assert.deepEqual(LayeredMap.differences(base, one), ['a']);
  });
});
