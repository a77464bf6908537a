/** Which changes of a status have an Event. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { Condition } from '#crds/types.gen.ts';
import { transitionsOf } from '../../../../operator/status/transitions.ts';

const ready = (status: Condition['status'], reason: string): Condition => ({
  type: 'Ready',
  status,
  reason,
  message: `${reason}.`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const eventsOf = (before: readonly Condition[], now: readonly Condition[]): string[] =>
  transitionsOf({ conditions: before }, { conditions: now }).map(({ type, reason }) => `${type} ${reason}`);

describe('an Event', () => {
  for (const { what, before, now, events } of [
    { what: 'tells that an object works', before: [], now: ready('True', 'Ready'), events: ['Normal Ready'] },
    {
      what: 'tells that a quota is reached',
      before: [ready('True', 'Ready')],
      now: ready('False', 'LimitReached'),
      events: ['Warning LimitReached'],
    },
    {
      what: 'does not tell each key that its Account reached its limit',
      before: [ready('True', 'Ready')],
      now: ready('False', 'AccountLimitReached'),
      events: [],
    },
    {
      what: 'does not tell each key that its Account can pay again',
      before: [ready('False', 'AccountLimitReached')],
      now: ready('True', 'Ready'),
      events: [],
    },
    {
      what: 'tells what is wrong with a key after its Account reached its limit',
      before: [ready('False', 'AccountLimitReached')],
      now: ready('False', 'GroupNotFound'),
      events: ['Warning GroupNotFound'],
    },
  ])
    it(what, () => assert.deepEqual(eventsOf(before, [now]), events));

  it('warns of a condition that was not there', () => {
    const low = { ...ready('True', 'AboveThreshold'), type: 'LimitLow' };
    assert.deepEqual(eventsOf([], [low]), ['Warning LimitLow']);
    assert.deepEqual(eventsOf([low], [low]), []);
  });

  it('does not tell that the operator works on an object', () => {
    const progress = { ...ready('True', 'Pending'), type: 'Reconciling' };
    assert.deepEqual(eventsOf([], [progress, { ...progress, type: 'Stalled' }]), []);
  });
});
