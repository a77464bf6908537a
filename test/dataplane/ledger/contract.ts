/**
 * What every ledger promises, as tests: called with a way to open one. Nothing here knows how it is kept.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import type { Ledger } from '#ledger/ledger.ts';
import { DAY_MS, holdRequest, NOON_MS, origin, progress, settlement, slot, testClock } from './calls.ts';
import type { TestClock } from './calls.ts';

export interface LedgerUnderTest {
  readonly ledger: Ledger;
  /** The process dies without closing anything, and the next one opens what it has left (and reaps it). */
  crash(): Promise<LedgerUnderTest>;
  /** It is closed and opened again. */
  reopen(): Promise<LedgerUnderTest>;
  close(): Promise<void>;
}

export type OpenLedger = (clock: TestClock) => Promise<LedgerUnderTest>;

type Scenario = (subject: LedgerUnderTest, clock: TestClock) => Promise<LedgerUnderTest | undefined>;

/** Runs the suite on one kind of ledger. A scenario returns what is to be closed, where that is another one than it got. */
export function ledgerContract(name: string, open: OpenLedger): void {
  const scenario = (title: string, body: Scenario): void => {
    void test(title, async () => {
      const clock = testClock();
      const subject = await open(clock);
      let last = subject;
      try {
        last = await body(subject, clock) ?? subject;
      } finally {
        await last.close();
      }
    });
  };
  void describe(`${name}: holds`, () => holdScenarios(scenario));
  void describe(`${name}: settlements`, () => settleScenarios(scenario));
  void describe(`${name}: periods`, () => periodScenarios(scenario));
  void describe(`${name}: slots`, () => slotScenarios(scenario));
  void describe(`${name}: readers`, () => readerScenarios(scenario));
  void describe(`${name}: the end of a process`, () => endScenarios(scenario));
}

type AddScenario = (title: string, body: Scenario) => void;

const HELD = (heldNanoUsd: bigint) => ({ outcome: 'Held', heldNanoUsd });
const SHORT = (short: 'Key' | 'Account', availableNanoUsd: bigint) => ({ outcome: 'Short', short, availableNanoUsd });

