/** Edits of a state give the same result as compiling the whole. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import type { Key, Snapshot } from '#snapshot/snapshot.gen.ts';
import { compileEdit } from '../../../../dataplane/state/compile-edit.ts';
import { compile } from '../../../../dataplane/state/compile.ts';
import { accountOf, hashOf, keyOf, snapshotOf } from '../../contract/snapshot/objects.ts';

const keyChanges = fc.record({
  enabled: fc.boolean(),
  generation: fc.bigInt(1n, 9n),
  group: fc.constantFrom('a', 'b'),
  models: fc.option(fc.constantFrom({ names: ['x'] }, { names: ['x', 'y'] }), { nil: undefined }),
});
/** The keys, and the string of each: strings move from one key to another. */
const keys = fc
  .uniqueArray(fc.record({ n: fc.nat(7), hash: fc.nat(9), changes: keyChanges }), { selector: ({ n }) => n })
  .map((list) => {
    const taken = new Set<number>();
    return list
      .filter(({ hash }) => !taken.has(hash) && taken.add(hash))
      .map(({ n, hash, changes }) => keyOf(`k${n}`, { ...changes, hashes: [{ sha256: hashOf(hash) }] }));
  });
const accounts = fc
  .uniqueArray(fc.tuple(fc.constantFrom('t', 'u', 'v'), fc.bigInt(0n, 5n)), { selector: ([name]) => name })
  .map((list) => list.map(([name, credit]) => accountOf(name, credit)));
const snapshots = fc.record({ keys, accounts }).map((parts) => snapshotOf(parts));

function editsOf<M extends { readonly name: string }>(
  before: readonly M[],
  after: readonly M[],
): { before: M | undefined; after: M | undefined }[] {
  const names = new Set([...before, ...after].map(({ name }) => name));
  return [...names].map((name) => ({
    before: before.find((each) => each.name === name),
    after: after.find((each) => each.name === name),
  }));
}

function entries<V>(map: ReadonlyMap<string, V>): [string, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

describe('compileEdit', () => {
  it('returns what compile does, edit after edit', () => {
    fc.assert(
      fc.property(fc.array(snapshots, { minLength: 2, maxLength: 6 }), ([first, ...others]) => {
        let before: Snapshot = first ?? snapshotOf();
        let state = compile(before);
        for (const after of others) {
          state = compileEdit(state, {
            keys: editsOf(before.keys, after.keys),
            accounts: editsOf(before.accounts, after.accounts),
            offering: undefined,
          });
          const whole = compile(after);
          assert.deepEqual(entries(state.credentials), entries(whole.credentials));
          assert.deepEqual(entries(state.accounts), entries(whole.accounts));
          assert.equal(state.credentials.size, whole.credentials.size);
          before = after;
        }
      }),
    );
  });

  it('does not change the previous state', () => {
    const key: Key = keyOf('k', { hashes: [{ sha256: hashOf(1) }] });
    const state = compile(snapshotOf({ keys: [key] }));
    const edited = compileEdit(state, { keys: [{ before: key, after: undefined }], accounts: [], offering: undefined });
    assert.deepEqual([state.credentials.size, edited.credentials.size], [1, 0]);
    assert.deepEqual([state.credentials.has(hashOf(1)), edited.credentials.has(hashOf(1))], [true, false]);
  });
});
