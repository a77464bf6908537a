import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { AccountSpending, CalendarWindow, KeySpending } from '#ledger/spending.ts';
import type { AccountLimit, KeyQuota } from '../../../../dataplane/ledger/ledger.ts';
import { spanAt } from '#ledger/periods.ts';
import { fundsUnder, outOfMoney, readFunds, usedUp } from '../../../../dataplane/pipeline/out-of-money.ts';
import type { KeyState } from '../../../../dataplane/state/state.ts';
import { DAY_MS, NOON_MS } from '../ledger/calls.ts';

const USD = 1_000_000_000n;
const KEY: Pick<KeyState, 'uid' | 'namespace' | 'name' | 'account'> = {
  uid: 'key-1',
  namespace: 'team-a',
  name: 'ci',
  account: 'team-a/budget',
};
const LIMIT: AccountLimit = {
  scope: 'Account',
  id: 'account/team-a/budget',
  measure: 'UsdNano',
  amountNanoUsd: 100n * USD,
  window: 'Week',
  timeZone: 'Europe/Berlin',
  generation: 1n,
  isLimit: true,
};
const QUOTA: KeyQuota = { ...LIMIT, scope: 'Key', id: 'key/key-1' };

/** A ledger in which everybody has spent so much in every window. */
function ledgerWith(spentNanoUsd: bigint) {
  const week = { ...spanAt('Week', NOON_MS, 'Europe/Berlin'), spentNanoUsd, heldNanoUsd: 0n };
  return {
    readKey: async (): Promise<KeySpending> => ({
      periodStartMs: week.startMs,
      resetsMs: week.endMs,
      spentNanoUsd,
      heldNanoUsd: 0n,
      totalSpentNanoUsd: 0n,
      lastUsedMs: null,
    }),
    readAccount: async (_account: string, windows: readonly unknown[] = []): Promise<AccountSpending> => ({
      spentNanoUsd: windows.length > 0 ? 0n : spentNanoUsd,
      heldNanoUsd: 0n,
      ...(windows.length > 0 && { windows: [week] }),
    }),
  };
}

const CALL = { costNanoUsd: 30n * USD, neededNanoUsd: 30n * USD, fittingOutput: undefined, thinkingBudget: undefined };

describe('a refusal by a limit in a window', () => {
  it('of an account names the limit, what is left and when it begins anew', async () => {
    const [funds = assert.fail()] = await readFunds({ ledger: ledgerWith(90n * USD) }, KEY, [LIMIT]);
    const error = outOfMoney(funds, { ...CALL, freeNanoUsd: 10n * USD });
    assert.equal(error.code, 'insufficient_quota');
    assert.deepEqual(error.details, { fundsOf: 'AccountLimit', exceededLimitNanoUsd: 100n * USD });
    assert.equal(
      error.message,
      'This call may cost up to $30.00, and $10.00 is left of the limit of $100.00 for the week from 16 November of this ' +
        "key's account team-a/budget, which starts anew on 23 November (Europe/Berlin). Whoever manages the account can " +
        'raise it: spec.limits of Account team-a/budget.',
    );
  });

  it('of a call speaks of the window that the ledger refused it in, whatever the time is now', () => {
    const short = {
      limit: LIMIT,
      spentNanoUsd: 100n * USD,
      span: spanAt('Week', NOON_MS - 7 * DAY_MS, 'Europe/Berlin'),
    };
    assert.match(
      outOfMoney(fundsUnder({}, KEY, short), { ...CALL, freeNanoUsd: 0n }).message,
      /has used up its limit of \$100\.00 for the week from 9 November; it starts anew on 16 November/,
    );
  });

  it('of an account says that it is used up', async () => {
    const [funds = assert.fail()] = await readFunds({ ledger: ledgerWith(100n * USD) }, KEY, [LIMIT]);
    assert.equal(
      usedUp(funds).message,
      'The account team-a/budget of this key has used up its limit of $100.00 for the week from 16 November; it starts ' +
        'anew on 23 November (Europe/Berlin). Whoever manages the account can raise it: spec.limits of Account team-a/budget.',
    );
  });

  it('in total has no beginning', async () => {
    const { timeZone: _zone, ...total } = LIMIT;
    const [funds = assert.fail()] = await readFunds({ ledger: ledgerWith(100n * USD) }, KEY, [
      { ...total, window: 'Total' },
    ]);
    assert.match(
      usedUp(funds).message,
      /^The account team-a\/budget of this key has used up its limit of \$100\.00\. Whoever/,
    );
  });

  it('is read with the others of its account at one moment', async () => {
    const asked: unknown[] = [];
    const ledger = {
      ...ledgerWith(50n * USD),
      readAccount: async (account: string, windows: readonly CalendarWindow[] = []): Promise<AccountSpending> => {
        asked.push([account, windows]);
        const inWindows = windows.map(({ kind, timeZone }, index) => ({
          ...spanAt(kind, NOON_MS, timeZone),
          spentNanoUsd: BigInt(index),
          heldNanoUsd: 0n,
        }));
        return { spentNanoUsd: 70n, heldNanoUsd: 0n, windows: inWindows };
      },
    };
    const { isLimit: _limit, timeZone: _zone, ...credit } = LIMIT;
    const limits = [
      { ...QUOTA, amountNanoUsd: null },
      { ...credit, window: 'Total' as const },
      LIMIT,
      { ...LIMIT, window: 'Day' as const },
    ];
    const funds = await readFunds({ ledger }, KEY, limits);
    assert.deepEqual(
      funds.map(({ of, spentNanoUsd, period }) => [of, spentNanoUsd, period?.window]),
      [
        ['Account', 70n, undefined],
        ['AccountLimit', 0n, 'Week'],
        ['AccountLimit', 1n, 'Day'],
      ],
    );
    const windows = ['Week', 'Day'].map((kind) => ({ kind, timeZone: 'Europe/Berlin' }));
    assert.deepEqual(asked, [['team-a/budget', windows]]);
  });

  it("of a key is the quota's", async () => {
    const [funds = assert.fail()] = await readFunds({ ledger: ledgerWith(100n * USD) }, KEY, [QUOTA]);
    assert.match(
      usedUp(funds).message,
      /^This key has used up its quota of \$100\.00 for the week from 16 November; it starts anew on 23 November \(Europe\/Berlin\)\./,
    );
  });
});