function holdScenarios(scenario: AddScenario): void {
  scenario('up to the limit of the key, to the nano, and not beyond', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n };
    assert.deepEqual(await ledger.hold(holdRequest('a', 60n, { limits })), HELD(60n));
    assert.deepEqual(await ledger.hold(holdRequest('b', 41n, { limits })), SHORT('Key', 40n));
    assert.deepEqual(await ledger.hold(holdRequest('b', 40n, { limits })), HELD(40n));
    assert.deepEqual(await ledger.hold(holdRequest('c', 1n, { limits })), SHORT('Key', 0n));
    assert.equal(ledger.gauges().heldNanoUsd, 100n);
    return undefined;
  });

  scenario('up to the credit of the account, which keys share', async ({ ledger }) => {
    const limits = { accountCreditNanoUsd: 100n };
    assert.deepEqual(await ledger.hold(holdRequest('a', 60n, { limits })), HELD(60n));
    const other = { origin: { keyUid: 'key-2' }, limits };
    assert.deepEqual(await ledger.hold(holdRequest('b', 41n, other)), SHORT('Account', 40n));
    assert.deepEqual(await ledger.hold(holdRequest('b', 40n, other)), HELD(40n));
    assert.deepEqual(await ledger.hold(holdRequest('c', 1n, { origin: { account: 'team-b/team-b' }, limits })), HELD(1n));
    return undefined;
  });

  scenario('the tighter of the two is named', async ({ ledger }) => {
    const ask = (keyLimitNanoUsd: bigint, accountCreditNanoUsd: bigint) =>
      ledger.hold(holdRequest('a', 100n, { limits: { keyLimitNanoUsd, accountCreditNanoUsd } }));
    assert.deepEqual(await ask(20n, 30n), SHORT('Key', 20n));
    assert.deepEqual(await ask(30n, 20n), SHORT('Account', 20n));
    assert.deepEqual(await ask(30n, -20n), SHORT('Account', 0n));
    return undefined;
  });

  scenario('less than asked for is granted, but not less than the minimum', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 50n };
    assert.deepEqual(await ledger.hold(holdRequest('a', 80n, { limits, minimum: 51n })), SHORT('Key', 50n));
    assert.deepEqual(await ledger.hold(holdRequest('a', 80n, { limits, minimum: 50n })), HELD(50n));
    return undefined;
  });

  scenario('a free call needs no money, but no limit that is exceeded', async ({ ledger }) => {
    assert.deepEqual(await ledger.hold(holdRequest('a', 50n, { limits: { keyLimitNanoUsd: 50n } })), HELD(50n));
    assert.deepEqual(await ledger.hold(holdRequest('b', 0n, { limits: { keyLimitNanoUsd: 50n } })), HELD(0n));
    assert.deepEqual(await ledger.hold(holdRequest('c', 0n, { limits: { keyLimitNanoUsd: 49n, keyGeneration: 2n } })), SHORT('Key', 0n));
    return undefined;
  });

  scenario('a negative amount holds nothing', async ({ ledger }) => {
    assert.equal((await ledger.hold(holdRequest('a', -1n))).outcome, 'Short');
    assert.equal(ledger.gauges().heldNanoUsd, 0n);
    return undefined;
  });

  scenario('a refused call leaves nothing behind', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 60n, { limits: { keyLimitNanoUsd: 50n } }));
    assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
    assert.equal(await ledger.readUsage('key-1', 'a'), undefined);
    return undefined;
  });

  scenario('a second hold of a call replaces the first, both ways', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n, accountCreditNanoUsd: 100n };
    await ledger.hold(holdRequest('a', 60n, { limits }));
    assert.deepEqual(await ledger.hold(holdRequest('a', 90n, { limits })), HELD(90n));
    assert.deepEqual(await ledger.hold(holdRequest('b', 11n, { limits })), SHORT('Key', 10n));
    assert.deepEqual(await ledger.hold(holdRequest('a', 30n, { limits })), HELD(30n));
    assert.deepEqual(await ledger.hold(holdRequest('b', 70n, { limits })), HELD(70n));
    assert.deepEqual([ledger.gauges().holds, ledger.gauges().heldNanoUsd], [2, 100n]);
    return undefined;
  });

  scenario('a second hold that is refused leaves the first', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n };
    await ledger.hold(holdRequest('a', 60n, { limits }));
    assert.deepEqual(await ledger.hold(holdRequest('a', 101n, { limits })), SHORT('Key', 100n));
    assert.equal(ledger.gauges().heldNanoUsd, 60n);
    assert.equal((await ledger.settle(settlement('a', 60n))).record.unbilledNanoUsd, 0n);
    return undefined;
  });

  scenario('limits older than those already seen are refused, for key and account alike', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 1n, { limits: { keyGeneration: 3n, accountGeneration: 5n } }));
    assert.deepEqual(await ledger.hold(holdRequest('b', 1n, { limits: { keyGeneration: 2n, accountGeneration: 5n } })), { outcome: 'StaleLimits' });
    assert.deepEqual(await ledger.hold(holdRequest('b', 1n, { limits: { keyGeneration: 3n, accountGeneration: 4n } })), { outcome: 'StaleLimits' });
    assert.deepEqual(await ledger.hold(holdRequest('b', 1n, { limits: { keyGeneration: 3n, accountGeneration: 5n } })), HELD(1n));
    assert.deepEqual(await ledger.hold(holdRequest('c', 1n, { origin: { keyUid: 'key-2' }, limits: { keyGeneration: 1n, accountGeneration: 5n } })), HELD(1n));
    return undefined;
  });

  scenario('200 calls at once on a quota whose holds afford 20', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 20_000n };
    const ids = Array.from({ length: 200 }, (_, n) => `call-${n}`);
    const results = await Promise.all(ids.map((id) => ledger.hold(holdRequest(id, 1_000n, { limits }))));
    assert.deepEqual(results.map(({ outcome }) => outcome), ids.map((_, n) => (n < 20 ? 'Held' : 'Short')));
    await Promise.all(ids.slice(0, 20).map((id, n) => ledger.settle(settlement(id, n % 2 ? 1_000n : 400n))));
    const { spentNanoUsd, heldNanoUsd } = await ledger.readKey('key-1', 'Never');
    assert.deepEqual([spentNanoUsd, heldNanoUsd], [14_000n, 0n]);
    assert.deepEqual(await ledger.hold(holdRequest('next', 6_000n, { limits })), HELD(6_000n));
    return undefined;
  });

  scenario('another key cannot take over a call, nor a settled call begin again', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 10n));
    await assert.rejects(ledger.hold(holdRequest('a', 10n, { origin: { keyUid: 'key-2' } })), LedgerUnavailable);
    await ledger.settle(settlement('a', 10n));
    await assert.rejects(ledger.hold(holdRequest('a', 10n)), LedgerUnavailable);
    assert.equal(ledger.gauges().holds, 0);
    return undefined;
  });
}

