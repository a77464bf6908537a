/** The contract of limits in calendar windows: weeks, time zones, several of one owner, and edits of them. */
import assert from 'node:assert/strict';
import type { QuotaPeriod } from '#ledger/spending.ts';
import { brief, DAY_MS, holdRequest, origin, progress, settlement } from './calls.ts';
import type { AccountWindow, Spending } from './calls.ts';
import { HELD, SHORT } from './contract-scenario.ts';
import type { AddScenario, LedgerUnderTest } from './contract-scenario.ts';

const HOUR_MS = 3_600_000;
const BERLIN = 'Europe/Berlin';
const DAY_IN_TOKYO: AccountWindow = { amountNanoUsd: 100n, window: 'Day', timeZone: 'Asia/Tokyo' };
const WEEK_IN_BERLIN: AccountWindow = { amountNanoUsd: 100n, window: 'Week', timeZone: BERLIN };

function quota(period: QuotaPeriod, timeZone?: string): Partial<Spending> {
  return { keyLimitNanoUsd: 100n, period, ...(timeZone !== undefined && { timeZone }) };
}

/** `generation`: of the account. */
function limited(accountLimits: readonly AccountWindow[], generation = 1n): Partial<Spending> {
  return { accountLimits, accountGeneration: generation };
}

async function call(
  { ledger }: Pick<LedgerUnderTest, 'ledger'>,
  callId: string,
  {
    cost,
    limits = {},
    keyUid,
  }: { readonly cost: bigint; readonly limits?: Partial<Spending>; readonly keyUid?: string },
): Promise<void> {
  const request = holdRequest(callId, cost, { limits, ...(keyUid !== undefined && { origin: { keyUid } }) });
  assert.deepEqual(await ledger.admit(request), HELD(cost));
  await ledger.settle(settlement(callId, cost, { origin: request.origin }));
}

