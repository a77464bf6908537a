/** Keys found by a few characters of their hash are those of the map, whatever else was asked for before. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { compileKey } from '../../../dataplane/state/compile-keys.ts';
import { RecentCredentials } from '../../../dataplane/state/recent-credentials.ts';
import type { Credential } from '../../../dataplane/state/state.ts';
import { keyOf } from '../snapshot/objects.ts';

/** Few places, so that many hashes have the same one. */
const hash = fc.tuple(fc.constantFrom('000', 'fff', '9a0'), fc.constantFrom('00', '0f', 'aa')).map(([place, rest]) => place + rest.padEnd(61, '7'));
const credentials = fc.array(fc.tuple(hash, fc.nat(2)), { maxLength: 6 }).map((entries) => new Map(entries.map(([each, generation]) => [each, credentialOf({ uid: each, generation: BigInt(generation) })])));
/** Called often enough to be copied. */
const MANY = 12;
const KNOWN = `abc${'1'.repeat(61)}`;
const SAME_PLACE = `abc${'2'.repeat(61)}`;

function credentialOf(over: Parameters<typeof keyOf>[1] = {}): Credential {
  return { key: compileKey(keyOf('ci-bot', over), new Map()), notAfterMs: 7 };
}

test('as the map has them, one state after the other, among unknown ones', () => {
  fc.assert(fc.property(fc.array(fc.tuple(credentials, fc.array(fc.tuple(hash, fc.integer({ min: 1, max: MANY })), { maxLength: 12 })), { minLength: 1, maxLength: 4 }), (states) => {
    const recent = new RecentCredentials(new Map());
    for (const [map, asked] of states) {
      recent.follow(map);
      for (const [keyHash, times] of asked) for (let time = 0; time < times; time++) assert.deepEqual(recent.find(keyHash), map.get(keyHash));
    }
  }));
});

test('an unknown key does not push out a known one', () => {
  let looks = 0;
  const map = new Map([[KNOWN, credentialOf()]]);
  const counted = new Proxy(map, { get: (target, name) => (keyHash: string) => {
    if (name === 'get') looks++;
    return target.get(keyHash);
  } });
  const recent = new RecentCredentials(counted);
  assert.equal(recent.find(KNOWN), map.get(KNOWN));
  assert.equal(recent.find(SAME_PLACE), undefined);
  assert.equal(recent.find(KNOWN), map.get(KNOWN));
  assert.equal(looks, 2);
});

describe('a key that calls again and again', () => {
  const often = (recent: RecentCredentials, keyHash: string): Credential | undefined => {
    for (let time = 0; time < MANY; time++) recent.find(keyHash);
    return recent.find(keyHash);
  };

  test('is copied with all there is of it', () => {
    for (const over of [{}, { maxConcurrency: 3, limitNanoUsd: 5n, generation: -1n }, { limitNanoUsd: undefined, uid: '\ud800', name: 'ключ' }]) {
      const original = credentialOf(over);
      const copy = often(new RecentCredentials(new Map([[KNOWN, original]])), KNOWN);
      assert.notEqual(copy, original);
      assert.deepEqual(copy, original);
      assert.deepEqual(Object.keys(copy?.key ?? {}), Object.keys(original.key)); // one shape
    }
  });

  test('stays one copy while it is unchanged, and is another once it was edited', () => {
    const original = credentialOf();
    const recent = new RecentCredentials(new Map([[KNOWN, original]]));
    const copy = often(recent, KNOWN);
    recent.follow(new Map([[KNOWN, original], [SAME_PLACE, credentialOf()]]));
    assert.equal(recent.find(KNOWN), copy);
    const edited = credentialOf({ generation: 9n });
    recent.follow(new Map([[KNOWN, edited]]));
    assert.equal(recent.find(KNOWN), edited);
    recent.follow(new Map());
    assert.equal(recent.find(KNOWN), undefined);
  });

  test('is not copied where others have its place in turn', () => {
    const map = new Map([[KNOWN, credentialOf()], [SAME_PLACE, credentialOf()]]);
    const recent = new RecentCredentials(map);
    for (let time = 0; time < MANY; time++) for (const [keyHash, credential] of map) assert.equal(recent.find(keyHash), credential);
  });
});