function settleScenarios(scenario: AddScenario): void {
  scenario('the cost replaces the hold', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n };
    await ledger.hold(holdRequest('a', 80n, { limits }));
    const result = await ledger.settle(settlement('a', 30n));
    assert.deepEqual(result, {
      record: { ...origin('a'), ...progress(30n, { usageSource: 'Provider' }), status: 'Succeeded', unbilledNanoUsd: 0n, durationMs: 1234 },
      keySpentNanoUsd: 30n, keyRemainingNanoUsd: 70n,
    });
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 30n, heldNanoUsd: 0n });
    assert.deepEqual(await ledger.hold(holdRequest('b', 70n, { limits })), HELD(70n));
    return undefined;
  });

  scenario('a key without a limit has nothing remaining to tell', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 80n));
    const { keySpentNanoUsd, keyRemainingNanoUsd } = await ledger.settle(settlement('a', 30n));
    assert.deepEqual([keySpentNanoUsd, keyRemainingNanoUsd], [30n, null]);
    return undefined;
  });

  scenario('exactly once: a repetition is answered as the first was', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 80n, { limits: { keyLimitNanoUsd: 100n } }));
    const first = await ledger.settle(settlement('a', 30n));
    assert.deepEqual(await ledger.settle(settlement('a', 77n, { status: 'Failed' })), first);
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 30n, heldNanoUsd: 0n });
    return undefined;
  });

  scenario('repeated at once, it is applied once', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 80n));
    const results = await Promise.all([ledger.settle(settlement('a', 30n)), ledger.settle(settlement('a', 40n)), ledger.settle(settlement('a', 50n))]);
    assert.deepEqual(results.map(({ record }) => record.costNanoUsd), [30n, 30n, 30n]);
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 30n);
    return undefined;
  });

  scenario('what exceeds the hold is taken from what is free under both limits, the rest is unbilled', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n, accountCreditNanoUsd: 90n };
    await ledger.hold(holdRequest('a', 20n, { limits }));
    await ledger.hold(holdRequest('b', 30n, { limits }));
    // 40 are free in the account, 50 under the quota
    const { record, keySpentNanoUsd } = await ledger.settle(settlement('a', 75n));
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd, keySpentNanoUsd], [60n, 15n, 60n]);
    // nothing is free: what b exceeds its hold by is unbilled
    const second = await ledger.settle(settlement('b', 31n));
    assert.deepEqual([second.record.costNanoUsd, second.record.unbilledNanoUsd], [30n, 1n]);
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 90n, heldNanoUsd: 0n });
    return undefined;
  });

  scenario('a lowered limit lets calls end within their holds, and not beyond', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 50n, { limits: { keyLimitNanoUsd: 100n } }));
    await ledger.hold(holdRequest('b', 30n, { limits: { keyLimitNanoUsd: 100n } }));
    assert.deepEqual(await ledger.hold(holdRequest('c', 1n, { limits: { keyLimitNanoUsd: 10n, keyGeneration: 2n } })), SHORT('Key', 0n));
    const a = await ledger.settle(settlement('a', 55n));
    assert.deepEqual([a.record.costNanoUsd, a.record.unbilledNanoUsd], [50n, 5n]);
    const b = await ledger.settle(settlement('b', 30n));
    assert.deepEqual([b.record.costNanoUsd, b.keySpentNanoUsd, b.keyRemainingNanoUsd], [30n, 80n, 20n]);
    return undefined;
  });

  scenario('credit that was taken back is not billed into', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 50n, { limits: { accountCreditNanoUsd: 100n } }));
    assert.deepEqual(await ledger.hold(holdRequest('b', 1n, { limits: { accountCreditNanoUsd: -100n, accountGeneration: 2n } })), SHORT('Account', 0n));
    const { record } = await ledger.settle(settlement('a', 60n));
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd], [50n, 10n]);
    return undefined;
  });

  scenario('progress caps nothing: the settlement decides', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 50n, { limits: { keyLimitNanoUsd: 60n } }));
    await ledger.recordProgress(new Map([['a', progress(1_000n)], ['unknown', progress(5n)]]));
    assert.equal(ledger.gauges().heldNanoUsd, 50n);
    assert.equal((await ledger.settle(settlement('a', 20n))).record.costNanoUsd, 20n);
    return undefined;
  });

  scenario('a retry is recorded where it ended', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 50n));
    const moved = origin('a', { group: 'vip', channel: 'other/backup', catalog: 'model-gateway/other@7' });
    await ledger.settle(settlement('a', 20n, { origin: moved }));
    const record = await ledger.readUsage('key-1', 'a');
    assert.deepEqual([record?.group, record?.channel, record?.catalog], ['vip', 'other/backup', 'model-gateway/other@7']);
    return undefined;
  });

  scenario('a call that never held cannot be settled', async ({ ledger }) => {
    await assert.rejects(ledger.settle(settlement('nobody', 1n)), LedgerUnavailable);
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 0n);
    return undefined;
  });

  scenario('amounts beyond every number of JavaScript stay exact', async ({ ledger }) => {
    const huge = 9_000_000_000n * 10n ** 9n + 1n;
    const limits = { keyLimitNanoUsd: huge, accountCreditNanoUsd: huge };
    assert.deepEqual(await ledger.hold(holdRequest('a', huge - 3n, { limits })), HELD(huge - 3n));
    const { keySpentNanoUsd, keyRemainingNanoUsd, record } = await ledger.settle(settlement('a', 2n ** 80n));
    assert.deepEqual([keySpentNanoUsd, keyRemainingNanoUsd, record.costNanoUsd], [huge, 0n, huge]);
    assert.ok(record.unbilledNanoUsd > 0n);
    return undefined;
  });

  scenario('figures that are no counts do not stop a settlement', async ({ ledger }) => {
    await ledger.hold(holdRequest('a', 50n));
    const tokens = { input: Number.NaN, cached: -3, cacheWrite5m: 1.5, cacheWrite1h: Number.POSITIVE_INFINITY, output: 2 };
    const { record } = await ledger.settle(settlement('a', -1n, { durationMs: Number.NaN, progress: { costNanoUsd: -1n, tokens, usageSource: 'Provider' } }));
    assert.deepEqual([record.costNanoUsd, record.durationMs], [0n, 0]);
    assert.deepEqual(record.tokens, { input: 0, cached: 0, cacheWrite5m: 2, cacheWrite1h: Number.MAX_SAFE_INTEGER, output: 2 });
    return undefined;
  });
}

