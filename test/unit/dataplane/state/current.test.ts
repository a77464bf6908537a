import assert from 'node:assert/strict';
import { test } from 'vitest';
import { compile } from '../../../../dataplane/state/compile.ts';
import { createCurrentState } from '../../../../dataplane/state/current.ts';
import type { Credential, State } from '../../../../dataplane/state/state.ts';
import { completeSnapshot } from '../../contract/snapshot/objects.ts';

test('starts empty, and is replaced as a whole', () => {
  const current = createCurrentState();
  assert.equal(current.generation, 0);
  assert.equal(current.get().credentials.size, 0);
  for (const [index, state] of [compile(completeSnapshot()), compile(completeSnapshot())].entries()) {
    current.swap(state);
    assert.equal(current.get(), state);
    assert.equal(current.generation, index + 1);
  }
});

test('a key has the access of the state in force', () => {
  const current = createCurrentState();
  const [keyHash, other] = ['abc'.padEnd(64, '1'), 'abc'.padEnd(64, '2')];
  const opening = (...hashes: string[]): State => ({
    ...compile(completeSnapshot()),
    credentials: new Map(hashes.map((hash) => [hash, {} as Credential])),
  });
  assert.equal(current.credential(keyHash), undefined);
  for (const state of [opening(keyHash, other), opening(keyHash), opening()]) {
    current.swap(state);
    for (const hash of [keyHash, other, keyHash]) assert.equal(current.credential(hash), state.credentials.get(hash));
  }
});
