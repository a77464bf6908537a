/** Budgets of writes: a namespace that uses up its share leaves the rest to the others. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createSharedBudget } from '../../../../operator/status/write-budget.ts';

test('one namespace gets a share only', () => {
  const budget = createSharedBudget({ perSecond: 10, burst: 100 }, { perSecond: 2.5, burst: 25 });
  const taken = (namespace: string, tries: number, nowMs: number): number =>
    Array.from({ length: tries }, () => budget.take(namespace, nowMs)).filter(Boolean).length;
  assert.equal(taken('team-a', 2000, 0), 25);
  assert.equal(taken('team-b', 10, 0), 10);
  assert.equal(taken('team-a', 2000, 2000), 5);
  assert.equal(taken('team-a', 2000, 600_000), 25, 'a share is whole again after a while');
});
