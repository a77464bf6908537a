/** Conditions over time, and the conditions of spending. */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Account, Condition } from '#crds/types.gen.ts';
import { spanAt } from '#ledger/periods.ts';
import {
  RECONCILING,
  PROGRAMMED,
  conditionsOf,
  formatTime,
  mergeConditions,
} from '../../../../operator/status/conditions.ts';
import type { DesiredCondition } from '../../../../operator/status/conditions.ts';
import { findingsOf } from '../../../../operator/status/findings.ts';
import {
  accountSpendingStatus,
  creditOf,
  keySpendingStatus,
  limitsStatus,
  recordedSpendingStatus,
} from '../../../../operator/status/spending.ts';
import { NOW_MS, accountsOf, apiKeysOf } from '../support.ts';

const [account] = accountsOf(
  'apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: a}\nspec: ' +
    '{grants: [{name: one, usd: "10"}, {name: two, usd: "-0.5"}]}\n',
);
assert.ok(account);
const findings = findingsOf(account);
const summary = (conditions: readonly (Condition | DesiredCondition)[]) =>
  conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

describe('conditions', () => {
  test('report an object in progress to the proxies as not ready', () => {
    assert.deepEqual(summary(conditionsOf(findings, RECONCILING)), [
      'Accepted=True Accepted',
      'Programmed=Unknown Reconciling',
      'Ready=Unknown Reconciling',
      'Reconciling=True Reconciling',
    ]);
  });

  test('report what proxies refuse as stalled, with their messages', () => {
    const conditions = conditionsOf(findings, {
      status: 'False',
      reason: 'Rejected',
      message: 'models "x": priced twice',
    });
    assert.deepEqual(summary(conditions), [
      'Accepted=True Accepted',
      'Programmed=False Rejected',
      'Ready=False Rejected',
      'Stalled=True Rejected',
    ]);
    assert.equal(conditions[3]?.message, 'models "x": priced twice');
  });

  test('report an object that is not Accepted as not Programmed, whatever the proxies report', () => {
    assert.deepEqual(summary(conditionsOf({ ...findings, refused: { reason: 'Invalid', message: 'x' } }, PROGRAMMED)), [
      'Accepted=False Invalid',
      'Programmed=False NotAccepted',
      'Ready=False Invalid',
      'Stalled=True Invalid',
    ]);
  });

  test('have bounded messages', () => {
    const [accepted] = conditionsOf(
      { ...findings, refused: { reason: 'Invalid', message: 'x'.repeat(40_000) } },
      PROGRAMMED,
    );
    assert.ok((accepted?.message.length ?? 0) <= 2048);
  });

  test('change their transition time with the status only, and are removed when they end', () => {
    const first = mergeConditions([], conditionsOf(findings, RECONCILING), { generation: 1, nowMs: NOW_MS });
    assert.ok(
      first.every(
        ({ lastTransitionTime, observedGeneration }) =>
          lastTransitionTime === '2026-11-21T12:00:00Z' && observedGeneration === 1,
      ),
    );
    const second = mergeConditions(first, conditionsOf(findings, PROGRAMMED), { generation: 2, nowMs: NOW_MS + 1000 });
    assert.deepEqual(
      second.map(({ type, lastTransitionTime, observedGeneration }) => [type, lastTransitionTime, observedGeneration]),
      [
        ['Accepted', '2026-11-21T12:00:00Z', 2],
        ['Programmed', '2026-11-21T12:00:01Z', 2],
        ['Ready', '2026-11-21T12:00:01Z', 2],
      ],
    );
    const other = mergeConditions(
      second,
      conditionsOf({ ...findings, notReady: { reason: 'Disabled', message: 'x' } }, PROGRAMMED),
      { generation: 3, nowMs: NOW_MS + 2000 },
    );
    assert.deepEqual(
      other.map(({ lastTransitionTime }) => lastTransitionTime),
      ['2026-11-21T12:00:00Z', '2026-11-21T12:00:01Z', '2026-11-21T12:00:02Z'],
    );
  });

  test('have times in whole seconds', () => {
    assert.equal(formatTime(NOW_MS + 999), '2026-11-21T12:00:00Z');
  });
});

