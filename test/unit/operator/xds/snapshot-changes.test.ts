/** Changes between snapshots: what differs, and what is urgent. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { typeUrlOf } from '#snapshot/resources.ts';
import type { Account, Key } from '#snapshot/snapshot.gen.ts';
import { ResourceCache } from '../../../../operator/xds/resource-cache.ts';
import { createSnapshotChanges } from '../../../../operator/xds/snapshot-changes.ts';
import { accountOf, directGroup, hashOf, routeEntry, snapshotOf } from '../../contract/snapshot/objects.ts';
import { numberedKey } from '../../dataplane/xds/support.ts';

describe('changes', () => {
  const KEYS = typeUrlOf('keys');

  function changesOf(before: readonly Key[], after: readonly Key[]): { names: string[]; urgent: string[] } {
    const take = createSnapshotChanges(new ResourceCache());
    take(snapshotOf({ keys: before }));
    const found = take(snapshotOf({ keys: after })).find(({ typeUrl }) => typeUrl === KEYS);
    return { names: [...(found?.names ?? [])].sort(), urgent: [...(found?.urgent ?? [])].sort() };
  }

  const keys = [1, 2, 3, 4, 5].map((n) => numberedKey(n));
  const name = (n: number): string => `team-a/key-${n}`;

  it('are found anywhere in the list', () => {
    assert.deepEqual(
      changesOf(
        keys,
        keys.map((key) => ({ ...key })),
      ),
      { names: [], urgent: [] },
    );
    assert.deepEqual(changesOf(keys, [...keys.slice(1), numberedKey(6)]).names, [name(1), name(6)]);
    assert.deepEqual(
      changesOf(keys, []).names,
      keys.map((_key, index) => name(index + 1)),
    );
    assert.deepEqual(
      changesOf([], keys).names,
      keys.map((_key, index) => name(index + 1)),
    );
    assert.deepEqual(
      changesOf(keys, keys.with(0, numberedKey(1, { prefix: 'x' })).with(4, numberedKey(5, { prefix: 'x' }))).names,
      [name(1), name(5)],
    );
    assert.deepEqual(changesOf(keys, keys.toSpliced(2, 1)).names, [name(3)]);
  });

  const tighter: [string, Partial<Key>, Partial<Key>][] = [
    ['revoked', {}, { enabled: false }],
    ['refused', {}, { refusal: 'no group' }],
    ['expiring', {}, { expirationMs: 5n }],
    ['expiring sooner', { expirationMs: 9n }, { expirationMs: 5n }],
    ['limited', {}, { limitNanoUsd: 5n }],
    ['limited more', { limitNanoUsd: 9n }, { limitNanoUsd: 5n }],
    ['with another string', {}, { hashes: [{ sha256: hashOf(8) }] }],
    ['whose overlap ends', {}, { hashes: [{ sha256: hashOf(1), notAfterMs: 5n }] }],
    ['with fewer at a time', { maxConcurrency: 9 }, { maxConcurrency: 5 }],
    ['with a rate', {}, { rateLimits: { requestsPerMinute: 5 } }],
    [
      'with fewer input tokens',
      { rateLimits: { inputTokensPerMinute: 9 } },
      { rateLimits: { inputTokensPerMinute: 5 } },
    ],
    [
      'with fewer output tokens',
      { rateLimits: { requestsPerMinute: 5, outputTokensPerMinute: 9 } },
      { rateLimits: { requestsPerMinute: 5, outputTokensPerMinute: 5 } },
    ],
  ];
  for (const [words, before, after] of tighter) {
    it(`are urgent for a key that is ${words}, and not the other way round`, () => {
      assert.deepEqual(changesOf([numberedKey(1, before)], [numberedKey(1, after)]).urgent, [name(1)]);
      const loosened = changesOf([numberedKey(1, after)], [numberedKey(1, before)]);
      assert.deepEqual(loosened.urgent, words === 'with another string' ? [name(1)] : []);
      assert.deepEqual(loosened.names, [name(1)]);
    });
  }

  it('are urgent for a deleted key, and for an account with less credit or a lower limit', () => {
    assert.deepEqual(changesOf(keys, keys.slice(1)).urgent, [name(1)]);
    const take = createSnapshotChanges(new ResourceCache());
    take(snapshotOf({ accounts: [accountOf('a', 5n), accountOf('b', 5n)] }));
    const changes = take(snapshotOf({ accounts: [accountOf('a', 4n), accountOf('b', 6n)] }));
    assert.deepEqual(
      changes.flatMap(({ urgent }) => [...urgent]),
      ['a/a'],
    );
    const limited = (requestsPerMinute: number): Account => ({
      ...accountOf('a', 4n),
      rateLimits: { requestsPerMinute },
    });
    const urgent = (account: Account): string[] =>
      take(snapshotOf({ accounts: [account, accountOf('b', 6n)] })).flatMap((change) => [...change.urgent]);
    assert.deepEqual([urgent(limited(9)), urgent(limited(5)), urgent(limited(9))], [['a/a'], ['a/a'], []]);
  });

  it('end with a checkpoint, if there are any', () => {
    const take = createSnapshotChanges(new ResourceCache());
    const count = (changes: ReturnType<typeof take>): number =>
      changes.reduce((sum, { names }) => sum + names.length, 0);
    assert.equal(count(take(snapshotOf({ groups: [directGroup('a', [routeEntry('r')])] }))), 2);
    assert.equal(count(take(snapshotOf({ groups: [directGroup('a', [routeEntry('r')])] }))), 0);
    assert.equal(count(take(snapshotOf())), 2);
  });
});