function periodScenarios(scenario: AddScenario): void {
  scenario('a daily quota begins again at midnight UTC, totals and account go on', async ({ ledger }, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    clock.nowMs = Date.UTC(2026, 10, 20, 23, 59, 59, 999);
    await ledger.hold(holdRequest('a', 100n, { limits }));
    await ledger.settle(settlement('a', 100n));
    assert.deepEqual(await ledger.hold(holdRequest('b', 1n, { limits })), SHORT('Key', 0n));
    clock.nowMs += 1;
    assert.deepEqual(await ledger.hold(holdRequest('b', 100n, { limits })), HELD(100n));
    const { keySpentNanoUsd } = await ledger.settle(settlement('b', 60n));
    assert.equal(keySpentNanoUsd, 60n);
    assert.equal((await ledger.readKey('key-1', 'Daily')).totalSpentNanoUsd, 160n);
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 160n);
    return undefined;
  });

  scenario('a monthly quota begins again with the month', async ({ ledger }, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Monthly' as const };
    await ledger.hold(holdRequest('a', 100n, { limits }));
    await ledger.settle(settlement('a', 90n));
    clock.nowMs = Date.UTC(2026, 10, 30, 23);
    assert.deepEqual(await ledger.hold(holdRequest('b', 11n, { limits })), SHORT('Key', 10n));
    clock.nowMs = Date.UTC(2026, 11, 1);
    assert.deepEqual(await ledger.hold(holdRequest('b', 100n, { limits })), HELD(100n));
    return undefined;
  });

  scenario('a call belongs to the period it was admitted in, with its hold, its cost and its overshoot', async ({ ledger }, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await ledger.hold(holdRequest('early', 30n, { limits }));
    await ledger.settle(settlement('early', 30n));
    await ledger.hold(holdRequest('across', 60n, { limits }));
    clock.nowMs += DAY_MS;
    assert.deepEqual(await ledger.hold(holdRequest('today', 100n, { limits })), HELD(100n));
    // 10 were free on the day before
    const { record, keySpentNanoUsd, keyRemainingNanoUsd } = await ledger.settle(settlement('across', 75n));
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd, keySpentNanoUsd, keyRemainingNanoUsd], [70n, 5n, 100n, 0n]);
    const today = await ledger.readKey('key-1', 'Daily');
    assert.deepEqual([today.spentNanoUsd, today.heldNanoUsd, today.totalSpentNanoUsd], [0n, 100n, 100n]);
    return undefined;
  });

  scenario('a second hold after midnight stays in the day of the first', async ({ ledger }, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await ledger.hold(holdRequest('across', 60n, { limits }));
    clock.nowMs += DAY_MS;
    assert.deepEqual(await ledger.hold(holdRequest('across', 101n, { limits })), SHORT('Key', 100n));
    assert.deepEqual(await ledger.hold(holdRequest('across', 80n, { limits })), HELD(80n));
    assert.deepEqual(await ledger.hold(holdRequest('today', 100n, { limits })), HELD(100n));
    return undefined;
  });

  scenario('another period is exact from the start', async ({ ledger }, clock) => {
    await ledger.hold(holdRequest('a', 30n));
    await ledger.settle(settlement('a', 30n));
    clock.nowMs += DAY_MS;
    await ledger.hold(holdRequest('b', 50n));
    await ledger.settle(settlement('b', 50n));
    const ask = (period: 'Daily' | 'Monthly' | 'Never') => ledger.hold(holdRequest('c', 1_000n, { limits: { keyLimitNanoUsd: 100n, period } }));
    assert.deepEqual(await ask('Daily'), SHORT('Key', 50n));
    assert.deepEqual(await ask('Monthly'), SHORT('Key', 20n));
    assert.deepEqual(await ask('Never'), SHORT('Key', 20n));
    return undefined;
  });

  scenario('a clock that is set back finds its day again', async ({ ledger }, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await ledger.hold(holdRequest('a', 90n, { limits }));
    await ledger.settle(settlement('a', 90n));
    clock.nowMs += DAY_MS;
    await ledger.hold(holdRequest('b', 20n, { limits }));
    await ledger.settle(settlement('b', 20n));
    clock.nowMs -= DAY_MS;
    assert.deepEqual(await ledger.hold(holdRequest('c', 11n, { limits })), SHORT('Key', 10n));
    clock.nowMs += DAY_MS;
    assert.deepEqual(await ledger.hold(holdRequest('c', 81n, { limits })), SHORT('Key', 80n));
    return undefined;
  });
}

