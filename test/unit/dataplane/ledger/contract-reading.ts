/** The contract of slots and readers. */
import assert from 'node:assert/strict';
import { DAY_MS, holdRequest, NOON_MS, origin, progress, settlement, slot } from './calls.ts';
import type { AddScenario } from './contract-scenario.ts';
import { NOTHING_CONSUMED, NO_TOKENS_LOAD } from '../../../../dataplane/ledger/load.ts';

export function slotScenarios(scenario: AddScenario): void {
  scenario('all or none, up to the limit, and given back by call id', async ({ ledger }) => {
    const slots = [slot('Key', '1', 2), slot('Group', 'g', 2), slot('Channel', 'c', 1)];
    assert.deepEqual(await ledger.take('a', slots, NO_TOKENS_LOAD), { outcome: 'Taken' });
    assert.deepEqual(await ledger.take('b', slots, NO_TOKENS_LOAD), { outcome: 'Full', full: slots[2] });
    assert.deepEqual(ledger.gauges().slots, { Key: 1, Group: 1, Channel: 1 });
    ledger.release('a', NOTHING_CONSUMED, ['Channel']);
    assert.deepEqual(await ledger.take('b', slots, NO_TOKENS_LOAD), { outcome: 'Taken' });
    ledger.release('a', NOTHING_CONSUMED);
    ledger.release('a', NOTHING_CONSUMED);
    ledger.release('unknown', NOTHING_CONSUMED);
    assert.deepEqual(ledger.gauges().slots, { Key: 1, Group: 1, Channel: 1 });
  });

  scenario('a call that takes a slot again has it once', async ({ ledger }) => {
    const slots = [slot('Key', '1', 1)];
    await ledger.take('a', slots, NO_TOKENS_LOAD);
    assert.deepEqual(await ledger.take('a', slots, NO_TOKENS_LOAD), { outcome: 'Taken' });
    assert.equal(ledger.gauges().slots.Key, 1);
    ledger.release('a', NOTHING_CONSUMED);
    assert.deepEqual(await ledger.take('b', slots, NO_TOKENS_LOAD), { outcome: 'Taken' });
  });

  scenario('a call may take another slot while it runs, beyond the threshold where it says so', async ({ ledger }) => {
    const [channel, key] = [slot('Channel', 'c', 1), slot('Key', '1', 1)];
    const [first, second] = ['a', 'b'] as const;
    for (const callId of [first, second])
      assert.deepEqual(await ledger.take(callId, [{ ...key, amount: Number.MAX_SAFE_INTEGER }], NO_TOKENS_LOAD), {
        outcome: 'Taken',
      });
    assert.deepEqual(await ledger.take(first, [channel], NO_TOKENS_LOAD), { outcome: 'Taken' });
    assert.deepEqual(ledger.gauges().slots, { Key: 2, Group: 0, Channel: 1 });
    ledger.release(first, NOTHING_CONSUMED);
    assert.deepEqual(await ledger.take('c', [key], NO_TOKENS_LOAD), { outcome: 'Full', full: key });
    ledger.release(second, NOTHING_CONSUMED);
    assert.deepEqual(await ledger.take('c', [key], NO_TOKENS_LOAD), { outcome: 'Taken' });
    ledger.release('c', NOTHING_CONSUMED);
  });
  scenario("a settlement gives the call's slots back", async ({ ledger }) => {
    await ledger.take('a', [slot('Key', '1', 1), slot('Channel', 'c', 1)], NO_TOKENS_LOAD);
    await ledger.admit(holdRequest('a', 1n));
    await ledger.settle(settlement('a', 1n));
    assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
  });

  scenario('never one too many, whatever runs at once', async ({ ledger }) => {
    const results = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => ledger.take(`call-${n}`, [slot('Channel', 'c', 7)], NO_TOKENS_LOAD)),
    );
    assert.equal(results.filter(({ outcome }) => outcome === 'Taken').length, 7);
  });
}

export function readerScenarios(scenario: AddScenario): void {
  scenario('nothing is known of a key or an account that never called', async ({ ledger }) => {
    const nothing = { spentNanoUsd: 0n, heldNanoUsd: 0n, totalSpentNanoUsd: 0n, lastUsedMs: null };
    assert.deepEqual(await ledger.readKey('key-9', 'Never'), { ...nothing, periodStartMs: null, resetsMs: null });
    assert.deepEqual(await ledger.readKey('key-9', 'Daily'), {
      ...nothing,
      periodStartMs: Date.UTC(2026, 10, 20),
      resetsMs: Date.UTC(2026, 10, 21),
    });
    assert.deepEqual(await ledger.readKey('key-9', 'Monthly'), {
      ...nothing,
      periodStartMs: Date.UTC(2026, 10, 1),
      resetsMs: Date.UTC(2026, 11, 1),
    });
    assert.deepEqual(await ledger.readAccount('nobody/nobody'), { spentNanoUsd: 0n, heldNanoUsd: 0n });
  });

  scenario('spent and held of the period, of all time, and the last use', async ({ ledger }, clock) => {
    await ledger.admit(holdRequest('a', 30n));
    await ledger.settle(settlement('a', 25n));
    clock.nowMs += DAY_MS;
    await ledger.admit(holdRequest('b', 10n));
    assert.deepEqual(await ledger.readKey('key-1', 'Daily'), {
      periodStartMs: Date.UTC(2026, 10, 21),
      resetsMs: Date.UTC(2026, 10, 22),
      spentNanoUsd: 0n,
      heldNanoUsd: 10n,
      totalSpentNanoUsd: 25n,
      lastUsedMs: NOON_MS + DAY_MS,
    });
    assert.deepEqual(await ledger.readKey('key-1', 'Monthly'), {
      periodStartMs: Date.UTC(2026, 10, 1),
      resetsMs: Date.UTC(2026, 11, 1),
      spentNanoUsd: 25n,
      heldNanoUsd: 10n,
      totalSpentNanoUsd: 25n,
      lastUsedMs: NOON_MS + DAY_MS,
    });
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 25n, heldNanoUsd: 10n });
    clock.nowMs += DAY_MS;
    assert.deepEqual((await ledger.readKey('key-1', 'Daily')).heldNanoUsd, 0n);
  });

  scenario(
    "a running call's record is what a reaper would bill; it is its own key's only",
    async ({ ledger }, clock) => {
      await ledger.admit(holdRequest('a', 30n, { progress: progress(3n) }));
      clock.nowMs += 500;
      assert.deepEqual(await ledger.readUsage('key-1', 'a'), {
        ...origin('a'),
        ...progress(3n),
        status: 'Running',
        unbilledNanoUsd: 0n,
        durationMs: 500,
      });
      await ledger.recordProgress(new Map([['a', progress(7n)]]));
      assert.equal((await ledger.readUsage('key-1', 'a'))?.costNanoUsd, 7n);
      assert.equal(await ledger.readUsage('key-2', 'a'), undefined);
      await ledger.settle(settlement('a', 9n));
      assert.equal((await ledger.readUsage('key-1', 'a'))?.costNanoUsd, 9n);
      assert.equal(await ledger.readUsage('key-2', 'a'), undefined);
      assert.equal(await ledger.readUsage('key-1', 'b'), undefined);
    },
  );
}
