/** What differs between two sorted lists. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { compareNamed, differences } from '#snapshot/sorted.ts';

const NAMES = ['a/a', 'a/b', 'a/c', 'b/a', 'b/b', 'c/a'];

interface Item {
  readonly namespace: string;
  readonly name: string;
  readonly version: number;
}

/** Items of one name and version are one object, as the unchanged objects of two snapshots are. */
const items = new Map(
  NAMES.flatMap((id) =>
    [1, 2].map((version): [string, Item] => {
      const [namespace = '', name = ''] = id.split('/');
      return [`${id} ${version}`, { namespace, name, version }];
    }),
  ),
);
const list = fc.dictionary(fc.constantFrom(...NAMES), fc.constantFrom(1, 2)).map((versions) =>
  Object.entries(versions)
    .map(([id, version]) => items.get(`${id} ${version}`)!)
    .sort(compareNamed),
);

test('differences are those of a comparison by name', () => {
  fc.assert(
    fc.property(list, list, (before, after) => {
      const find = (all: readonly Item[], id: string): Item | undefined =>
        all.find(({ namespace, name }) => `${namespace}/${name}` === id);
      const expected = NAMES.map((id) => [find(before, id), find(after, id)]).filter(([old, now]) => old !== now);
      assert.deepEqual(differences(before, after, compareNamed), expected);
    }),
    { numRuns: 500 },
  );
});
