import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import type { KeySpending } from '#ledger/spending.ts';
import { keyView } from '../../../../../dataplane/server/views/key.ts';
import type { KeyViewData } from '../../../../../dataplane/server/views/key.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { compileLimits } from '../../../../../dataplane/state/compile-limits.ts';
import type { AccountState, KeyState } from '../../../../../dataplane/state/state.ts';

function quotaOf(amountNanoUsd: bigint | null): KeyState['quota'] {
  return { scope: 'Key', id: 'key/uid-1', measure: 'UsdNano', amountNanoUsd, window: 'Month', generation: 3n };
}

const CREDIT: AccountState['credit'] = {
  scope: 'Account',
  id: 'account/team-a/budget',
  measure: 'UsdNano',
  amountNanoUsd: 250_000_000_000n,
  window: 'Total',
  generation: 1n,
};
const KEY: KeyState = {
  uid: 'uid-1',
  namespace: 'team-a',
  name: 'ci-bot',
  prefix: 'sk-AbCd',
  enabled: true,
  refusal: '',
  expirationMs: Date.UTC(2027, 0, 1),
  group: 'auto-a',
  account: 'team-a/budget',
  quota: quotaOf(25_000_000_000n),
  period: 'Monthly',
  whenShort: 'Lower',
  minOutputTokens: 16,
  usageLabels: undefined,
  models: new Set(['gpt-5', 'claude-sonnet-4-5']),
  limits: [],
};
const SPENDING: KeySpending = {
  periodStartMs: Date.UTC(2026, 10, 1),
  resetsMs: Date.UTC(2026, 11, 1),
  spentNanoUsd: 33_750_000n,
  heldNanoUsd: 1n,
  totalSpentNanoUsd: 99n,
  lastUsedMs: null,
};

function facts(
  key: Partial<KeyState> = {},
  spending: Partial<KeySpending> = {},
  more: Partial<KeyViewData> = {},
): KeyViewData {
  return {
    key: { ...KEY, ...key },
    state: {
      accounts: new Map([['team-a/budget', { id: 'team-a/budget', credit: CREDIT, spending: [], limits: [] }]]),
      groups: new Map([['auto-a', { name: 'auto-a', displayName: 'Auto-A', members: [], offers: new Map() }]]),
    },
    spending: { ...SPENDING, ...spending },
    account: { spentNanoUsd: 50_500_000_000n, heldNanoUsd: 7n },
    ...more,
  };
}

