/** The ledger's file as it stands on disk, read beside whoever writes it: what is in it is what a crash leaves. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

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

export interface BookHold {
  readonly id: string;
  readonly key: string;
  /** Last recorded progress: what it costs if its process dies now. */
  readonly costNanoUsd: bigint;
  readonly heldNanoUsd: bigint;
  readonly input: number;
  readonly output: number;
}

export interface BooksOnDisk {
  readonly records: readonly BookRecord[];
  readonly holds: readonly BookHold[];
  /** Spent in total, by key uid and by account. */
  readonly keys: ReadonlyMap<string, bigint>;
  readonly accounts: ReadonlyMap<string, bigint>;
}

type Row = Readonly<Record<string, unknown>>;

export function readBooks(dataDir: string): BooksOnDisk {
  const db = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true, timeout: 5_000 });
  try {
    // one moment for all four tables
    db.exec('BEGIN');
    const all = (sql: string): Row[] => {
      const statement = db.prepare(sql);
      statement.setReadBigInts(true);
      return statement.all();
    };
    return {
      records: all('SELECT * FROM usage').map((row) => ({ ...callOf(row), status: String(row['status']), unbilledNanoUsd: row['unbilled_nano_usd'] as bigint })),
      holds: all('SELECT * FROM holds').map((row) => ({ ...callOf(row), heldNanoUsd: row['held_nano_usd'] as bigint })),
      keys: new Map(all('SELECT * FROM keys').map((row) => [String(row['uid']), row['total_spent_nano_usd'] as bigint])),
      accounts: new Map(all('SELECT * FROM accounts').map((row) => [String(row['id']), row['spent_nano_usd'] as bigint])),
    };
  } finally {
    db.close();
  }
}

function callOf(row: Row): Omit<BookRecord, 'status' | 'unbilledNanoUsd'> {
  return {
    id: String(row['call_id']), key: String(row['key_uid']), account: String(row['account']), model: String(row['model']),
    costNanoUsd: row['cost_nano_usd'] as bigint, input: Number(row['input']), output: Number(row['output']),
  };
}

/** To the nano-dollar: what keys and accounts have spent is the sum of their records, and nothing is negative. */
export function assertBalanced({ records, keys, accounts }: BooksOnDisk): void {
  const sum = (part: 'key' | 'account', name: string): bigint => records.reduce((total, record) => record[part] === name ? total + record.costNanoUsd : total, 0n);
  for (const [uid, spent] of keys) assert.equal(spent, sum('key', uid), `key ${uid}: spent is not the sum of its records`);
  for (const [id, spent] of accounts) assert.equal(spent, sum('account', id), `account ${id}: spent is not the sum of its records`);
  for (const record of records) {
    assert.ok(keys.has(record.key) && accounts.has(record.account), `record ${record.id} belongs to nobody`);
    assert.ok(record.costNanoUsd >= 0n && record.unbilledNanoUsd >= 0n, `record ${record.id} is negative`);
  }
}