function slotScenarios(scenario: AddScenario): void {
  scenario('all or none, up to the limit, and given back by call id', async ({ ledger }) => {
    const slots = [slot('Key', '1', 2), slot('Group', 'g', 2), slot('Channel', 'c', 1)];
    assert.deepEqual(await ledger.takeSlots('a', slots), { outcome: 'Taken' });
    assert.deepEqual(await ledger.takeSlots('b', slots), { outcome: 'Full', full: slots[2] });
    assert.deepEqual(ledger.gauges().slots, { Key: 1, Group: 1, Channel: 1 });
    ledger.releaseSlots('a', ['Channel']);
    assert.deepEqual(await ledger.takeSlots('b', slots), { outcome: 'Taken' });
    ledger.releaseSlots('a');
    ledger.releaseSlots('a');
    ledger.releaseSlots('unknown');
    assert.deepEqual(ledger.gauges().slots, { Key: 1, Group: 1, Channel: 1 });
    return undefined;
  });

  scenario('a call that takes a slot again has it once', async ({ ledger }) => {
    const slots = [slot('Key', '1', 1)];
    await ledger.takeSlots('a', slots);
    assert.deepEqual(await ledger.takeSlots('a', slots), { outcome: 'Taken' });
    assert.equal(ledger.gauges().slots.Key, 1);
    ledger.releaseSlots('a');
    assert.deepEqual(await ledger.takeSlots('b', slots), { outcome: 'Taken' });
    return undefined;
  });

  scenario('a settlement gives the call\'s slots back', async ({ ledger }) => {
    await ledger.takeSlots('a', [slot('Key', '1', 1), slot('Channel', 'c', 1)]);
    await ledger.hold(holdRequest('a', 1n));
    await ledger.settle(settlement('a', 1n));
    assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
    return undefined;
  });

  scenario('never one too many, whatever runs at once', async ({ ledger }) => {
    const results = await Promise.all(Array.from({ length: 200 }, (_, n) => ledger.takeSlots(`call-${n}`, [slot('Channel', 'c', 7)])));
    assert.equal(results.filter(({ outcome }) => outcome === 'Taken').length, 7);
    return undefined;
  });
}