export function windowScenarios(scenario: AddScenario): void {
  scenario('a weekly quota begins again on Monday', async (subject, clock) => {
    const limits = quota('Weekly');
    clock.nowMs = Date.UTC(2026, 10, 16); // a Monday
    await call(subject, 'a', { cost: 60n, limits });
    clock.nowMs = Date.UTC(2026, 10, 23) - 1;
    await call(subject, 'b', { cost: 30n, limits });
    assert.deepEqual(brief(await subject.ledger.admit(holdRequest('c', 11n, { limits }))), SHORT('Key', 10n));
    clock.nowMs += 1;
    assert.deepEqual(await subject.ledger.admit(holdRequest('c', 100n, { limits })), HELD(100n));
    const { spentNanoUsd, heldNanoUsd, totalSpentNanoUsd, ...span } = await subject.ledger.readKey('key-1', 'Weekly');
    assert.deepEqual([spentNanoUsd, heldNanoUsd, totalSpentNanoUsd], [0n, 100n, 90n]);
    const [periodStartMs, resetsMs] = [Date.UTC(2026, 10, 23), Date.UTC(2026, 10, 30)];
    assert.deepEqual([span.periodStartMs, span.resetsMs], [periodStartMs, resetsMs]);
  });

  scenario('a refusal says what was spent in the window that the call counts in', async (subject, clock) => {
    const { ledger } = subject;
    const limits = { ...quota('Daily', BERLIN), ...limited([WEEK_IN_BERLIN, { amountNanoUsd: 90n, window: 'Day' }]) };
    const sundayMs = Date.UTC(2026, 10, 15);
    // midnight in Berlin is an hour earlier
    const [mondayMs, tuesdayMs] = [sundayMs + 23 * HOUR_MS, sundayMs + 47 * HOUR_MS];
    const refusal = async (callId: string, amount: bigint) => {
      const result = await ledger.admit(holdRequest(callId, amount, { limits, minimum: amount }));
      if (result.outcome !== 'Short') return result.outcome;
      const { limit, spentNanoUsd, span, availableNanoUsd } = result;
      return [limit.scope, limit.window, spentNanoUsd, span?.startMs, span?.endMs, availableNanoUsd];
    };
    clock.nowMs = mondayMs - 1;
    await call(subject, 'a', { cost: 40n, limits });
    await ledger.admit(holdRequest('running', 10n, { limits }));
    const sunday = [sundayMs, sundayMs + DAY_MS];
    assert.deepEqual(await refusal('b', 95n), ['Account', 'Day', 40n, ...sunday, 40n]);
    // Monday in Berlin, and still Sunday in UTC
    clock.nowMs = mondayMs;
    await call(subject, 'b', { cost: 30n, limits });
    assert.deepEqual(await refusal('c', 95n), ['Account', 'Day', 70n, ...sunday, 10n]);
    // Monday in both
    clock.nowMs = sundayMs + DAY_MS;
    assert.deepEqual(await refusal('c', 95n), ['Key', 'Day', 30n, mondayMs, tuesdayMs, 70n]);
    // a call that is held again is refused by the windows of its admission, with their figures
    assert.deepEqual(await refusal('running', 95n), ['Account', 'Day', 70n, ...sunday, 20n]);
  });

  scenario('a refusal in total has no window', async ({ ledger }) => {
    const result = await ledger.admit(holdRequest('a', 2_000_000n, { minimum: 2_000_000n }));
    assert.ok(result.outcome === 'Short');
    assert.deepEqual([result.limit.scope, result.spentNanoUsd, 'span' in result], ['Account', 0n, false]);
  });

  scenario(
    'a day in a time zone begins at its midnight, and has 25 hours where clocks are set back',
    async (subject, clock) => {
      const { ledger } = subject;
      const limits = quota('Daily', BERLIN);
      const midnightMs = Date.UTC(2026, 9, 24, 22);
      clock.nowMs = midnightMs - 1;
      await call(subject, 'before', { cost: 100n, limits });
      clock.nowMs += 1;
      await call(subject, 'a', { cost: 40n, limits });
      clock.nowMs = midnightMs + 25 * HOUR_MS - 1;
      await call(subject, 'b', { cost: 50n, limits });
      assert.deepEqual(brief(await ledger.admit(holdRequest('c', 11n, { limits }))), SHORT('Key', 10n));
      const today = await ledger.readKey('key-1', { period: 'Daily', timeZone: BERLIN });
      assert.deepEqual([today.periodStartMs, today.resetsMs], [midnightMs, midnightMs + 25 * HOUR_MS]);
      assert.equal(today.spentNanoUsd, 90n);
      clock.nowMs += 1;
      assert.deepEqual(await ledger.admit(holdRequest('c', 100n, { limits })), HELD(100n));
    },
  );

  scenario('a day in a time zone has 23 hours where clocks are put forward', async (subject, clock) => {
    const limits = quota('Daily', 'America/New_York');
    const midnightMs = Date.UTC(2026, 2, 8, 5);
    clock.nowMs = midnightMs;
    await call(subject, 'a', { cost: 100n, limits });
    clock.nowMs = midnightMs + 23 * HOUR_MS - 1;
    assert.deepEqual(brief(await subject.ledger.admit(holdRequest('b', 1n, { limits }))), SHORT('Key', 0n));
    clock.nowMs += 1;
    await call(subject, 'b', { cost: 100n, limits });
  });

  scenario('an account counts every call in all of its windows, and the tightest refuses', async (subject, clock) => {
    const { ledger } = subject;
    const limits = limited([
      { amountNanoUsd: 50n, window: 'Day' },
      WEEK_IN_BERLIN,
      { amountNanoUsd: 300n, window: 'Total' },
    ]);
    const admit = async (callId: string, amount: bigint) =>
      brief(await ledger.admit(holdRequest(callId, amount, { limits, minimum: amount })));
    await call(subject, 'a', { cost: 30n, limits, keyUid: 'key-1' });
    await call(subject, 'b', { cost: 10n, limits, keyUid: 'key-2' });
    assert.deepEqual(await admit('c', 11n), SHORT('Account Day UTC', 10n));
    clock.nowMs += DAY_MS;
    await call(subject, 'c', { cost: 50n, limits });
    clock.nowMs += DAY_MS;
    assert.deepEqual(await admit('d', 11n), SHORT('Account Week Europe/Berlin', 10n));
    clock.nowMs += DAY_MS;
    assert.deepEqual(await admit('d', 50n), HELD(50n));
    const windows = [
      { kind: 'Day', timeZone: 'UTC' },
      { kind: 'Week', timeZone: BERLIN },
      { kind: 'Month', timeZone: 'UTC' },
    ] as const;
    const { windows: spent = [], ...total } = await ledger.readAccount('team-a/team-a', windows);
    assert.deepEqual(total, { spentNanoUsd: 90n, heldNanoUsd: 50n });
    assert.deepEqual(
      spent.map(({ spentNanoUsd, heldNanoUsd }) => [spentNanoUsd, heldNanoUsd]),
      [
        [0n, 50n],
        [0n, 50n],
        [90n, 50n],
      ],
    );
    assert.equal(spent[1]?.startMs, Date.UTC(2026, 10, 22, 23));
  });

  scenario(
    'a call stays in the windows of its admission, with its hold, its cost and its overshoot',
    async (subject, clock) => {
      const { ledger } = subject;
      const limits = limited([WEEK_IN_BERLIN]);
      clock.nowMs = Date.UTC(2026, 10, 22, 22, 59);
      await call(subject, 'early', { cost: 30n, limits });
      await ledger.admit(holdRequest('across', 60n, { limits }));
      clock.nowMs += 60_000;
      assert.deepEqual(await ledger.admit(holdRequest('next', 100n, { limits })), HELD(100n));
      // a second hold stays in the week of the first
      assert.deepEqual(
        brief(await ledger.admit(holdRequest('across', 71n, { limits }))),
        SHORT('Account Week Europe/Berlin', 70n),
      );
      const { record } = await ledger.settle(settlement('across', 75n));
      assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd], [70n, 5n]);
      const { windows: [week] = [] } = await ledger.readAccount('team-a/team-a', [{ kind: 'Week', timeZone: BERLIN }]);
      assert.deepEqual([week?.spentNanoUsd, week?.heldNanoUsd], [0n, 100n]);
    },
  );

  scenario('a limit that is added counts what was spent in its window', async (subject, clock) => {
    const { ledger } = subject;
    clock.nowMs = Date.UTC(2026, 10, 15, 12); // Sunday
    await call(subject, 'a', { cost: 1_000n });
    clock.nowMs += DAY_MS;
    await call(subject, 'b', { cost: 20n });
    clock.nowMs += 3 * DAY_MS;
    await call(subject, 'c', { cost: 30n });
    await ledger.admit(holdRequest('running', 40n));
    const limits = limited([{ amountNanoUsd: 100n, window: 'Week' }], 2n);
    assert.deepEqual(brief(await ledger.admit(holdRequest('d', 11n, { limits }))), SHORT('Account Week UTC', 10n));
    // of the running call, its cost stays
    await ledger.settle(settlement('running', 25n));
    assert.deepEqual(brief(await ledger.admit(holdRequest('d', 26n, { limits }))), SHORT('Account Week UTC', 25n));
    const week = { ...quota('Weekly'), ...limited([], 3n), keyGeneration: 2n };
    assert.deepEqual(brief(await ledger.admit(holdRequest('d', 26n, { limits: week }))), SHORT('Key', 25n));
  });

  scenario(
    'in another time zone, an added limit counts from the beginning of that day in UTC',
    async (subject, clock) => {
      const { ledger } = subject;
      clock.nowMs = Date.UTC(2026, 10, 21, 23);
      await call(subject, 'a', { cost: 1_000n });
      clock.nowMs = Date.UTC(2026, 10, 22, 1);
      // in Berlin, this is Sunday
      await call(subject, 'b', { cost: 20n });
      clock.nowMs = Date.UTC(2026, 10, 24, 12);
      await call(subject, 'c', { cost: 30n });
      const limits = limited([WEEK_IN_BERLIN], 2n);
      assert.deepEqual(
        brief(await ledger.admit(holdRequest('d', 51n, { limits }))),
        SHORT('Account Week Europe/Berlin', 50n),
      );
      clock.nowMs = Date.UTC(2026, 10, 29, 23);
      await call(subject, 'd', { cost: 100n, limits });
    },
  );

  scenario('a limit that was removed for a while counts what was spent without it', async (subject, clock) => {
    const { ledger } = subject;
    await call(subject, 'a', { cost: 10n, limits: limited([WEEK_IN_BERLIN]) });
    await call(subject, 'b', { cost: 20n, limits: limited([], 2n) });
    clock.nowMs += 3 * DAY_MS;
    await call(subject, 'c', { cost: 30n, limits: limited([], 2n) });
    const limits = limited([WEEK_IN_BERLIN], 3n);
    assert.deepEqual(
      brief(await ledger.admit(holdRequest('d', 71n, { limits }))),
      SHORT('Account Week Europe/Berlin', 70n),
    );
  });

  for (const [owner, windowed, plain] of [
    ['Account Day Asia/Tokyo', limited([DAY_IN_TOKYO], 1n), limited([], 2n)],
    ['Key', quota('Daily', 'Asia/Tokyo'), { keyGeneration: 2n }],
  ] as const) {
    scenario(
      `a limit whose window begins while it is removed counts from that day in UTC: ${owner}`,
      async (subject, clock) => {
        const again = { ...windowed, keyGeneration: 3n, accountGeneration: 3n };
        clock.nowMs = Date.UTC(2026, 10, 19, 16);
        await call(subject, 'a', { cost: 5n, limits: windowed });
        clock.nowMs = Date.UTC(2026, 10, 20, 9);
        await call(subject, 'b', { cost: 10n, limits: windowed });
        clock.nowMs = Date.UTC(2026, 10, 20, 14, 59);
        await call(subject, 'c', { cost: 20n, limits: plain });
        // midnight in Tokyo is at 15:00
        clock.nowMs = Date.UTC(2026, 10, 20, 15);
        await call(subject, 'd', { cost: 60n, limits: plain });
        clock.nowMs += 2 * HOUR_MS;
        const request = holdRequest('e', 11n, { limits: again });
        assert.deepEqual(brief(await subject.ledger.admit(request)), SHORT(owner, 10n));
        clock.nowMs += DAY_MS;
        await call(subject, 'f', { cost: 100n, limits: again });
      },
    );
  }

  scenario('a later limit bounds what a call of its window costs beyond its hold', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 60n));
    const limits = limited([WEEK_IN_BERLIN], 2n);
    await ledger.admit(holdRequest('b', 30n, { limits }));
    const { record } = await ledger.settle(settlement('a', 90n));
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd], [70n, 20n]);
  });

  scenario("a job's refund goes to the windows of its call", async ({ ledger }, clock) => {
    const limits = limited([WEEK_IN_BERLIN]);
    await ledger.admit(holdRequest('a', 80n, { limits }));
    await ledger.settle(settlement('a', 80n, { job: { jobId: 'job', pollMs: clock.nowMs } }));
    clock.nowMs += 3 * DAY_MS;
    await ledger.admit(holdRequest('b', 10n, { limits }));
    await ledger.finishJob({ jobId: 'job', origin: origin('a') }, 'Failed');
    const { windows: [week] = [], spentNanoUsd } = await ledger.readAccount('team-a/team-a', [
      { kind: 'Week', timeZone: BERLIN },
    ]);
    assert.deepEqual([spentNanoUsd, week?.spentNanoUsd, week?.heldNanoUsd], [0n, 0n, 10n]);
  });

  scenario(
    'the next process knows what was spent in windows, also by calls that it settles',
    async (subject, clock) => {
      const limits = { ...quota('Weekly', BERLIN), ...limited([WEEK_IN_BERLIN]) };
      await call(subject, 'a', { cost: 30n, limits });
      clock.nowMs += DAY_MS;
      await subject.ledger.admit(holdRequest('dead', 60n, { limits, progress: progress(25n) }));
      const { ledger } = await subject.crash();
      assert.deepEqual(brief(await ledger.admit(holdRequest('b', 46n, { limits }))), SHORT('Key', 45n));
      clock.nowMs += DAY_MS + 11 * HOUR_MS;
      assert.deepEqual(await ledger.admit(holdRequest('b', 100n, { limits })), HELD(100n));
    },
  );

  scenario('at most eight limits are told by which one refuses', async ({ ledger }) => {
    const zones = ['UTC', BERLIN, 'America/New_York', 'Asia/Tokyo', 'Asia/Kolkata', 'Africa/Lagos', 'Asia/Dubai'];
    const limits = limited([
      ...zones.map((timeZone) => ({ amountNanoUsd: 100n, window: 'Month' as const, timeZone })),
      { amountNanoUsd: 40n, window: 'Week', timeZone: 'Pacific/Auckland' },
    ]);
    assert.deepEqual(
      brief(await ledger.admit(holdRequest('a', 41n, { limits }))),
      SHORT('Account Week Pacific/Auckland', 40n),
    );
    const result = await ledger.admit(holdRequest('a', 41n, { limits, minimum: 1n }));
    assert.deepEqual(result, HELD(40n));
  });
}
