/**
 * The ledger's file: its schema and versions, and how it is locked, opened and read. `user_version` is the schema's
 * version, `application_id` distinguishes a ledger from other SQLite files. Amounts are 64-bit integers of nano-USD,
 * times are milliseconds since the epoch.
 */
import { DatabaseSync } from 'node:sqlite';
import { keepToOwner } from '#runtime/owner-only.ts';
import { prepareRows, rowsOf, sqliteCode } from '#usage/sqlite.ts';
import { CALL_COLUMNS, KEY_NAMES, USAGE_SUMS } from '#usage/schema.ts';
import { findDamage } from './log-damage.ts';
import type { StoredBalances } from './restore.ts';
import { ACCOUNT_COLUMNS, CALL_COLUMNS as STORED_CALL_COLUMNS, JOB_COLUMNS, KEY_COLUMNS } from './rows.ts';
import type { Row } from '#usage/rows.ts';

/** "MGWL" */
const APPLICATION_ID = 0x4d47574c;

/**
 * The step at index n migrates version n to n + 1; an empty file is version 0. A published step is never edited: a
 * change of the schema is a further step.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE keys (uid TEXT PRIMARY KEY, day_start_ms INTEGER NOT NULL, day_spent_nano_usd INTEGER NOT NULL,
     month_start_ms INTEGER NOT NULL, month_spent_nano_usd INTEGER NOT NULL, total_spent_nano_usd INTEGER NOT NULL,
     last_used_ms INTEGER, past_windows TEXT NOT NULL) STRICT, WITHOUT ROWID;
   CREATE TABLE accounts (id TEXT PRIMARY KEY, spent_nano_usd INTEGER NOT NULL) STRICT, WITHOUT ROWID;
   CREATE TABLE holds (call_id TEXT PRIMARY KEY, ${CALL_COLUMNS}, held_nano_usd INTEGER NOT NULL,
     day_start_ms INTEGER NOT NULL, month_start_ms INTEGER NOT NULL, key_limit_nano_usd INTEGER, period TEXT NOT NULL,
     credit_nano_usd INTEGER NOT NULL, renewed_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
   CREATE TABLE usage (seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL UNIQUE, ${CALL_COLUMNS}, status TEXT NOT NULL,
     unbilled_nano_usd INTEGER NOT NULL, duration_ms INTEGER NOT NULL, key_spent_nano_usd INTEGER NOT NULL,
     key_remaining_nano_usd INTEGER, settled_ms INTEGER NOT NULL) STRICT;`,
  // from here on the journal holds the holds; the table has those of earlier versions
  `CREATE TABLE journal (id INTEGER PRIMARY KEY CHECK (id = 1), ledger_id TEXT NOT NULL,
     folded INTEGER NOT NULL) STRICT;
   INSERT INTO journal VALUES (1, lower(hex(randomblob(8))), 0);
   CREATE TABLE jobs (call_id TEXT NOT NULL, key_uid TEXT NOT NULL, account TEXT NOT NULL, created_ms INTEGER NOT NULL,
     group_name TEXT NOT NULL, model TEXT NOT NULL, channel TEXT NOT NULL, catalog TEXT NOT NULL,
     job_id TEXT NOT NULL, cost_nano_usd INTEGER NOT NULL, day_start_ms INTEGER NOT NULL,
     month_start_ms INTEGER NOT NULL, state TEXT NOT NULL, poll_ms INTEGER NOT NULL, ended_ms INTEGER,
     PRIMARY KEY (channel, job_id)) STRICT, WITHOUT ROWID;
   CREATE INDEX jobs_of_keys ON jobs (key_uid, job_id);
   CREATE INDEX jobs_by_end ON jobs (ended_ms) WHERE ended_ms IS NOT NULL;
   CREATE INDEX jobs_running ON jobs (state) WHERE state = 'Running';
   ALTER TABLE usage RENAME TO usage_1;
   CREATE TABLE usage (seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL, ${CALL_COLUMNS}, status TEXT NOT NULL,
     unbilled_nano_usd INTEGER NOT NULL, duration_ms INTEGER NOT NULL, key_spent_nano_usd INTEGER NOT NULL,
     key_remaining_nano_usd INTEGER, settled_ms INTEGER NOT NULL) STRICT;
   INSERT INTO usage SELECT * FROM usage_1;
   DROP TABLE usage_1;
   CREATE INDEX usage_by_call ON usage (seq >> 14, call_id);`,
  // usage_blocks was an index that this program maintained; it is empty now, see USAGE_INDEX
  `DROP INDEX usage_by_call;
   CREATE TABLE usage_blocks (block INTEGER PRIMARY KEY, ids BLOB NOT NULL) STRICT;`,
  USAGE_SUMS,
  "ALTER TABLE usage ADD COLUMN lines TEXT NOT NULL DEFAULT ''",
  "ALTER TABLE usage ADD COLUMN session TEXT NOT NULL DEFAULT ''",
  'ALTER TABLE usage ADD COLUMN upstream_cost_nano_usd INTEGER',
  "ALTER TABLE jobs ADD COLUMN terms TEXT NOT NULL DEFAULT ''",
  `ALTER TABLE usage ADD COLUMN key_name TEXT NOT NULL DEFAULT '';
   ALTER TABLE usage ADD COLUMN labels TEXT NOT NULL DEFAULT ''; ${KEY_NAMES}`,
  `CREATE TABLE conversations (account TEXT NOT NULL, id TEXT NOT NULL, bytes INTEGER NOT NULL, until_ms INTEGER,
     PRIMARY KEY (account, id)) STRICT, WITHOUT ROWID;`,
  // the file is the log now, with the calls in it; the sums are kept by statements; the journal is an earlier version's
  `DROP TRIGGER usage_added; DROP TRIGGER usage_changed; DROP TRIGGER usage_removed; DROP TRIGGER usage_named;
   CREATE INDEX usage_days_empty ON usage_days (calls) WHERE calls = 0;
   CREATE TABLE calls (id INTEGER PRIMARY KEY, running TEXT, settled TEXT) STRICT;
   INSERT INTO calls (running) SELECT json_object(
     'origin', json_object('callId', call_id, 'keyUid', key_uid, 'account', account, 'createdMs', created_ms,
       'group', group_name, 'model', model, 'channel', channel, 'catalog', catalog),
     'progress', json_object('costNanoUsd', CAST(cost_nano_usd AS TEXT), 'usageSource', usage_source,
       'tokens', json_object('input', input, 'cached', cached, 'cacheWrite5m', cache_write_5m,
         'cacheWrite1h', cache_write_1h, 'output', output)),
     'limits', json_object('keyLimitNanoUsd', CAST(key_limit_nano_usd AS TEXT), 'period', period,
       'accountCreditNanoUsd', CAST(credit_nano_usd AS TEXT)),
     'grantedNanoUsd', CAST(held_nano_usd AS TEXT), 'dayStartMs', day_start_ms, 'monthStartMs', month_start_ms,
     'renewedMs', renewed_ms) FROM holds;
   DROP TABLE holds;
   CREATE TABLE log (id INTEGER PRIMARY KEY CHECK (id = 1), begun INTEGER NOT NULL) STRICT;
   INSERT INTO log VALUES (1, 0);`,
  `ALTER TABLE keys ADD COLUMN marks TEXT NOT NULL DEFAULT '';
   ALTER TABLE accounts ADD COLUMN marks TEXT NOT NULL DEFAULT '';
   ALTER TABLE jobs ADD COLUMN admitted_ms INTEGER`,
];

/**
 * Finds records by call id. Ids are random, so that each insertion into one index of all ids would touch another page.
 * Insertions into an index by blocks of records touch the same few pages. Not a migration, because two programs wrote
 * version 3.
 */
