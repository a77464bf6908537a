/** The contract of holds and settlements. */
import assert from 'node:assert/strict';
import { spanAt } from '#ledger/periods.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import { brief, holdRequest, limits, moneyLimits, origin, progress, settlement } from './calls.ts';
import { HELD, SHORT } from './contract-scenario.ts';
import type { AddScenario } from './contract-scenario.ts';

export function holdScenarios(scenario: AddScenario): void {
  scenario('up to the limit of the key, to the nano, and not beyond', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n };
    assert.deepEqual(await ledger.admit(holdRequest('a', 60n, { limits })), HELD(60n));
    assert.deepEqual(brief(await ledger.admit(holdRequest('b', 41n, { limits }))), SHORT('Key', 40n));
    assert.deepEqual(await ledger.admit(holdRequest('b', 40n, { limits })), HELD(40n));
    assert.deepEqual(brief(await ledger.admit(holdRequest('c', 1n, { limits }))), SHORT('Key', 0n));
    assert.equal(ledger.gauges().heldNanoUsd, 100n);
  });

  scenario('up to the credit of the account, which keys share', async ({ ledger }) => {
    const limits = { accountCreditNanoUsd: 100n };
    assert.deepEqual(await ledger.admit(holdRequest('a', 60n, { limits })), HELD(60n));
    const other = { origin: { keyUid: 'key-2' }, limits };
    assert.deepEqual(brief(await ledger.admit(holdRequest('b', 41n, other))), SHORT('Account', 40n));
    assert.deepEqual(await ledger.admit(holdRequest('b', 40n, other)), HELD(40n));
    assert.deepEqual(
      await ledger.admit(holdRequest('c', 1n, { origin: { account: 'team-b/team-b' }, limits })),
      HELD(1n),
    );
  });

  scenario('the tighter of the two is named', async ({ ledger }) => {
    const ask = (keyLimitNanoUsd: bigint, accountCreditNanoUsd: bigint) =>
      ledger.admit(holdRequest('a', 100n, { limits: { keyLimitNanoUsd, accountCreditNanoUsd } }));
    assert.deepEqual(brief(await ask(20n, 30n)), SHORT('Key', 20n));
    assert.deepEqual(brief(await ask(30n, 20n)), SHORT('Account', 20n));
    assert.deepEqual(brief(await ask(30n, -20n)), SHORT('Account', 0n));
  });

  scenario('less than asked for is granted, but not less than the minimum', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 50n };
    assert.deepEqual(brief(await ledger.admit(holdRequest('a', 80n, { limits, minimum: 51n }))), SHORT('Key', 50n));
    assert.deepEqual(await ledger.admit(holdRequest('a', 80n, { limits, minimum: 50n })), HELD(50n));
  });

  scenario('a free call needs no money, whatever is spent', async ({ ledger }) => {
    assert.deepEqual(await ledger.admit(holdRequest('a', 50n, { limits: { keyLimitNanoUsd: 50n } })), HELD(50n));
    assert.deepEqual(await ledger.admit(holdRequest('b', 0n, { limits: { keyLimitNanoUsd: 50n } })), HELD(0n));
    const below = { keyLimitNanoUsd: 49n, keyGeneration: 2n, accountCreditNanoUsd: -20n, accountGeneration: 2n };
    assert.deepEqual(await ledger.admit(holdRequest('c', 0n, { limits: below })), HELD(0n));
    assert.deepEqual(brief(await ledger.admit(holdRequest('d', 1n, { limits: below }))), SHORT('Account', 0n));
  });

  scenario('a negative amount holds nothing', async ({ ledger }) => {
    assert.equal((await ledger.admit(holdRequest('a', -1n))).outcome, 'Short');
    assert.equal(ledger.gauges().heldNanoUsd, 0n);
  });

  scenario('a refused call leaves nothing behind', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 60n, { limits: { keyLimitNanoUsd: 50n } }));
    assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
    assert.equal(await ledger.readUsage('key-1', 'a'), undefined);
  });

  scenario('a second hold of a call replaces the first, both ways', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n, accountCreditNanoUsd: 100n };
    await ledger.admit(holdRequest('a', 60n, { limits }));
    assert.deepEqual(await ledger.admit(holdRequest('a', 90n, { limits })), HELD(90n));
    assert.deepEqual(brief(await ledger.admit(holdRequest('b', 11n, { limits }))), SHORT('Key', 10n));
    assert.deepEqual(await ledger.admit(holdRequest('a', 30n, { limits })), HELD(30n));
    assert.deepEqual(await ledger.admit(holdRequest('b', 70n, { limits })), HELD(70n));
    assert.deepEqual([ledger.gauges().holds, ledger.gauges().heldNanoUsd], [2, 100n]);
  });

  scenario('a second hold that is refused leaves the first', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n };
    await ledger.admit(holdRequest('a', 60n, { limits }));
    assert.deepEqual(brief(await ledger.admit(holdRequest('a', 101n, { limits }))), SHORT('Key', 100n));
    assert.equal(ledger.gauges().heldNanoUsd, 60n);
    assert.equal((await ledger.settle(settlement('a', 60n))).record.unbilledNanoUsd, 0n);
  });

  scenario('limits older than those already seen are refused, for key and account alike', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 1n, { limits: { keyGeneration: 3n, accountGeneration: 5n } }));
    assert.deepEqual(
      await ledger.admit(holdRequest('b', 1n, { limits: { keyGeneration: 2n, accountGeneration: 5n } })),
      { outcome: 'StaleLimits' },
    );
    assert.deepEqual(
      await ledger.admit(holdRequest('b', 1n, { limits: { keyGeneration: 3n, accountGeneration: 4n } })),
      { outcome: 'StaleLimits' },
    );
    assert.deepEqual(
      await ledger.admit(holdRequest('b', 1n, { limits: { keyGeneration: 3n, accountGeneration: 5n } })),
      HELD(1n),
    );
    assert.deepEqual(
      await ledger.admit(
        holdRequest('c', 1n, { origin: { keyUid: 'key-2' }, limits: { keyGeneration: 1n, accountGeneration: 5n } }),
      ),
      HELD(1n),
    );
  });

  scenario('200 calls at once on a quota whose holds afford 20', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 20_000n };
    const ids = Array.from({ length: 200 }, (_, n) => `call-${n}`);
    const results = await Promise.all(ids.map((id) => ledger.admit(holdRequest(id, 1_000n, { limits }))));
    assert.deepEqual(
      results.map(({ outcome }) => outcome),
      ids.map((_, n) => (n < 20 ? 'Held' : 'Short')),
    );
    await Promise.all(ids.slice(0, 20).map((id, n) => ledger.settle(settlement(id, n % 2 ? 1_000n : 400n))));
    const { spentNanoUsd, heldNanoUsd } = await ledger.readKey('key-1', 'Never');
    assert.deepEqual([spentNanoUsd, heldNanoUsd], [14_000n, 0n]);
    assert.deepEqual(await ledger.admit(holdRequest('next', 6_000n, { limits })), HELD(6_000n));
  });

  scenario('another key cannot take over a call, nor a settled call begin again', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 10n));
    await assert.rejects(ledger.admit(holdRequest('a', 10n, { origin: { keyUid: 'key-2' } })), LedgerUnavailable);
    await ledger.settle(settlement('a', 10n));
    await assert.rejects(ledger.admit(holdRequest('a', 10n)), LedgerUnavailable);
    assert.equal(ledger.gauges().holds, 0);
  });
}

