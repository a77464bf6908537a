import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { Period } from '../../../../contract/snapshot/snapshot.gen.ts';
import type { SpendingLimit } from '../../../../contract/snapshot/snapshot.gen.ts';
import { tightensAccount, tightensKey } from '../../../../contract/snapshot/tightening.ts';
import { accountOf, keyOf } from './objects.ts';

const WEEK: SpendingLimit = { nanoUsd: 5n, period: Period.WEEKLY, timeZone: 'UTC' };

describe('an edit of limits on money is urgent', () => {
  const withLimits = (...limits: SpendingLimit[]) => ({
    ...accountOf('a'),
    ...(limits.length > 0 && { creditNanoUsd: -1n, limitedCreditNanoUsd: 1_000_000_000n }),
    limits,
  });

  it('if an account has a new or a lower limit', () => {
    assert.ok(tightensAccount(withLimits(), withLimits(WEEK)));
    assert.ok(tightensAccount(withLimits(WEEK), withLimits({ ...WEEK, nanoUsd: 4n })));
    assert.ok(tightensAccount(withLimits(WEEK), withLimits({ ...WEEK, timeZone: 'Asia/Tokyo' })));
  });

  it('and not if it has the same, a higher or none', () => {
    assert.ok(!tightensAccount(withLimits(WEEK), withLimits(WEEK)));
    assert.ok(!tightensAccount(withLimits(WEEK), withLimits({ ...WEEK, nanoUsd: 6n })));
    assert.ok(!tightensAccount(withLimits(WEEK), withLimits()));
  });

  it('if a key may spend less in its period', () => {
    const before = keyOf('k', { limitNanoUsd: 0n, quota: WEEK });
    assert.ok(tightensKey(before, keyOf('k', { limitNanoUsd: 0n, quota: { ...WEEK, nanoUsd: 4n } })));
    assert.ok(!tightensKey(before, keyOf('k', { limitNanoUsd: 0n, quota: { ...WEEK, nanoUsd: 6n } })));
  });
});