const USAGE_INDEX = `CREATE INDEX IF NOT EXISTS usage_by_call ON usage (seq >> 14, call_id);
  DELETE FROM usage_blocks`;
export const USAGE_BLOCK_BITS = 14;

/** How long opening the file waits for another program's lock. */
const BUSY_TIMEOUT_MS = 2_000;

/**
 * Opens the file and migrates its schema. Throws with a message for operators if it is unusable, and reports damage of
 * its log. Commits are synced to disk, and checkpoints are left to the caller.
 */
export function openFile(path: string, onDamage: (reason: string) => void = () => undefined): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    const damage = findDamage(path, db);
    if (damage !== undefined) onDamage(damage);
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;
      PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY`);
    migrate(db);
    db.exec(USAGE_INDEX);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function migrate(db: DatabaseSync): void {
  const version = readPragma(db, 'user_version');
  const application = readPragma(db, 'application_id');
  const isEmpty = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n'] === 0;
  if (!isEmpty && application !== APPLICATION_ID) throw new Error('it is an SQLite file, but not a ledger');
  if (version > MIGRATIONS.length) {
    throw new Error(
      `its schema has version ${version}, and this program knows only ${MIGRATIONS.length}: ` +
        'it was written by a newer one',
    );
  }
  if (version === MIGRATIONS.length) return;
  db.exec('BEGIN IMMEDIATE');
  for (const step of MIGRATIONS.slice(version)) db.exec(step);
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
}

function readPragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/** Reads all balances, and checks their tables. Usage records are not read. */
export function readStoredBalances(db: DatabaseSync): StoredBalances {
  for (const table of ['keys', 'accounts', 'calls', 'jobs']) {
    const verdict = db.prepare(`PRAGMA integrity_check('${table}')`).get()?.['integrity_check'];
    if (verdict !== 'ok') throw new Error(`its table ${table} is damaged: ${String(verdict)}`);
  }
  return {
    keys: readRows(db, `SELECT ${KEY_COLUMNS.join(', ')} FROM keys`),
    accounts: readRows(db, `SELECT ${ACCOUNT_COLUMNS.join(', ')} FROM accounts`),
    calls: readRows(db, `SELECT ${STORED_CALL_COLUMNS.join(', ')} FROM calls ORDER BY id`),
    jobs: readRows(db, `SELECT ${JOB_COLUMNS.join(', ')} FROM jobs WHERE state = 'Running'`),
  };
}

function readRows(db: DatabaseSync, sql: string): Row[] {
  return rowsOf(prepareRows(db, sql).all());
}

/**
 * Locks a ledger for this process. The lock is an open transaction on a side file, which ends with the process. Returns
 * the function that unlocks; throws if another process has the lock.
 */
export function lockLedger(path: string): () => void {
  keepToOwner(`${path}.lock`);
  const db = new DatabaseSync(`${path}.lock`);
  try {
    db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (isBusy(error)) throw new Error(`the ledger ${path} is in use by another process`, { cause: error });
    throw error;
  }
  return () => db.close();
}

/** SQLITE_BUSY or SQLITE_LOCKED. */
export function isBusy(error: unknown): boolean {
  return [5, 6].includes(sqliteCode(error) ?? 0);
}

/** The columns and parameters of an INSERT or REPLACE. */
export function valuesOf(columns: readonly string[]): string {
  return `(${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
}
