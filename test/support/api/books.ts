/** Reads the ledger on disk while the gateway writes it, as a crash would leave it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { CallOrigin, CallProgress } from '#usage/record.ts';
import { readLedgerOnDisk } from '../ledger-on-disk.ts';

export interface BookRecord {
  readonly id: string;
  readonly key: string;
  readonly account: string;
  readonly model: string;
  readonly status: string;
  readonly costNanoUsd: bigint;
  readonly unbilledNanoUsd: bigint;
  readonly input: number;
  readonly output: number;
}

interface BookHold {
  readonly id: string;
  readonly key: string;
  /** The last recorded progress: the cost of the call if its process dies now. */
  readonly costNanoUsd: bigint;
  readonly heldNanoUsd: bigint;
  readonly input: number;
  readonly output: number;
}

export interface BooksOnDisk {
  readonly records: readonly BookRecord[];
  readonly holds: readonly BookHold[];
  /** The total spending by key uid and by account. */
  readonly keys: ReadonlyMap<string, bigint>;
  readonly accounts: ReadonlyMap<string, bigint>;
}

export function readBooks(dataDir: string): BooksOnDisk {
  const ledger = readLedgerOnDisk(join(dataDir, 'ledger.db'), 0);
  assert.ok(ledger, `${dataDir} has no ledger`);
  const { balances, records } = ledger;
  return {
    records: records.map((record) => ({
      ...callOf(record, record),
      status: record.status,
      unbilledNanoUsd: record.unbilledNanoUsd,
    })),
    holds: [...balances.holds.values()].map((hold) => ({
      ...callOf(hold.origin, hold.progress),
      heldNanoUsd: hold.grantedNanoUsd,
    })),
    keys: new Map([...balances.keys.values()].map(({ uid, total }) => [uid, total.spentNanoUsd])),
    accounts: new Map([...balances.accounts.values()].map(({ id, spentNanoUsd }) => [id, spentNanoUsd])),
  };
}

function callOf(
  { callId, keyUid, account, model }: CallOrigin,
  { costNanoUsd, tokens }: CallProgress,
): Omit<BookRecord, 'status' | 'unbilledNanoUsd'> {
  return { id: callId, key: keyUid, account, model, costNanoUsd, input: tokens.input, output: tokens.output };
}

/** Asserts, to the nano-dollar, that spending equals the sum of the records, and that nothing is negative. */
export function assertBalanced({ records, keys, accounts }: BooksOnDisk): void {
  const sum = (part: 'key' | 'account', name: string): bigint =>
    records.reduce((total, record) => (record[part] === name ? total + record.costNanoUsd : total), 0n);
  for (const [uid, spent] of keys)
    assert.equal(spent, sum('key', uid), `key ${uid}: spent is not the sum of its records`);
  for (const [id, spent] of accounts)
    assert.equal(spent, sum('account', id), `account ${id}: spent is not the sum of its records`);
  for (const record of records) {
    assert.ok(keys.has(record.key) && accounts.has(record.account), `record ${record.id} belongs to nobody`);
    assert.ok(record.costNanoUsd >= 0n && record.unbilledNanoUsd >= 0n, `record ${record.id} is negative`);
  }
}