export function settleScenarios(scenario: AddScenario): void {
  scenario('the cost replaces the hold', async ({ ledger }) => {
    const limits = { keyLimitNanoUsd: 100n };
    await ledger.admit(holdRequest('a', 80n, { limits }));
    const result = await ledger.settle(settlement('a', 30n));
    assert.deepEqual(result, {
      record: {
        ...origin('a'),
        ...progress(30n, { usageSource: 'Provider' }),
        status: 'Succeeded',
        unbilledNanoUsd: 0n,
        durationMs: 1234,
      },
      keySpentNanoUsd: 30n,
      keyRemainingNanoUsd: 70n,
    });
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 30n, heldNanoUsd: 0n });
    assert.deepEqual(await ledger.admit(holdRequest('b', 70n, { limits })), HELD(70n));
  });

  scenario('a key without a limit has nothing remaining to tell', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 80n));
    const { keySpentNanoUsd, keyRemainingNanoUsd } = await ledger.settle(settlement('a', 30n));
    assert.deepEqual([keySpentNanoUsd, keyRemainingNanoUsd], [30n, null]);
  });

  scenario('exactly once: a repetition is answered as the first was', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 80n, { limits: { keyLimitNanoUsd: 100n } }));
    const first = await ledger.settle(settlement('a', 30n));
    assert.deepEqual(await ledger.settle(settlement('a', 77n, { status: 'Failed' })), first);
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 30n, heldNanoUsd: 0n });
  });

  scenario('repeated at once, it is applied once', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 80n));
    const results = await Promise.all([
      ledger.settle(settlement('a', 30n)),
      ledger.settle(settlement('a', 40n)),
      ledger.settle(settlement('a', 50n)),
    ]);
    assert.deepEqual(
      results.map(({ record }) => record.costNanoUsd),
      [30n, 30n, 30n],
    );
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 30n);
  });

  scenario(
    'what exceeds the hold is taken from what is free under both limits, the rest is unbilled',
    async ({ ledger }) => {
      const limits = { keyLimitNanoUsd: 100n, accountCreditNanoUsd: 90n };
      await ledger.admit(holdRequest('a', 20n, { limits }));
      await ledger.admit(holdRequest('b', 30n, { limits }));
      // 40 are free in the account, 50 under the quota
      const { record, keySpentNanoUsd } = await ledger.settle(settlement('a', 75n));
      assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd, keySpentNanoUsd], [60n, 15n, 60n]);
      // nothing is free: the amount by which b exceeds its hold is unbilled
      const second = await ledger.settle(settlement('b', 31n));
      assert.deepEqual([second.record.costNanoUsd, second.record.unbilledNanoUsd], [30n, 1n]);
      assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 90n, heldNanoUsd: 0n });
    },
  );

  scenario('each limit of a list bounds a call, and a refusal names the tightest', async ({ ledger }, clock) => {
    const [quota, credit] = moneyLimits(limits({ keyLimitNanoUsd: 100n, accountCreditNanoUsd: 1_000n }), origin('a'));
    assert.ok(quota?.scope === 'Key' && credit);
    const ofDay = { ...quota, window: 'Day', amountNanoUsd: 50n } as const;
    const all = [quota, ofDay, credit];
    assert.deepEqual(await ledger.admit({ ...holdRequest('a', 30n), limits: all }), HELD(30n));
    assert.deepEqual(await ledger.admit({ ...holdRequest('b', 30n), limits: all }), {
      outcome: 'Short',
      limit: ofDay,
      spentNanoUsd: 0n,
      span: spanAt('Day', clock.nowMs),
      availableNanoUsd: 20n,
    });
    assert.deepEqual(await ledger.admit({ ...holdRequest('c', 80n), limits: [quota, credit] }), {
      outcome: 'Short',
      limit: quota,
      spentNanoUsd: 0n,
      availableNanoUsd: 70n,
    });
    const poor = { ...credit, scope: 'Account', amountNanoUsd: 40n, window: 'Total' } as const;
    assert.deepEqual(await ledger.admit({ ...holdRequest('d', 20n), limits: [...all.slice(0, 2), poor] }), {
      outcome: 'Short',
      limit: poor,
      spentNanoUsd: 0n,
      availableNanoUsd: 10n,
    });
    assert.deepEqual(await ledger.admit({ ...holdRequest('e', 20n), limits: all }), HELD(20n));
  });

  scenario('a lowered limit lets calls end within their holds, and not beyond', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 50n, { limits: { keyLimitNanoUsd: 100n } }));
    await ledger.admit(holdRequest('b', 30n, { limits: { keyLimitNanoUsd: 100n } }));
    assert.deepEqual(
      brief(await ledger.admit(holdRequest('c', 1n, { limits: { keyLimitNanoUsd: 10n, keyGeneration: 2n } }))),
      SHORT('Key', 0n),
    );
    const a = await ledger.settle(settlement('a', 55n));
    assert.deepEqual([a.record.costNanoUsd, a.record.unbilledNanoUsd], [50n, 5n]);
    const b = await ledger.settle(settlement('b', 30n));
    assert.deepEqual([b.record.costNanoUsd, b.keySpentNanoUsd, b.keyRemainingNanoUsd], [30n, 80n, 20n]);
  });

  scenario('credit that was taken back is not billed into', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 50n, { limits: { accountCreditNanoUsd: 100n } }));
    assert.deepEqual(
      brief(
        await ledger.admit(holdRequest('b', 1n, { limits: { accountCreditNanoUsd: -100n, accountGeneration: 2n } })),
      ),
      SHORT('Account', 0n),
    );
    const { record } = await ledger.settle(settlement('a', 60n));
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd], [50n, 10n]);
  });

  scenario('progress caps nothing: the settlement decides', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 50n, { limits: { keyLimitNanoUsd: 60n } }));
    await ledger.recordProgress(
      new Map([
        ['a', progress(1_000n)],
        ['unknown', progress(5n)],
      ]),
    );
    assert.equal(ledger.gauges().heldNanoUsd, 50n);
    assert.equal((await ledger.settle(settlement('a', 20n))).record.costNanoUsd, 20n);
  });

  scenario('a retry is recorded where it ended', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 50n));
    const moved = origin('a', { group: 'vip', channel: 'other/backup', catalog: 'model-gateway/other@7' });
    await ledger.settle(settlement('a', 20n, { origin: moved }));
    const record = await ledger.readUsage('key-1', 'a');
    assert.deepEqual(
      [record?.group, record?.channel, record?.catalog],
      ['vip', 'other/backup', 'model-gateway/other@7'],
    );
  });

  scenario('a session is in the records of its calls, and in no other', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 50n, { origin: { session: 'thread-1' } }));
    await ledger.admit(holdRequest('b', 50n));
    const settled = await ledger.settle(settlement('a', 20n, { origin: origin('a', { session: 'thread-1' }) }));
    await ledger.settle(settlement('b', 20n));
    assert.equal(settled.record.session, 'thread-1');
    assert.equal((await ledger.readUsage('key-1', 'a'))?.session, 'thread-1');
    const other = await ledger.readUsage('key-1', 'b');
    assert.ok(other && !('session' in other));
  });

  scenario('the names of key and labels are in the records of its calls, and in no other', async ({ ledger }) => {
    const names = { keyName: 'ci', labels: 'cost-center=4711,example.com/team=blue' };
    await ledger.admit(holdRequest('a', 50n, { origin: names }));
    await ledger.admit(holdRequest('b', 50n));
    await ledger.admit(holdRequest('c', 50n, { origin: { keyName: 'ci', session: 'thread-1' } }));
    const settled = await ledger.settle(settlement('a', 20n, { origin: origin('a', names) }));
    await ledger.settle(settlement('b', 20n));
    await ledger.settle(settlement('c', 20n, { origin: origin('c', { keyName: 'ci', session: 'thread-1' }) }));
    const namesOf = (record: UsageRecord | undefined): unknown[] => [record?.keyName, record?.labels, record?.session];
    assert.deepEqual(namesOf(settled.record), ['ci', names.labels, undefined]);
    assert.deepEqual(namesOf(await ledger.readUsage('key-1', 'a')), ['ci', names.labels, undefined]);
    assert.deepEqual(namesOf(await ledger.readUsage('key-1', 'b')), [undefined, undefined, undefined]);
    assert.deepEqual(namesOf(await ledger.readUsage('key-1', 'c')), ['ci', undefined, 'thread-1']);
  });

  scenario('a call that never held cannot be settled', async ({ ledger }) => {
    await assert.rejects(ledger.settle(settlement('nobody', 1n)), LedgerUnavailable);
    assert.equal((await ledger.readAccount('team-a/team-a')).spentNanoUsd, 0n);
  });

  scenario('amounts beyond every number of JavaScript stay exact', async ({ ledger }) => {
    const huge = 9_000_000_000n * 10n ** 9n + 1n;
    const limits = { keyLimitNanoUsd: huge, accountCreditNanoUsd: huge };
    assert.deepEqual(await ledger.admit(holdRequest('a', huge - 3n, { limits })), HELD(huge - 3n));
    const { keySpentNanoUsd, keyRemainingNanoUsd, record } = await ledger.settle(settlement('a', 2n ** 80n));
    assert.deepEqual([keySpentNanoUsd, keyRemainingNanoUsd, record.costNanoUsd], [huge, 0n, huge]);
    assert.ok(record.unbilledNanoUsd > 0n);
  });

  scenario('figures that are no counts do not stop a settlement', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 50n));
    const tokens = {
      input: Number.NaN,
      cached: -3,
      cacheWrite5m: 1.5,
      cacheWrite1h: Number.POSITIVE_INFINITY,
      output: 2,
    };
    const { record } = await ledger.settle(
      settlement('a', -1n, { durationMs: Number.NaN, progress: { costNanoUsd: -1n, tokens, usageSource: 'Provider' } }),
    );
    assert.deepEqual([record.costNanoUsd, record.durationMs], [0n, 0]);
    assert.deepEqual(record.tokens, {
      input: 0,
      cached: 0,
      cacheWrite5m: 2,
      cacheWrite1h: Number.MAX_SAFE_INTEGER,
      output: 2,
    });
  });

  scenario(
    'what a call costs beyond its hold is measured against limits that were lowered meanwhile',
    async ({ ledger }) => {
      const before = { keyLimitNanoUsd: 1_000n, accountCreditNanoUsd: 5_000n };
      await ledger.admit(holdRequest('a', 100n, { limits: before }));
      await ledger.admit(holdRequest('b', 100n, { limits: before }));
      const lowered = moneyLimits(limits({ ...before, keyLimitNanoUsd: 250n, keyGeneration: 2n }), origin('a'));
      const { record } = await ledger.settle(settlement('a', 700n, { limits: lowered }));
      assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd], [150n, 550n]);
      // an edit older than the last one changes nothing
      const stale = await ledger.settle(
        settlement('b', 700n, { limits: moneyLimits(limits({ ...before, keyLimitNanoUsd: 9_000n }), origin('b')) }),
      );
      assert.deepEqual([stale.record.costNanoUsd, stale.record.unbilledNanoUsd], [100n, 600n]);
      assert.equal((await ledger.readKey('key-1', 'Never')).spentNanoUsd, 250n);
    },
  );

  scenario('nor does it pass a credit that was lowered meanwhile', async ({ ledger }) => {
    await ledger.admit(holdRequest('a', 100n));
    const { record } = await ledger.settle(
      settlement('a', 700n, {
        limits: moneyLimits(limits({ accountCreditNanoUsd: 40n, accountGeneration: 2n }), origin('a')),
      }),
    );
    // the hold was granted under the earlier credit
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd], [100n, 600n]);
  });
}
