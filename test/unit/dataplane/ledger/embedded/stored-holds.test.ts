/** Running calls in the ledger's file: as they are written, and as an earlier version wrote them. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { createBalances } from '../../../../../dataplane/ledger/balances.ts';
import { decodeCall, encodeHold } from '../../../../../dataplane/ledger/embedded/rows.ts';
import { placeHold } from '../../../../../dataplane/ledger/ledger-core.ts';
import { holdRequest, limits, moneyLimits, NOON_MS, origin, progress } from '../calls.ts';

const SPENDING = limits({ keyLimitNanoUsd: 100n, period: 'Monthly', keyGeneration: 7n, accountGeneration: 8n });
const PROGRESS = progress(3n, { upstreamCostNanoUsd: 2n });

function holdOf(callId: string) {
  const request = holdRequest(callId, 60n, { limits: SPENDING, progress: PROGRESS });
  return placeHold(createBalances(), request, NOON_MS).pending?.hold ?? assert.fail();
}

function storedFrom(text: string) {
  const call = decodeCall([1n, text, null]);
  return 'running' in call ? call.running : assert.fail();
}

describe('a hold in the file', () => {
  it('is read as it was written', () => {
    const { origin: of, limits: all, grantedNanoUsd, admittedMs, day, month, renewedMs } = holdOf('a');
    const [dayStartMs, monthStartMs] = [day.startMs, month.startMs];
    const times = { admittedMs, dayStartMs, monthStartMs, renewedMs };
    const stored = { origin: of, progress: PROGRESS, limits: all, grantedNanoUsd, ...times };
    assert.deepEqual(storedFrom(encodeHold(holdOf('a'))), stored);
    assert.deepEqual(all, moneyLimits(SPENDING, of));
  });

  it('of the version before has a quota and a credit in place of a list', () => {
    const written: unknown = JSON.parse(encodeHold(holdOf('a')));
    assert.ok(typeof written === 'object' && written);
    for (const [keyLimitNanoUsd, known] of [
      ['100', 100n],
      [null, null],
    ] as const) {
      const before = { keyLimitNanoUsd, period: 'Monthly', accountCreditNanoUsd: '1000000' };
      const expected = { ...SPENDING, keyLimitNanoUsd: known, keyGeneration: 0n, accountGeneration: 0n };
      assert.deepEqual(
        storedFrom(JSON.stringify({ ...written, limits: before })).limits,
        moneyLimits(expected, origin('a')),
      );
    }
  });
});
