import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createBooks } from '../../../dataplane/ledger/books.ts';
import { changesFiled, changesSince } from '../../../dataplane/ledger/changed-spending.ts';
import { confirmHold, placeHold, readKeySpending, settleCall, withdrawHold } from '../../../dataplane/ledger/ledger-core.ts';
import type { PendingHold } from '../../../dataplane/ledger/ledger-core.ts';
import { holdRequest, NOON_MS, origin, settlement } from './calls.ts';

const KEYS = ['key-1', 'key-2', 'key-3'];
const ACCOUNTS = ['team/a', 'team/b'];

/** Books, and what somebody knows who reads only what he is told to. */
function scene() {
  const books = createBooks();
  const known = new Map<string, unknown>();
  let mark: object | undefined;
  const keyNow = (uid: string): unknown => ({ ...readKeySpending(books, uid, { period: 'Never', nowMs: NOON_MS }) });
  const accountNow = (id: string): unknown => {
    const { spentNanoUsd = 0n, heldNanoUsd = 0n } = books.accounts.get(id) ?? {};
    return { spentNanoUsd, heldNanoUsd };
  };
  /** Asks who is to be read; what is given reads them, then or later. */
  const ask = () => {
    const changes = changesSince(books, mark);
    ({ mark } = changes);
    return (): { readonly keys: readonly string[] | undefined; readonly accounts: readonly string[] | undefined } => {
      for (const uid of changes.keys ?? KEYS) known.set(uid, keyNow(uid));
      for (const id of changes.accounts ?? ACCOUNTS) known.set(id, accountNow(id));
      return { keys: changes.keys?.toSorted(), accounts: changes.accounts?.toSorted() };
    };
  };
  const read = () => ask()();
  const hold = (callId: string, { key = KEYS[0], account = ACCOUNTS[0], nowMs = NOON_MS } = {}): PendingHold => {
    const { pending } = placeHold(books, holdRequest(callId, 10n, { origin: { ...origin(callId), keyUid: key ?? '', account: account ?? '' } }), nowMs);
    assert.ok(pending);
    confirmHold(books, pending);
    return pending;
  };
  const assertKnown = (): void => {
    for (const uid of KEYS) assert.deepEqual(known.get(uid), keyNow(uid), uid);
    for (const id of ACCOUNTS) assert.deepEqual(known.get(id), accountNow(id), id);
  };
  return { books, ask, read, hold, assertKnown };
}

const EVERYBODY = { keys: undefined, accounts: undefined };
const NOBODY = { keys: [], accounts: [] };
const ONE = { keys: ['key-1'], accounts: ['team/a'] };

describe('whose spending has changed', () => {
  it('is everybody\'s for who asks first, or with a mark that is not the latest', () => {
    const { books, read } = scene();
    assert.deepEqual(read(), EVERYBODY);
    assert.deepEqual(read(), NOBODY);
    const { mark } = changesSince(books, undefined);
    assert.deepEqual(read(), EVERYBODY);
    assert.deepEqual(Object.keys(changesSince(books, mark)), ['mark']);
  });

  it('is theirs who have a call in flight, and theirs who had one when it was asked for last', () => {
    const { books, read, hold } = scene();
    read();
    hold('a');
    assert.deepEqual(read(), ONE);
    assert.deepEqual(read(), ONE);
    settleCall(books, settlement('a', 4n), NOON_MS);
    changesFiled(books);
    assert.deepEqual(read(), ONE);
    assert.deepEqual(read(), NOBODY);
  });

  it('is told whether or not the file has it', () => {
    const { books, read, hold } = scene();
    read();
    hold('a');
    settleCall(books, settlement('a', 4n), NOON_MS);
    changesFiled(books);
    hold('b', { key: 'key-2' });
    settleCall(books, settlement('b', 4n), NOON_MS);
    assert.deepEqual(read(), { keys: ['key-1', 'key-2'], accounts: ['team/a'] });
    changesFiled(books);
    assert.equal(books.changedKeys.size + books.changedAccounts.size, 0);
  });

  it('is theirs whose hold came after it was asked for, was read, and is withdrawn', () => {
    const { books, ask, read, hold, assertKnown } = scene();
    hold('a');
    settleCall(books, settlement('a', 4n), NOON_MS);
    changesFiled(books);
    const readAll = ask();
    const pending = hold('b');
    readAll();
    withdrawHold(books, pending);
    assert.deepEqual(read(), ONE);
    assertKnown();
  });

  it('lets who reads only what is told know all, whatever happens', () => {
    type Step = { readonly do: 'read' | 'file' | 'hold' | 'settle' | 'withdraw'; readonly key: number; readonly account: number };
    const step: fc.Arbitrary<Step> = fc.record({ do: fc.constantFrom('read', 'file', 'hold', 'settle', 'withdraw'), key: fc.nat(KEYS.length - 1), account: fc.nat(ACCOUNTS.length - 1) });
    fc.assert(fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { books, read, hold, assertKnown } = scene();
      const inFlight: PendingHold[] = [];
      for (const [index, { do: what, key, account }] of steps.entries()) {
        if (what === 'hold') inFlight.push(hold(`call-${index}`, { key: KEYS[key], account: ACCOUNTS[account], nowMs: NOON_MS + index }));
        if (what === 'file') changesFiled(books);
        if (what === 'read') {
          read();
          assertKnown();
        }
        const pending = what === 'settle' || what === 'withdraw' ? inFlight.shift() : undefined;
        if (!pending) continue;
        if (what === 'withdraw') withdrawHold(books, pending);
        else settleCall(books, settlement(pending.hold.origin.callId, 3n), NOON_MS);
      }
      read();
      assertKnown();
    }), { numRuns: 1000 });
  });
});