function readerScenarios(scenario: AddScenario): void {
  scenario('nothing is known of a key or an account that never called', async ({ ledger }) => {
    const nothing = { spentNanoUsd: 0n, heldNanoUsd: 0n, totalSpentNanoUsd: 0n, lastUsedMs: null };
    assert.deepEqual(await ledger.readKey('key-9', 'Never'), { ...nothing, periodStartMs: null, resetsMs: null });
    assert.deepEqual(await ledger.readKey('key-9', 'Daily'), { ...nothing, periodStartMs: Date.UTC(2026, 10, 20), resetsMs: Date.UTC(2026, 10, 21) });
    assert.deepEqual(await ledger.readKey('key-9', 'Monthly'), { ...nothing, periodStartMs: Date.UTC(2026, 10, 1), resetsMs: Date.UTC(2026, 11, 1) });
    assert.deepEqual(await ledger.readAccount('nobody/nobody'), { spentNanoUsd: 0n, heldNanoUsd: 0n });
    return undefined;
  });

  scenario('spent and held of the period, of all time, and the last use', async ({ ledger }, clock) => {
    await ledger.hold(holdRequest('a', 30n));
    await ledger.settle(settlement('a', 25n));
    clock.nowMs += DAY_MS;
    await ledger.hold(holdRequest('b', 10n));
    assert.deepEqual(await ledger.readKey('key-1', 'Daily'), {
      periodStartMs: Date.UTC(2026, 10, 21), resetsMs: Date.UTC(2026, 10, 22), spentNanoUsd: 0n, heldNanoUsd: 10n,
      totalSpentNanoUsd: 25n, lastUsedMs: NOON_MS + DAY_MS,
    });
    assert.deepEqual(await ledger.readKey('key-1', 'Monthly'), {
      periodStartMs: Date.UTC(2026, 10, 1), resetsMs: Date.UTC(2026, 11, 1), spentNanoUsd: 25n, heldNanoUsd: 10n,
      totalSpentNanoUsd: 25n, lastUsedMs: NOON_MS + DAY_MS,
    });
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 25n, heldNanoUsd: 10n });
    clock.nowMs += DAY_MS;
    assert.deepEqual((await ledger.readKey('key-1', 'Daily')).heldNanoUsd, 0n);
    return undefined;
  });

  scenario('a running call\'s record is what a reaper would bill; it is its own key\'s only', async ({ ledger }, clock) => {
    await ledger.hold(holdRequest('a', 30n, { progress: progress(3n) }));
    clock.nowMs += 500;
    assert.deepEqual(await ledger.readUsage('key-1', 'a'), { ...origin('a'), ...progress(3n), status: 'Running', unbilledNanoUsd: 0n, durationMs: 500 });
    await ledger.recordProgress(new Map([['a', progress(7n)]]));
    assert.equal((await ledger.readUsage('key-1', 'a'))?.costNanoUsd, 7n);
    assert.equal(await ledger.readUsage('key-2', 'a'), undefined);
    await ledger.settle(settlement('a', 9n));
    assert.equal((await ledger.readUsage('key-1', 'a'))?.costNanoUsd, 9n);
    assert.equal(await ledger.readUsage('key-2', 'a'), undefined);
    assert.equal(await ledger.readUsage('key-1', 'b'), undefined);
    return undefined;
  });
}

