import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile } from '../../../dataplane/state/compile.ts';
import { createCurrentState } from '../../../dataplane/state/current.ts';
import type { State } from '../../../dataplane/state/state.ts';
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
