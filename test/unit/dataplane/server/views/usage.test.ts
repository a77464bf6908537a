import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { UsageRecord } from '#usage/record.ts';
import { usageView } from '../../../../../dataplane/server/views/usage.ts';

const RECORD: UsageRecord = {
  callId: 'req_1',
  keyUid: 'uid-1',
  account: 'team-a/team-a',
  createdMs: Date.UTC(2026, 10, 3, 8, 30, 15, 42),
  group: 'vip',
  model: 'claude-sonnet-4-5',
  channel: 'anthropic/direct',
  catalog: 'model-gateway/anthropic@4',
  costNanoUsd: 33_750_000n,
  tokens: { input: 1000, cached: 20_000, cacheWrite5m: 3000, cacheWrite1h: 1000, output: 500 },
  usageSource: 'Provider',
  status: 'Succeeded',
  unbilledNanoUsd: 0n,
  durationMs: 1234,
};

const NAMES = { vip: 'VIP', standard: 'Standard', 'auto-a': 'Auto-A' };
const GROUPS = new Map(
  Object.entries(NAMES).map(([name, displayName]) => [
    name,
    { name, displayName, members: name === 'auto-a' ? ['standard', 'vip'] : [], offers: new Map() },
  ]),
);

describe('GET /v1/usage/{id}', () => {
  test('has exactly the documented fields, and nothing of the key or its account', () => {
    assert.deepEqual(usageView(RECORD, 'auto-a', GROUPS), {
      object: 'usage',
      id: 'req_1',
      created_at: '2026-11-03T08:30:15.042Z',
      model: 'claude-sonnet-4-5',
      group: 'Auto-A',
      member: 'VIP',
      channel: 'anthropic/direct',
      status: 'Succeeded',
      input_tokens: 1000,
      cached_tokens: 20_000,
      cache_write_tokens: 4000,
      cache_write_5m_tokens: 3000,
      cache_write_1h_tokens: 1000,
      output_tokens: 500,
      usage_source: 'Provider',
      cost_usd: '0.03375',
      unbilled_usd: '0.00',
      duration_ms: 1234,
      lines: [],
    });
  });

  test('shows the unbilled amount, to the nano-dollar', () => {
    const view = usageView(
      {
        ...RECORD,
        status: 'Abandoned',
        usageSource: 'Partial',
        unbilledNanoUsd: 1n,
        costNanoUsd: 3_000_000_000n,
      },
      'auto-a',
      GROUPS,
    );
    assert.deepEqual(
      [view.unbilled_usd, view.cost_usd, view.status, view.usage_source],
      ['0.000000001', '3.00', 'Abandoned', 'Partial'],
    );
  });

  test('has the name of a direct group, an earlier group, and a deleted one', () => {
    const groupOf = (served: string, keyGroup: string): readonly unknown[] => {
      const { group, member } = usageView({ ...RECORD, group: served }, keyGroup, GROUPS);
      return [group, member];
    };
    assert.deepEqual(groupOf('vip', 'vip'), ['VIP', null]);
    assert.deepEqual(groupOf('vip', 'standard'), ['VIP', null]);
    assert.deepEqual(groupOf('gone', 'auto-a'), ['gone', null]);
  });
});
