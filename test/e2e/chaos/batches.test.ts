/** What the reconciliation of batches accepts and finds, with evidence made by hand. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { BATCH_KEY_UID, batchPrice } from '../../chaos/batches/config.ts';
import { judgeBatches } from '../../chaos/batches/judge.ts';
import type { BatchEvidence, BatchLog } from '../../chaos/batches/judge.ts';
import { planBatches } from '../../chaos/batches/plan.ts';
import { nothingSince } from '../../chaos/happened.ts';
import type { LedgerRecord } from '../../chaos/ledger-file.ts';
import { planRound } from '../../chaos/plan.ts';

const { config } = planRound(1, 1);
const QUIET = nothingSince({ config, writtenMs: 0, inForceMs: 0 });
const USAGES = new Map([
  ['r1b2-0', { input: 10, output: 5 }],
  ['r1b2-2', { input: 21, output: 7 }],
]);

const batch: BatchLog = {
  plan: {
    n: 2,
    mark: 'r1b2',
    startMs: 0,
    protocol: 'Anthropic',
    workMs: 0,
    end: 'completed',
    ids: ['r1b2-0', 'r1b2-1', 'r1b2-2'],
    usages: USAGES,
  },
  callId: 'req_1',
  status: 200,
  hasEnded: true,
  created: 1,
};

const record: LedgerRecord = {
  seq: 1,
  id: 'req_1',
  key: BATCH_KEY_UID,
  account: 'team/bulk',
  group: 'bulk',
  model: 'bulk-claude',
  channel: 'bulk-anthropic/first',
  createdMs: 1_001,
  status: 'Succeeded',
  usageSource: 'Provider',
  tokens: { input: 31, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 12 },
  costNanoUsd: batchPrice({ input: 31, output: 12 }),
  unbilledNanoUsd: 0n,
  durationMs: 1_000,
};

function findings(change: Partial<LedgerRecord> | undefined, more: Partial<BatchEvidence> = {}): string {
  const records = change ? [{ ...record, ...change }] : [];
  return judgeBatches({ batches: [batch], records, happened: QUIET, isForgetful: false, ...more }).join('\n');
}

describe('the reconciliation of batches', () => {
  it('accepts a batch that is billed by the requests that succeeded', () => {
    assert.equal(findings({}), '');
    // (31 · 1,700 + 12 · 6,300) · 0.37 · 1.333333333
    assert.equal(record.costNanoUsd, 63_295n);
  });

  it('finds a lost bill, a nano-dollar, and a request that is not billed', () => {
    assert.match(findings(undefined), /it is lost/);
    assert.equal(findings(undefined, { isForgetful: true }), '');
    for (const by of [1n, -1n]) assert.match(findings({ costNanoUsd: record.costNanoUsd + by }), /its price is 63295/);
    assert.match(findings({ tokens: { ...record.tokens, input: 21 } }), /its requests have used 31\/12 tokens/);
  });

  it('finds a batch that does not end, one that is created twice, and one that was refused for no reason', () => {
    assert.match(findings({}, { batches: [{ ...batch, hasEnded: false }] }), /it does not end/);
    assert.match(findings({}, { batches: [{ ...batch, created: 2 }] }), /has it more than once/);
    assert.match(findings(undefined, { batches: [{ ...batch, status: 503, created: 0 }] }), /was refused with 503/);
  });

  it('finds a bill for a batch that the provider does not have', () => {
    const batches = (created: number): Partial<BatchEvidence> => ({
      batches: [{ ...batch, callId: '', status: 0, created }],
      happened: { ...QUIET, kills: [2_000] },
    });
    assert.match(findings({}, batches(0)), /1 batches that no client has are billed/);
    assert.equal(findings({}, batches(1)), '');
    assert.equal(findings({ status: 'Abandoned' }, batches(0)), '');
  });
});

it('a seed decides the batches', () => {
  assert.deepEqual(planBatches(7, 3), planBatches(7, 3));
  assert.notDeepEqual(planBatches(7, 3), planBatches(8, 3));
});
