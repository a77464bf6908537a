/** The contract of daily and monthly quotas. */
import assert from 'node:assert/strict';
import { brief, DAY_MS, holdRequest, settlement } from './calls.ts';
import { HELD, SHORT } from './contract-scenario.ts';
import type { AddScenario } from './contract-scenario.ts';

export function periodScenarios(scenario: AddScenario): void {
  scenario('a daily quota begins again at midnight UTC, totals and account go on', async ({ ledger }, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    clock.nowMs = Date.UTC(2026, 10, 20, 23, 59, 59, 999);
    await ledger.admit(holdRequest('a', 100n, { limits }));
    await ledger.settle(settlement('a', 100n));
    assert.deepEqual(brief(await ledger.admit(holdRequest('b', 1n, { limits }))), SHORT('Key', 0n));
    clock.nowMs += 1;
    assert.deepEqual(await ledger.admit(holdRequest('b', 100n, { limits })), HELD(100n));
    const { keySpentNanoUsd } = await ledger.settle(settlement('b', 60n));
    assert.equal(keySpentNanoUsd, 60n);
    assert.equal((await ledger.readKey('key-1', 'Daily')).totalSpentNanoUsd, 160n);
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 160n);
  });

  scenario('a monthly quota begins again with the month', async ({ ledger }, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Monthly' as const };
    await ledger.admit(holdRequest('a', 100n, { limits }));
    await ledger.settle(settlement('a', 90n));
    clock.nowMs = Date.UTC(2026, 10, 30, 23);
    assert.deepEqual(brief(await ledger.admit(holdRequest('b', 11n, { limits }))), SHORT('Key', 10n));
    clock.nowMs = Date.UTC(2026, 11, 1);
    assert.deepEqual(await ledger.admit(holdRequest('b', 100n, { limits })), HELD(100n));
  });

  scenario(
    'a call belongs to the period it was admitted in, with its hold, its cost and its overshoot',
    async ({ ledger }, clock) => {
      const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
      await ledger.admit(holdRequest('early', 30n, { limits }));
      await ledger.settle(settlement('early', 30n));
      await ledger.admit(holdRequest('across', 60n, { limits }));
      clock.nowMs += DAY_MS;
      assert.deepEqual(await ledger.admit(holdRequest('today', 100n, { limits })), HELD(100n));
      // 10 were free on the day before
      const { record, keySpentNanoUsd, keyRemainingNanoUsd } = await ledger.settle(settlement('across', 75n));
      assert.deepEqual(
        [record.costNanoUsd, record.unbilledNanoUsd, keySpentNanoUsd, keyRemainingNanoUsd],
        [70n, 5n, 100n, 0n],
      );
      const today = await ledger.readKey('key-1', 'Daily');
      assert.deepEqual([today.spentNanoUsd, today.heldNanoUsd, today.totalSpentNanoUsd], [0n, 100n, 100n]);
    },
  );

  scenario('a second hold after midnight stays in the day of the first', async ({ ledger }, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await ledger.admit(holdRequest('across', 60n, { limits }));
    clock.nowMs += DAY_MS;
    assert.deepEqual(brief(await ledger.admit(holdRequest('across', 101n, { limits }))), SHORT('Key', 100n));
    assert.deepEqual(await ledger.admit(holdRequest('across', 80n, { limits })), HELD(80n));
    assert.deepEqual(await ledger.admit(holdRequest('today', 100n, { limits })), HELD(100n));
  });

  scenario('another period is exact from the start', async ({ ledger }, clock) => {
    await ledger.admit(holdRequest('a', 30n));
    await ledger.settle(settlement('a', 30n));
    clock.nowMs += DAY_MS;
    await ledger.admit(holdRequest('b', 50n));
    await ledger.settle(settlement('b', 50n));
    const ask = (period: 'Daily' | 'Monthly' | 'Never') =>
      ledger.admit(holdRequest('c', 1_000n, { limits: { keyLimitNanoUsd: 100n, period } }));
    assert.deepEqual(brief(await ask('Daily')), SHORT('Key', 50n));
    assert.deepEqual(brief(await ask('Monthly')), SHORT('Key', 20n));
    assert.deepEqual(brief(await ask('Never')), SHORT('Key', 20n));
  });

  scenario('a clock that is set back finds its day again', async ({ ledger }, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await ledger.admit(holdRequest('a', 90n, { limits }));
    await ledger.settle(settlement('a', 90n));
    clock.nowMs += DAY_MS;
    await ledger.admit(holdRequest('b', 20n, { limits }));
    await ledger.settle(settlement('b', 20n));
    clock.nowMs -= DAY_MS;
    assert.deepEqual(brief(await ledger.admit(holdRequest('c', 11n, { limits }))), SHORT('Key', 10n));
    clock.nowMs += DAY_MS;
    assert.deepEqual(brief(await ledger.admit(holdRequest('c', 81n, { limits }))), SHORT('Key', 80n));
  });
}
