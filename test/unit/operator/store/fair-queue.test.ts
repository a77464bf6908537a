/** Namespaces take turns, however many objects one of them has. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { FairQueue, inTurns } from '../../../../operator/store/fair-queue.ts';
import { namespaceOfId } from '#objects/resources.ts';

test('a queue takes one object of each namespace in turn', () => {
  const queue = new FairQueue(namespaceOfId);
  for (let n = 0; n < 2000; n++) queue.add(`ApiKey team-a/${n}`);
  queue.add('ApiKey team-b/only');
  queue.add('ApiKey team-a/0');
  assert.equal(queue.size, 2001);
  const taken: string[] = [];
  for (const id of queue) {
    queue.delete(id);
    taken.push(id);
    if (id === 'ApiKey team-a/1') queue.add('ApiKey team-c/late');
    if (taken.length === 5) break;
  }
  assert.deepEqual(taken, [
    'ApiKey team-a/0',
    'ApiKey team-b/only',
    'ApiKey team-a/1',
    'ApiKey team-a/2',
    'ApiKey team-c/late',
  ]);
  assert.equal(queue.size, 1997);
  queue.clear();
  assert.deepEqual([queue.size, [...queue]], [0, []]);
});

test('a list in turns keeps the order within each namespace', () => {
  assert.deepEqual(
    inTurns(['a1', 'a2', 'a3', 'b1', 'c1', 'c2'], ([namespace = '']) => namespace),
    ['a1', 'b1', 'c1', 'a2', 'c2', 'a3'],
  );
});
