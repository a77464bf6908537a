/**
 * The ledger's file, read beside whoever writes it: what is spent and held at one moment, and the records of calls. The books
 * as a whole are balanced by promises/books.ts.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ACCOUNT_NAMES, KEY_NAMES, KEYS } from './config.ts';
import type { AccountName, KeyName } from './config.ts';

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly output: number;
}

export interface LedgerRecord {
  readonly seq: number;
  readonly id: string;
  readonly key: string;
  readonly account: string;
  readonly group: string;
  readonly model: string;
  readonly channel: string;
  /** Admission. */
  readonly createdMs: number;
  readonly status: string;
  readonly usageSource: string;
  readonly tokens: Tokens;
  readonly costNanoUsd: bigint;
  readonly unbilledNanoUsd: bigint;
}

/** All of it at one moment. */
export interface Tally {
  /** Of a key in its period. */
  readonly spent: Readonly<Record<KeyName, bigint>>;
  readonly held: Readonly<Record<KeyName, bigint>>;
  readonly holds: Readonly<Record<KeyName, number>>;
  readonly accountSpent: Readonly<Record<AccountName, bigint>>;
  readonly accountHeld: Readonly<Record<AccountName, bigint>>;
}

type Row = Readonly<Record<string, unknown>>;

/** The key's identity in the ledger. */
export function uidOf(name: KeyName): string {
  return `team/${name}`;
}

/** Records beyond this one, in the order of their settlement. */
export function readRecords(dataDir: string, afterSeq: number): LedgerRecord[] {
  return reading(dataDir, (all) => all(`SELECT * FROM usage WHERE seq > ${afterSeq} ORDER BY seq`).map(recordOf)) ?? [];
}

/** Undefined: there is no file yet. */
export function readTally(dataDir: string, nowMs = Date.now()): Tally | undefined {
  return reading(dataDir, (all) => {
    const holds = all('SELECT key_uid, account, held_nano_usd FROM holds');
    const keys = new Map(all('SELECT * FROM keys').map((row) => [row['uid'], row]));
    const accounts = new Map(all('SELECT * FROM accounts').map((row) => [row['id'], row['spent_nano_usd'] as bigint]));
    const heldOf = (column: string, value: string): bigint => holds.reduce((sum, row) => row[column] === value ? sum + (row['held_nano_usd'] as bigint) : sum, 0n);
    return {
      spent: byName(KEY_NAMES, (name) => spentOf(keys.get(uidOf(name)), name, nowMs)),
      held: byName(KEY_NAMES, (name) => heldOf('key_uid', uidOf(name))),
      holds: byName(KEY_NAMES, (name) => holds.filter((row) => row['key_uid'] === uidOf(name)).length),
      accountSpent: byName(ACCOUNT_NAMES, (name) => accounts.get(`team/${name}`) ?? 0n),
      accountHeld: byName(ACCOUNT_NAMES, (name) => heldOf('account', `team/${name}`)),
    };
  });
}

function reading<T>(dataDir: string, read: (all: (sql: string) => Row[]) => T): T | undefined {
  const path = join(dataDir, 'ledger.db');
  if (!existsSync(path)) return undefined;
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    db.exec('BEGIN');
    return read((sql) => {
      const statement = db.prepare(sql);
      statement.setReadBigInts(true);
      return statement.all();
    });
  } finally {
    db.close();
  }
}

function recordOf(row: Row): LedgerRecord {
  const [text, count] = [(name: string): string => String(row[name]), (name: string): number => Number(row[name])];
  return {
    seq: count('seq'), id: text('call_id'), key: text('key_uid'), account: text('account'), group: text('group_name'), model: text('model'), channel: text('channel'),
    createdMs: count('created_ms'), status: text('status'), usageSource: text('usage_source'),
    tokens: { input: count('input'), cached: count('cached'), cacheWrite5m: count('cache_write_5m'), cacheWrite1h: count('cache_write_1h'), output: count('output') },
    costNanoUsd: row['cost_nano_usd'] as bigint, unbilledNanoUsd: row['unbilled_nano_usd'] as bigint,
  };
}

function spentOf(row: Row | undefined, name: KeyName, nowMs: number): bigint {
  if (!row) return 0n;
  const now = new Date(nowMs);
  switch (KEYS[name].period) {
    case 'Never': return row['total_spent_nano_usd'] as bigint;
    case 'Daily': return Number(row['day_start_ms']) === Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()) ? row['day_spent_nano_usd'] as bigint : 0n;
    case 'Monthly': return Number(row['month_start_ms']) === Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1) ? row['month_spent_nano_usd'] as bigint : 0n;
  }
}

export function byName<K extends string, V>(names: readonly K[], value: (name: K) => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, V>;
}