describe('GET /v1/key', () => {
  test('shows the limits by the minute that the key has', () => {
    const limits = compileLimits('Key', 'key/uid-1', {
      maxConcurrency: 8,
      rateLimits: { requestsPerMinute: 60, outputTokensPerMinute: 20_000 },
    });
    assert.deepEqual(keyView(facts({ limits })).rate_limits, {
      requests_per_minute: 60,
      input_tokens_per_minute: null,
      output_tokens_per_minute: 20_000,
    });
  });

  test('has exactly the documented fields', () => {
    assert.deepEqual(keyView(facts()), {
      object: 'key',
      namespace: 'team-a',
      name: 'ci-bot',
      key_prefix: 'sk-AbCd',
      account: 'budget',
      group: 'Auto-A',
      enabled: true,
      models: ['claude-sonnet-4-5', 'gpt-5'],
      quota: { limit_usd: '25.00', period: 'Monthly', resets_at: '2026-12-01T00:00:00Z' },
      spent_usd: '0.03375',
      held_usd: '0.000000001',
      remaining_usd: '24.96625',
      balance_usd: '199.50',
      rate_limits: { requests_per_minute: null, input_tokens_per_minute: null, output_tokens_per_minute: null },
      expires_at: '2027-01-01T00:00:00Z',
    });
  });

  test("shows a quota's time zone and the account's limits", () => {
    const owner = { scope: 'Account', id: 'account/team-a/budget', measure: 'UsdNano', generation: 1n } as const;
    const spending = [
      { ...owner, amountNanoUsd: 50_000_000_000n, window: 'Week', timeZone: 'Europe/Berlin' },
      { ...owner, amountNanoUsd: 60_000_000_000n, window: 'Total' },
    ] as const;
    const accounts = new Map([['team-a/budget', { id: 'team-a/budget', credit: CREDIT, spending, limits: [] }]]);
    const week = { startMs: 0, endMs: Date.UTC(2026, 10, 22, 23), spentNanoUsd: 20_000_000_000n, heldNanoUsd: 0n };
    const { quota, account_limits } = keyView(
      facts(
        { quota: { ...quotaOf(null), window: 'Week', timeZone: 'Europe/Berlin' }, period: 'Weekly' },
        {},
        {
          state: { accounts, groups: new Map() },
          account: { spentNanoUsd: 70_000_000_000n, heldNanoUsd: 0n, windows: [week] },
        },
      ),
    );
    assert.equal(quota.time_zone, 'Europe/Berlin');
    const [limit_usd, spent_usd, remaining_usd] = ['50.00', '20.00', '30.00'];
    const resets_at = '2026-11-22T23:00:00Z';
    const zoned = { period: 'Week', time_zone: 'Europe/Berlin', limit_usd, spent_usd, remaining_usd, resets_at };
    assert.deepEqual(account_limits, [
      zoned,
      {
        period: 'Total',
        time_zone: 'UTC',
        limit_usd: '60.00',
        spent_usd: '70.00',
        remaining_usd: '0.00',
        resets_at: null,
      },
    ]);
  });

  test('has Unlimited or null for absent values', () => {
    const view = keyView(
      facts(
        {
          quota: quotaOf(null),
          period: 'Never',
          models: undefined,
          expirationMs: undefined,
        },
        { periodStartMs: null, resetsMs: null },
        { state: { accounts: new Map(), groups: new Map() } },
      ),
    );
    assert.deepEqual(view.quota, { limit_usd: 'Unlimited', period: 'Never', resets_at: null });
    assert.equal(view.remaining_usd, 'Unlimited');
    assert.equal(view.models, null);
    assert.equal(view.expires_at, null);
    assert.equal(view.balance_usd, null);
    assert.equal(view.group, 'auto-a');
  });

  test("of a rotated key's old string shows when it ends", () => {
    const soon = Date.UTC(2026, 5, 1, 12, 0, 0, 250);
    assert.equal(keyView(facts({}, {}, { notAfterMs: soon })).expires_at, '2026-06-01T12:00:00.250Z');
    assert.equal(
      keyView(facts({ expirationMs: undefined }, {}, { notAfterMs: soon })).expires_at,
      '2026-06-01T12:00:00.250Z',
    );
    assert.equal(keyView(facts({}, {}, { notAfterMs: Date.UTC(2030, 0, 1) })).expires_at, '2027-01-01T00:00:00Z');
  });

  test('has no negative remainder after a lowered limit, and shows withdrawn credit', () => {
    assert.equal(keyView(facts({ quota: quotaOf(1n) }, { spentNanoUsd: 5n })).remaining_usd, '0.00');
    assert.equal(
      keyView(facts({}, {}, { account: { spentNanoUsd: 251_000_000_000n, heldNanoUsd: 0n } })).balance_usd,
      '-1.00',
    );
  });

  test('has spent and remaining amounts that add up to the limit, to the nano-dollar', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 9n * 10n ** 18n), fc.bigInt(0n, 9n * 10n ** 18n), (a, b) => {
        const [spent, limit] = a < b ? [a, b] : [b, a];
        const view = keyView(facts({ quota: quotaOf(limit) }, { spentNanoUsd: spent }));
        assert.equal((parseDecimal(view.spent_usd) ?? -1n) + (parseDecimal(view.remaining_usd) ?? -1n), limit);
        assert.equal(parseDecimal(view.quota.limit_usd), limit);
      }),
    );
  });
});
