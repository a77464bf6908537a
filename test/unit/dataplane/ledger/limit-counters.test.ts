import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { spanAt } from '#ledger/periods.ts';
import { countSlots, createLimitCounters, release, take } from '../../../../dataplane/ledger/limit-counters.ts';
import type { LimitCounters } from '../../../../dataplane/ledger/limit-counters.ts';
import type { CountLimit, TakeResult } from '../../../../dataplane/ledger/ledger.ts';
import { NO_TOKENS_LOAD, NOTHING_CONSUMED } from '../../../../dataplane/ledger/load.ts';
import { DAY_MS, slot } from './calls.ts';

const createSlots = createLimitCounters;
const takeSlots = (counters: LimitCounters, callId: string, limits: readonly CountLimit[]): TakeResult =>
  take(counters, callId, { limits, load: NO_TOKENS_LOAD, nowMs: 0 });
const releaseSlots = (counters: LimitCounters, callId: string, scopes?: readonly CountLimit['scope'][]): void =>
  release(counters, callId, { consumed: NOTHING_CONSUMED, scopes });

describe('periods', () => {
  test('start days and months at midnight UTC', () => {
    const lastMs = Date.UTC(2024, 2, 1) - 1;
    assert.deepEqual(spanAt('Day', lastMs), { startMs: Date.UTC(2024, 1, 29), endMs: Date.UTC(2024, 2, 1) });
    assert.deepEqual(spanAt('Month', lastMs), { startMs: Date.UTC(2024, 1, 1), endMs: Date.UTC(2024, 2, 1) });
    assert.deepEqual(spanAt('Month', lastMs + 1), { startMs: Date.UTC(2024, 2, 1), endMs: Date.UTC(2024, 3, 1) });
    assert.deepEqual(spanAt('Month', Date.UTC(2026, 11, 31, 23)), {
      startMs: Date.UTC(2026, 11, 1),
      endMs: Date.UTC(2027, 0, 1),
    });
  });

  test('contain every moment in exactly one day and one month', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 * 365 * DAY_MS }), (atMs) => {
        for (const kind of ['Day', 'Month'] as const) {
          const { startMs, endMs } = spanAt(kind, atMs);
          const name = (ms: number): string => new Date(ms).toISOString().slice(0, kind === 'Day' ? 10 : 7);
          assert.ok(startMs <= atMs && atMs < endMs);
          assert.deepEqual([name(startMs), name(endMs - 1)], [name(atMs), name(atMs)]);
          assert.notEqual(name(startMs - 1), name(atMs));
          assert.notEqual(name(endMs), name(atMs));
        }
      }),
    );
  });
});

test('slots agree with a model: never over a limit, all or none, none leaked', () => {
  const command = fc.record({
    call: fc.nat({ max: 8 }),
    take: fc.boolean(),
    scopes: fc.subarray(['Key', 'Group', 'Channel'] as const),
    limit: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const slots = createSlots();
      /** call/scope pairs in use */
      const owned = new Set<string>();
      const inUse = (scope: string): number => [...owned].filter((pair) => pair.endsWith(scope)).length;
      for (const { call, take, scopes, limit } of commands) {
        const callId = `call-${call}`;
        if (take) {
          const wanted = scopes.filter((scope) => !owned.has(`${callId}/${scope}`));
          const full = wanted.find((scope) => inUse(scope) >= limit);
          const result = takeSlots(
            slots,
            callId,
            scopes.map((scope) => slot(scope, 'one', limit)),
          );
          assert.deepEqual(result, full ? { outcome: 'Full', full: slot(full, 'one', limit) } : { outcome: 'Taken' });
          if (!full) for (const scope of scopes) owned.add(`${callId}/${scope}`);
        } else {
          releaseSlots(slots, callId, scopes);
          for (const scope of scopes) owned.delete(`${callId}/${scope}`);
        }
        assert.deepEqual(countSlots(slots), { Key: inUse('Key'), Group: inUse('Group'), Channel: inUse('Channel') });
      }
      for (let call = 0; call <= 8; call++) releaseSlots(slots, `call-${call}`);
      assert.deepEqual([slots.owned.size, countSlots(slots)], [0, { Key: 0, Group: 0, Channel: 0 }]);
      assert.ok([...slots.slots.values()].every(({ inUse }) => inUse === 0));
    }),
  );
});

test('unused slots are dropped, and used ones stay', () => {
  const slots = createSlots();
  takeSlots(slots, 'long', [slot('Key', 'kept', 1)]);
  for (let n = 0; n < 10_000; n++) {
    takeSlots(slots, 'short', [slot('Key', `key-${n}`, 1)]);
    releaseSlots(slots, 'short');
    assert.ok(slots.slots.size <= 1000, `${slots.slots.size} after ${n}`);
  }
  assert.equal(takeSlots(slots, 'other', [slot('Key', 'kept', 1)]).outcome, 'Full');
});

test('slots are counted for a call that takes the first while unused ones are dropped', () => {
  const first = [slot('Key', 'first', 1), slot('Group', 'first', 1), slot('Channel', 'first', 1)];
  for (let unused = 990; unused <= 1010; unused++) {
    const slots = createSlots();
    for (let n = 0; n < unused; n++) {
      takeSlots(slots, 'short', [slot('Key', `key-${n}`, 1)]);
      releaseSlots(slots, 'short');
    }
    assert.equal(takeSlots(slots, 'call', first).outcome, 'Taken');
    for (const limit of first)
      assert.deepEqual(takeSlots(slots, 'other', [limit]), { outcome: 'Full', full: limit }, `after ${unused}`);
    assert.deepEqual(countSlots(slots), { Key: 1, Group: 1, Channel: 1 });
  }
});
