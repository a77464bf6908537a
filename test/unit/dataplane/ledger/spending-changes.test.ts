import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { markWritten, changesSince, createBalances } from '../../../../dataplane/ledger/balances.ts';
import {
  confirmHold,
  placeHold,
  readKeySpending,
  settleCall,
  withdrawHold,
} from '../../../../dataplane/ledger/ledger-core.ts';
import type { PendingHold } from '../../../../dataplane/ledger/ledger-core.ts';
import { holdRequest, NOON_MS, origin, settlement } from './calls.ts';

const KEYS = ['key-1', 'key-2', 'key-3'];
const ACCOUNTS = ['team/a', 'team/b'];

/** Balances, and a reader that reads only reported changes. */
function scene() {
  const balances = createBalances();
  const known = new Map<string, unknown>();
  let mark: object | undefined;
  const keyNow = (uid: string): unknown => ({ ...readKeySpending(balances, uid, { period: 'Never', nowMs: NOON_MS }) });
  const accountNow = (id: string): unknown => {
    const { spentNanoUsd = 0n, heldNanoUsd = 0n } = balances.accounts.get(id) ?? {};
    return { spentNanoUsd, heldNanoUsd };
  };
  /** Gets the changes to read; the returned function reads them, now or later. */
  const ask = () => {
    const changes = changesSince(balances, mark);
    ({ mark } = changes);
    return (): { readonly keys: readonly string[] | undefined; readonly accounts: readonly string[] | undefined } => {
      for (const uid of changes.keys ?? KEYS) known.set(uid, keyNow(uid));
      for (const id of changes.accounts ?? ACCOUNTS) known.set(id, accountNow(id));
      return { keys: changes.keys?.toSorted(), accounts: changes.accounts?.toSorted() };
    };
  };
  const read = () => ask()();
  const hold = (callId: string, { key = KEYS[0], account = ACCOUNTS[0], nowMs = NOON_MS } = {}): PendingHold => {
    const { pending } = placeHold(
      balances,
      holdRequest(callId, 10n, { origin: { ...origin(callId), keyUid: key ?? '', account: account ?? '' } }),
      nowMs,
    );
    assert.ok(pending);
    confirmHold(balances, pending);
    return pending;
  };
  const assertKnown = (): void => {
    for (const uid of KEYS) assert.deepEqual(known.get(uid), keyNow(uid), uid);
    for (const id of ACCOUNTS) assert.deepEqual(known.get(id), accountNow(id), id);
  };
  return { balances, ask, read, hold, assertKnown };
}

const EVERYBODY = { keys: undefined, accounts: undefined };
const NOBODY = { keys: [], accounts: [] };
const ONE = { keys: ['key-1'], accounts: ['team/a'] };

describe('the keys and accounts whose spending has changed', () => {
  it('include all for the first reader, or with an outdated mark', () => {
    const { balances, read } = scene();
    assert.deepEqual(read(), EVERYBODY);
    assert.deepEqual(read(), NOBODY);
    const { mark } = changesSince(balances, undefined);
    assert.deepEqual(read(), EVERYBODY);
    assert.deepEqual(Object.keys(changesSince(balances, mark)), ['mark']);
  });

  it('include those with a call in flight now or at the last read', () => {
    const { balances, read, hold } = scene();
    read();
    hold('a');
    assert.deepEqual(read(), ONE);
    assert.deepEqual(read(), ONE);
    settleCall(balances, settlement('a', 4n), NOON_MS);
    markWritten(balances);
    assert.deepEqual(read(), ONE);
    assert.deepEqual(read(), NOBODY);
  });

  it('are reported whether or not the change is in the file', () => {
    const { balances, read, hold } = scene();
    read();
    hold('a');
    settleCall(balances, settlement('a', 4n), NOON_MS);
    markWritten(balances);
    hold('b', { key: 'key-2' });
    settleCall(balances, settlement('b', 4n), NOON_MS);
    assert.deepEqual(read(), { keys: ['key-1', 'key-2'], accounts: ['team/a'] });
    markWritten(balances);
    assert.equal(balances.changedKeys.size + balances.changedAccounts.size, 0);
  });

  it('include those with a hold that was taken, read and withdrawn since', () => {
    const { balances, ask, read, hold, assertKnown } = scene();
    hold('a');
    settleCall(balances, settlement('a', 4n), NOON_MS);
    markWritten(balances);
    const readAll = ask();
    const pending = hold('b');
    readAll();
    withdrawHold(balances, pending);
    assert.deepEqual(read(), ONE);
    assertKnown();
  });

  it('keep a reader of changes only complete in every history', () => {
    type Step = {
      readonly do: 'read' | 'file' | 'hold' | 'settle' | 'withdraw';
      readonly key: number;
      readonly account: number;
    };
    const step: fc.Arbitrary<Step> = fc.record({
      do: fc.constantFrom('read', 'file', 'hold', 'settle', 'withdraw'),
      key: fc.nat(KEYS.length - 1),
      account: fc.nat(ACCOUNTS.length - 1),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { balances, read, hold, assertKnown } = scene();
        const inFlight: PendingHold[] = [];
        for (const [index, { do: what, key, account }] of steps.entries()) {
          if (what === 'hold')
            inFlight.push(
              hold(`call-${index}`, { key: KEYS[key], account: ACCOUNTS[account], nowMs: NOON_MS + index }),
            );
          if (what === 'file') markWritten(balances);
          if (what === 'read') {
            read();
            assertKnown();
          }
          const pending = what === 'settle' || what === 'withdraw' ? inFlight.shift() : undefined;
          if (!pending) continue;
          if (what === 'withdraw') withdrawHold(balances, pending);
          else settleCall(balances, settlement(pending.hold.origin.callId, 3n), NOON_MS);
        }
        read();
        assertKnown();
      }),
      { numRuns: 1000 },
    );
  });
});
