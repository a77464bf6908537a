/** Keys found by a few characters of their hash are those of the map, whatever else was asked for before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RecentCredentials } from '../../../dataplane/state/recent-credentials.ts';
import type { Credential } from '../../../dataplane/state/state.ts';

/** Few places, so that many hashes have the same one. */
const hash = fc.tuple(fc.constantFrom('000', 'fff', '9a0'), fc.constantFrom('00', '0f', 'aa')).map(([place, rest]) => place + rest.padEnd(61, '7'));
// only its identity counts here
const credentials = fc.array(hash, { maxLength: 6 }).map((hashes) => new Map(hashes.map((each) => [each, {} as Credential])));

test('as the map has them, among unknown ones', () => {
  fc.assert(fc.property(fc.array(credentials, { minLength: 1, maxLength: 4 }), fc.array(fc.tuple(fc.nat(3), hash), { maxLength: 40 }), (maps, asked) => {
    const recents = maps.map((map) => new RecentCredentials(map));
    for (const [at, keyHash] of asked) assert.equal(recents[at % maps.length]?.find(keyHash), maps[at % maps.length]?.get(keyHash));
  }));
});

test('an unknown key does not push out a known one', () => {
  const known = `abc${'1'.repeat(61)}`;
  const credential = {} as Credential;
  let looks = 0;
  const map = new Map([[known, credential]]);
  const counted = new Proxy(map, { get: (target, name) => (keyHash: string) => {
    if (name === 'get') looks++;
    return target.get(keyHash);
  } });
  const recent = new RecentCredentials(counted);
  assert.equal(recent.find(known), credential);
  assert.equal(recent.find(`abc${'2'.repeat(61)}`), undefined);
  assert.equal(recent.find(known), credential);
  assert.equal(looks, 2);
});