function endScenarios(scenario: AddScenario): void {
  scenario('what was settled is there afterwards, its record and its answer too', async (subject, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await subject.ledger.hold(holdRequest('a', 60n, { limits }));
    const first = await subject.ledger.settle(settlement('a', 45n));
    const next = await subject.crash();
    const { ledger } = next;
    assert.deepEqual(await ledger.readUsage('key-1', 'a'), first.record);
    assert.equal(await ledger.readUsage('key-2', 'a'), undefined);
    assert.deepEqual(await ledger.settle(settlement('a', 1n)), first);
    assert.deepEqual(await ledger.hold(holdRequest('b', 56n, { limits })), SHORT('Key', 55n));
    assert.deepEqual((await ledger.readKey('key-1', 'Daily')).lastUsedMs, clock.nowMs);
    return next;
  });

  scenario('what was running is billed at its last progress, once', async (subject, clock) => {
    await subject.ledger.hold(holdRequest('a', 60n, { limits: { keyLimitNanoUsd: 100n }, progress: progress(5n) }));
    await subject.ledger.hold(holdRequest('b', 30n, { limits: { keyLimitNanoUsd: 100n }, progress: progress(4n) }));
    clock.nowMs += 1_500;
    await subject.ledger.recordProgress(new Map([['a', progress(22n, { usageSource: 'Estimated' })]]));
    clock.nowMs += 60_000;
    const next = await (await subject.crash()).crash();
    const { ledger } = next;
    assert.deepEqual(await ledger.readUsage('key-1', 'a'), {
      ...origin('a'), ...progress(22n, { usageSource: 'Estimated' }), status: 'Abandoned', unbilledNanoUsd: 0n, durationMs: 1_500,
    });
    assert.equal((await ledger.readUsage('key-1', 'b'))?.costNanoUsd, 4n);
    const { spentNanoUsd, heldNanoUsd, lastUsedMs } = await ledger.readKey('key-1', 'Never');
    assert.deepEqual([spentNanoUsd, heldNanoUsd, lastUsedMs], [26n, 0n, NOON_MS]);
    assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
    return next;
  });

  scenario('an abandoned call is billed beyond its hold only as far as both limits reach', async (subject) => {
    const limits = { keyLimitNanoUsd: 100n, accountCreditNanoUsd: 80n };
    await subject.ledger.hold(holdRequest('a', 50n, { limits, progress: progress(500n) }));
    const next = await subject.crash();
    const record = await next.ledger.readUsage('key-1', 'a');
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd], [80n, 420n]);
    assert.deepEqual(await next.ledger.readAccount('team-a/team-a'), { spentNanoUsd: 80n, heldNanoUsd: 0n });
    return next;
  });

  scenario('a call that was running over midnight is billed on its own day', async (subject, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await subject.ledger.hold(holdRequest('across', 60n, { limits, progress: progress(40n) }));
    clock.nowMs += DAY_MS;
    await subject.ledger.hold(holdRequest('today', 100n, { limits, progress: progress(1n) }));
    const next = await subject.crash();
    assert.equal((await next.ledger.readKey('key-1', 'Daily')).spentNanoUsd, 1n);
    clock.nowMs -= DAY_MS;
    assert.equal((await next.ledger.readKey('key-1', 'Daily')).spentNanoUsd, 40n);
    assert.equal((await next.ledger.readKey('key-1', 'Monthly')).spentNanoUsd, 41n);
    return next;
  });

  scenario('the day of a call is remembered for as long as the call runs', async (subject, clock) => {
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await subject.ledger.hold(holdRequest('early', 90n, { limits }));
    await subject.ledger.settle(settlement('early', 90n));
    await subject.ledger.hold(holdRequest('long', 3n, { limits, progress: progress(50n) }));
    for (let day = 1; day <= 5; day++) {
      clock.nowMs += DAY_MS;
      await subject.ledger.hold(holdRequest(`day-${day}`, 100n, { limits }));
      await subject.ledger.settle(settlement(`day-${day}`, 100n));
    }
    const next = await subject.crash();
    const record = await next.ledger.readUsage('key-1', 'long');
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd], [10n, 40n]);
    return next;
  });

  scenario('a replaced hold is the one that counts afterwards', async (subject) => {
    await subject.ledger.hold(holdRequest('a', 50n, { limits: { keyLimitNanoUsd: 100n }, progress: progress(1n) }));
    await subject.ledger.hold(holdRequest('a', 70n, { limits: { keyLimitNanoUsd: 90n, keyGeneration: 2n }, progress: progress(95n) }));
    const next = await subject.crash();
    const record = await next.ledger.readUsage('key-1', 'a');
    assert.deepEqual([record?.costNanoUsd, record?.unbilledNanoUsd], [90n, 5n]);
    return next;
  });

  scenario('closing keeps everything, and takes nothing any more', async (subject) => {
    await subject.ledger.hold(holdRequest('a', 50n));
    const settled = subject.ledger.settle(settlement('a', 20n));
    const next = await subject.reopen();
    assert.equal((await settled).record.costNanoUsd, 20n);
    assert.equal((await next.ledger.readUsage('key-1', 'a'))?.costNanoUsd, 20n);
    await assert.rejects(subject.ledger.hold(holdRequest('b', 50n)), LedgerUnavailable);
    await assert.rejects(subject.ledger.takeSlots('b', []), LedgerUnavailable);
    await assert.rejects(subject.ledger.settle(settlement('a', 20n)), LedgerUnavailable);
    await assert.rejects(subject.ledger.recordProgress(new Map()), LedgerUnavailable);
    await assert.rejects(subject.ledger.readKey('key-1', 'Never'), LedgerUnavailable);
    return next;
  });
}
