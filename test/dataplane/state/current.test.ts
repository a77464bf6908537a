import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile } from '../../../dataplane/state/compile.ts';
import { createCurrentState } from '../../../dataplane/state/current.ts';
import type { Credential, State } from '../../../dataplane/state/state.ts';
import { completeSnapshot } from '../snapshot/objects.ts';

test('starts empty, is swapped whole, and tells its listeners', () => {
  const current = createCurrentState();
  assert.equal(current.generation, 0);
  assert.equal(current.get().credentials.size, 0);
  const told: State[] = [];
  const stop = current.onSwap((state) => told.push(state));
  const [first, second] = [compile(completeSnapshot()), compile(completeSnapshot())];
  current.swap(first);
  assert.equal(current.get(), first);
  assert.equal(current.generation, 1);
  stop();
  current.swap(second);
  assert.equal(current.get(), second);
  assert.equal(current.generation, 2);
  assert.deepEqual(told.length, 1);
  assert.equal(told[0], first);
});

test('a key opens what it opens in the state in force', () => {
  const current = createCurrentState();
  const [keyHash, other] = ['abc'.padEnd(64, '1'), 'abc'.padEnd(64, '2')];
  const opening = (...hashes: string[]): State => ({ ...compile(completeSnapshot()), credentials: new Map(hashes.map((hash) => [hash, {} as Credential])) });
  assert.equal(current.credential(keyHash), undefined);
  for (const state of [opening(keyHash, other), opening(keyHash), opening()]) {
    current.swap(state);
    for (const hash of [keyHash, other, keyHash]) assert.equal(current.credential(hash), state.credentials.get(hash));
  }
});
