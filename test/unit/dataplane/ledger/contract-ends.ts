/** The state after a process ends, in any way. */
import assert from 'node:assert/strict';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { brief, DAY_MS, holdRequest, NOON_MS, origin, progress, settlement } from './calls.ts';
import { SHORT } from './contract-scenario.ts';
import type { AddScenario } from './contract-scenario.ts';
import { NO_TOKENS_LOAD } from '../../../../dataplane/ledger/load.ts';

export function endScenarios(scenario: AddScenario): void {
  scenario('what was settled is there afterwards, its record and its answer too', async (subject, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await subject.ledger.admit(holdRequest('a', 60n, { limits }));
    const first = await subject.ledger.settle(settlement('a', 45n));
    const next = await subject.crash();
    const { ledger } = next;
    assert.deepEqual(await ledger.readUsage('key-1', 'a'), first.record);
    assert.equal(await ledger.readUsage('key-2', 'a'), undefined);
    assert.deepEqual(await ledger.settle(settlement('a', 1n)), first);
    assert.deepEqual(brief(await ledger.admit(holdRequest('b', 56n, { limits }))), SHORT('Key', 55n));
    assert.deepEqual((await ledger.readKey('key-1', 'Daily')).lastUsedMs, clock.nowMs);
  });

  scenario('what was running is billed at its last progress, once', async (subject, clock) => {
    await subject.ledger.admit(holdRequest('a', 60n, { limits: { keyLimitNanoUsd: 100n }, progress: progress(5n) }));
    await subject.ledger.admit(holdRequest('b', 30n, { limits: { keyLimitNanoUsd: 100n }, progress: progress(4n) }));
    clock.nowMs += 1_500;
    await subject.ledger.recordProgress(new Map([['a', progress(22n, { usageSource: 'Estimated' })]]));
    clock.nowMs += 60_000;
    const next = await (await subject.crash()).crash();
    const { ledger } = next;
    assert.deepEqual(await ledger.readUsage('key-1', 'a'), {
      ...origin('a'),
      ...progress(22n, { usageSource: 'Estimated' }),
      status: 'Abandoned',
      unbilledNanoUsd: 0n,
      durationMs: 1_500,
    });
    assert.equal((await ledger.readUsage('key-1', 'b'))?.costNanoUsd, 4n);
    const { spentNanoUsd, heldNanoUsd, lastUsedMs } = await ledger.readKey('key-1', 'Never');
    assert.deepEqual([spentNanoUsd, heldNanoUsd, lastUsedMs], [26n, 0n, NOON_MS]);
    assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
  });

  scenario('an abandoned call is billed beyond its hold only as far as both limits reach', async (subject) => {
    const limits = { keyLimitNanoUsd: 100n, accountCreditNanoUsd: 80n };
    await subject.ledger.admit(holdRequest('a', 50n, { limits, progress: progress(500n) }));
    const next = await subject.crash();
    const record = await next.ledger.readUsage('key-1', 'a');
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd], [80n, 420n]);
    assert.deepEqual(await next.ledger.readAccount('team-a/team-a'), { spentNanoUsd: 80n, heldNanoUsd: 0n });
  });

  scenario('a call that was running over midnight is billed on its own day', async (subject, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await subject.ledger.admit(holdRequest('across', 60n, { limits, progress: progress(40n) }));
    clock.nowMs += DAY_MS;
    await subject.ledger.admit(holdRequest('today', 100n, { limits, progress: progress(1n) }));
    const next = await subject.crash();
    assert.equal((await next.ledger.readKey('key-1', 'Daily')).spentNanoUsd, 1n);
    clock.nowMs -= DAY_MS;
    assert.equal((await next.ledger.readKey('key-1', 'Daily')).spentNanoUsd, 40n);
    assert.equal((await next.ledger.readKey('key-1', 'Monthly')).spentNanoUsd, 41n);
  });

  scenario('the day of a call is remembered for as long as the call runs', async (subject, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await subject.ledger.admit(holdRequest('early', 90n, { limits }));
    await subject.ledger.settle(settlement('early', 90n));
    await subject.ledger.admit(holdRequest('long', 3n, { limits, progress: progress(50n) }));
    for (let day = 1; day <= 5; day++) {
      clock.nowMs += DAY_MS;
      await subject.ledger.admit(holdRequest(`day-${day}`, 100n, { limits }));
      await subject.ledger.settle(settlement(`day-${day}`, 100n));
    }
    const next = await subject.crash();
    const record = await next.ledger.readUsage('key-1', 'long');
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd], [10n, 40n]);
  });

  scenario('a replaced hold is the one that counts afterwards', async (subject) => {
    await subject.ledger.admit(holdRequest('a', 50n, { limits: { keyLimitNanoUsd: 100n }, progress: progress(1n) }));
    await subject.ledger.admit(
      holdRequest('a', 70n, { limits: { keyLimitNanoUsd: 90n, keyGeneration: 2n }, progress: progress(95n) }),
    );
    const next = await subject.crash();
    const record = await next.ledger.readUsage('key-1', 'a');
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd], [90n, 5n]);
  });

  scenario('closing keeps everything, and takes nothing any more', async (subject) => {
    await subject.ledger.admit(holdRequest('a', 50n));
    const settled = subject.ledger.settle(settlement('a', 20n));
    const next = await subject.reopen();
    assert.equal((await settled).record.costNanoUsd, 20n);
    assert.equal((await next.ledger.readUsage('key-1', 'a'))?.costNanoUsd, 20n);
    await assert.rejects(subject.ledger.admit(holdRequest('b', 50n)), LedgerUnavailable);
    await assert.rejects(async () => subject.ledger.take('b', [], NO_TOKENS_LOAD), LedgerUnavailable);
    await assert.rejects(subject.ledger.settle(settlement('a', 20n)), LedgerUnavailable);
    await assert.rejects(subject.ledger.recordProgress(new Map()), LedgerUnavailable);
    await assert.rejects(subject.ledger.readKey('key-1', 'Never'), LedgerUnavailable);
  });
}