describe('spending', () => {
  const key = (limitUsd: string, period = 'Daily') => {
    const [apiKey] = apiKeysOf(
      `apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: a}\nspec: ` +
        `{groupRef: {name: g}, accountRef: {name: a}, quota: {limitUsd: "${limitUsd}", period: ${period}}}\n`,
    );
    assert.ok(apiKey);
    return apiKey;
  };
  const spending = (spentNanoUsd: bigint) => ({
    periodStartMs: NOW_MS,
    resetsMs: null,
    spentNanoUsd,
    heldNanoUsd: 5n,
    totalSpentNanoUsd: spentNanoUsd + 1n,
    lastUsedMs: NOW_MS + 1500,
  });

  test('of an unlimited key is unlimited', () => {
    assert.deepEqual(keySpendingStatus(key('Unlimited'), spending(25_000_000_000n)), {
      fields: {
        periodStartTime: '2026-11-21T12:00:00Z',
        spentUsd: '25.00',
        totalSpentUsd: '25.000000001',
        remainingUsd: 'Unlimited',
        lastUsedTime: '2026-11-21T12:00:01Z',
      },
      conditions: [],
    });
  });

  test('of an unused key has no times', () => {
    const { fields } = keySpendingStatus(key('1'), {
      ...spending(0n),
      totalSpentNanoUsd: 0n,
      periodStartMs: null,
      lastUsedMs: null,
    });
    assert.deepEqual(fields, { spentUsd: '0.00', totalSpentUsd: '0.00', remainingUsd: '1.00' });
  });

  for (const [spent, types, remaining] of [
    [799_999_999n, [], '0.200000001'],
    [800_000_000n, ['QuotaLow'], '0.20'],
    [999_999_999n, ['QuotaLow'], '0.000000001'],
    [1_000_000_000n, ['QuotaLow', 'QuotaExhausted'], '0.00'],
    [1_500_000_000n, ['QuotaLow', 'QuotaExhausted'], '0.00'],
  ] as const)
    test(`${spent} of a key's 10^9 nano-USD`, () => {
      const status = keySpendingStatus(key('1'), spending(spent));
      assert.deepEqual(
        status.conditions.map(({ type }) => type),
        types,
      );
      assert.equal(status.fields.remainingUsd, remaining);
      assert.equal(status.spent?.reason, spent >= 1_000_000_000n ? 'LimitReached' : undefined);
    });

  test('of an account gives its balance as credit minus spending, maybe negative', () => {
    const credit = creditOf(account);
    assert.equal(credit, 9_500_000_000n);
    const status = accountSpendingStatus(credit, { spentNanoUsd: 10_000_000_000n, heldNanoUsd: 1n });
    assert.deepEqual(status.fields, { spentUsd: '10.00', heldUsd: '0.000000001', balanceUsd: '-0.50' });
    assert.deepEqual(
      status.conditions.map(({ type }) => type),
      ['BalanceLow', 'BalanceExhausted'],
    );
    assert.deepEqual(accountSpendingStatus(credit, { spentNanoUsd: 7_599_999_999n, heldNanoUsd: 0n }).conditions, []);
    assert.deepEqual(
      accountSpendingStatus(credit, { spentNanoUsd: 7_600_000_000n, heldNanoUsd: 0n }).conditions.map(
        ({ type }) => type,
      ),
      ['BalanceLow'],
    );
  });

  test('that a status records is measured against an edited limit', () => {
    const today = { ...spending(900_000_000n), periodStartMs: spanAt('Day', NOW_MS).startMs };
    const { fields } = keySpendingStatus(key('1'), today);
    assert.deepEqual(recordedSpendingStatus(key('9'), fields, NOW_MS), keySpendingStatus(key('9'), today));
    assert.equal(recordedSpendingStatus(key('0.5'), fields, NOW_MS)?.spent?.reason, 'LimitReached');
    assert.deepEqual(recordedSpendingStatus(key('9', 'Never'), fields, NOW_MS)?.fields, {
      spentUsd: '0.900000001',
      totalSpentUsd: '0.900000001',
      remainingUsd: '8.099999999',
      lastUsedTime: fields.lastUsedTime,
    });
    const before = accountSpendingStatus(1n, { spentNanoUsd: 500_000_000n, heldNanoUsd: 7n });
    assert.deepEqual(recordedSpendingStatus(account, before.fields, NOW_MS)?.fields, {
      spentUsd: '0.50',
      heldUsd: '0.000000007',
      balanceUsd: '9.00',
    });
    assert.equal(recordedSpendingStatus(account, {}, NOW_MS), undefined);
  });

  describe('of an account with limits', () => {
    const limited = (limits: NonNullable<Account['spec']['limits']>): Account => ({
      ...account,
      spec: { ...account.spec, limits },
    });
    const day = { period: 'Day', timeZone: 'Europe/Berlin' } as const;
    const total = { usd: '2', period: 'Total', timeZone: 'UTC' } as const;
    const windows = [{ ...spanAt('Day', NOW_MS, 'Europe/Berlin'), spentNanoUsd: 800_000_000n, heldNanoUsd: 0n }];
    const amounts = { spentNanoUsd: 1_000_000_000n, heldNanoUsd: 0n, windows };
    const statusOf = (edited: Account) =>
      accountSpendingStatus(100n * 10n ** 9n, amounts, limitsStatus(edited, amounts));
    const endOfDay = formatTime(spanAt('Day', NOW_MS, 'Europe/Berlin').endMs);
    const ofDay = (usd: string) =>
      `0.80 of the limit of ${usd} USD for the current Day in Europe/Berlin is spent; it resets at ${endOfDay}.`;

    test('warns of one that is low or spent, with when it resets', () => {
      assert.deepEqual(statusOf(limited([{ ...day, usd: '1.01' }, total])).conditions, []);
      const low = statusOf(limited([{ ...day, usd: '1' }, total]));
      assert.deepEqual(low.conditions, [
        { type: 'LimitLow', status: 'True', reason: 'AboveThreshold', message: ofDay('1.00') },
      ]);
      assert.equal(low.spent, undefined);
      const spent = statusOf(
        limited([
          { ...day, usd: '0.8' },
          { ...total, usd: '1' },
        ]),
      );
      const message = `${ofDay('0.80')} 1.00 of the limit of 1.00 USD in total is spent.`;
      assert.deepEqual(spent.conditions, [
        { type: 'LimitLow', status: 'True', reason: 'AboveThreshold', message },
        { type: 'LimitExhausted', status: 'True', reason: 'LimitReached', message },
      ]);
      assert.deepEqual(spent.spent, { reason: 'LimitReached', message });
    });

    test('that a status records is measured against edited limits in the same windows', () => {
      const before = statusOf(limited([{ ...day, usd: '5' }])).fields;
      const edited = limited([total, { ...day, usd: '0.5' }]);
      const { fields, spent } = recordedSpendingStatus(edited, before, NOW_MS) ?? assert.fail('nothing is recorded');
      assert.deepEqual(fields.limits, limitsStatus(edited, amounts));
      assert.match(spent?.message ?? '', /0\.80 of the limit of 0\.50 USD/);
    });

    test('that a status records keeps its limits beside those in windows that are not recorded, or are over', () => {
      const inTokyo = { usd: '5', period: 'Day', timeZone: 'Asia/Tokyo' } as const;
      const exhausted = limited([{ ...day, usd: '0.8' }]);
      const before = statusOf(exhausted);
      const kept = recordedSpendingStatus(limited([inTokyo, { ...day, usd: '0.8' }]), before.fields, NOW_MS);
      assert.deepEqual(
        [kept?.fields.limits, kept?.conditions, kept?.spent],
        [before.fields.limits, before.conditions, before.spent],
      );
      const cases: readonly [Account, number, readonly string[] | undefined][] = [
        [limited([inTokyo]), NOW_MS, undefined],
        [exhausted, NOW_MS + 86_400_000, undefined],
        [limited([{ ...day, usd: '0.8' }, total]), NOW_MS + 86_400_000, ['Total']],
      ];
      for (const [object, nowMs, periods] of cases) {
        const { fields, conditions } = recordedSpendingStatus(object, before.fields, nowMs) ?? assert.fail();
        assert.deepEqual([fields.limits?.map(({ period }) => period), fields.spentUsd], [periods, '1.00']);
        assert.deepEqual(conditions, []);
      }
    });
  });

  test('that a status records of another period is none of the edited one', () => {
    const today = { ...spending(900_000_000n), periodStartMs: spanAt('Day', NOW_MS).startMs };
    const ever = { ...spending(900_000_000n), periodStartMs: null };
    const daily = keySpendingStatus(key('1'), today).fields;
    const total = keySpendingStatus(key('1', 'Never'), ever).fields;
    assert.equal(recordedSpendingStatus(key('1', 'Monthly'), daily, NOW_MS), undefined);
    assert.equal(recordedSpendingStatus(key('1'), daily, NOW_MS + 86_400_000), undefined);
    for (const period of ['Daily', 'Monthly'])
      assert.equal(recordedSpendingStatus(key('1', period), total, NOW_MS), undefined);
  });

  test('can make an object not ready', () => {
    assert.deepEqual(summary(conditionsOf(findings, PROGRAMMED, { reason: 'LimitReached', message: 'x' })), [
      'Accepted=True Accepted',
      'Programmed=True Programmed',
      'Ready=False LimitReached',
    ]);
  });
});
