/**
 * The file: its schema, its versions, and how it is opened. `user_version` is the schema's version, `application_id` tells a
 * ledger from other SQLite files. Amounts are 64-bit integers of nano-USD, times are milliseconds since the epoch.
 */
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import type { StoredBooks } from './embedded-messages.ts';
import type { FileMark } from './journal-segments.ts';
import { ACCOUNT_COLUMNS, decodeMark, HOLD_COLUMNS, JOB_COLUMNS, KEY_COLUMNS } from './embedded-rows.ts';
import type { Row } from './row-reader.ts';

/** "MGWL" */
const APPLICATION_ID = 0x4d47574c;

const CALL_COLUMNS = `
  key_uid TEXT NOT NULL, account TEXT NOT NULL, created_ms INTEGER NOT NULL,
  group_name TEXT NOT NULL, model TEXT NOT NULL, channel TEXT NOT NULL, catalog TEXT NOT NULL,
  cost_nano_usd INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL, usage_source TEXT NOT NULL`;

/**
 * The step at index n leads from version n to n + 1; an empty file is version 0. A published step is never edited: a change
 * of the schema is a further step.
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
  // holds are kept in the journal from here on: the table has those of a process that knew no journal
  `CREATE TABLE journal (id INTEGER PRIMARY KEY CHECK (id = 1), ledger_id TEXT NOT NULL, folded INTEGER NOT NULL) STRICT;
   INSERT INTO journal VALUES (1, lower(hex(randomblob(8))), 0);
   CREATE TABLE jobs (call_id TEXT NOT NULL, key_uid TEXT NOT NULL, account TEXT NOT NULL, created_ms INTEGER NOT NULL, group_name TEXT NOT NULL,
     model TEXT NOT NULL, channel TEXT NOT NULL, catalog TEXT NOT NULL, job_id TEXT NOT NULL, cost_nano_usd INTEGER NOT NULL,
     day_start_ms INTEGER NOT NULL, month_start_ms INTEGER NOT NULL, state TEXT NOT NULL, poll_ms INTEGER NOT NULL, ended_ms INTEGER,
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
  // an index costs a record more than all the rest of it: usage-index.ts has what stands in its place
  `DROP INDEX usage_by_call;
   CREATE TABLE usage_blocks (block INTEGER PRIMARY KEY, ids BLOB NOT NULL) STRICT;`,
];

/** What an acknowledged step survives: the end of the process (normal), or of the machine too (full). */
export type LedgerSync = 'normal' | 'full';

/** So long the thread waits for someone else who writes to the file: nobody waits for it. */
const BUSY_TIMEOUT_MS = 2_000;
/** Pages in the write-ahead log before they are moved to the file. */
const CHECKPOINT_PAGES = 4000;

/**
 * Opens the file and brings it to this version's schema. Throws with a message that says what is wrong with it. Commits are
 * always synchronous: after one, what it has taken in leaves the journal.
 */
export function openFile(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY`);
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function migrate(db: DatabaseSync): void {
  const version = readPragma(db, 'user_version');
  const application = readPragma(db, 'application_id');
  const empty = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n'] === 0;
  if (!empty && application !== APPLICATION_ID) throw new Error('it is an SQLite file, but not a ledger');
  if (version > MIGRATIONS.length)
    throw new Error(`its schema has version ${version}, and this program knows only ${MIGRATIONS.length}: it was written by a newer one`);
  if (version === MIGRATIONS.length) return;
  db.exec('BEGIN IMMEDIATE');
  for (const step of MIGRATIONS.slice(version)) db.exec(step);
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
}

function readPragma(db: DatabaseSync, name: 'user_version' | 'application_id'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/** Reads all that the books are made of, and checks these tables; usage records are not read. */
export function readStoredBooks(db: DatabaseSync): StoredBooks {
  for (const table of ['keys', 'accounts', 'holds', 'jobs']) {
    const verdict = db.prepare(`PRAGMA integrity_check('${table}')`).get()?.['integrity_check'];
    if (verdict !== 'ok') throw new Error(`its table ${table} is damaged: ${String(verdict)}`);
  }
  return {
    keys: readRows(db, `SELECT ${KEY_COLUMNS.join(', ')} FROM keys`),
    accounts: readRows(db, `SELECT ${ACCOUNT_COLUMNS.join(', ')} FROM accounts`),
    holds: readRows(db, `SELECT ${HOLD_COLUMNS.join(', ')} FROM holds`),
    jobs: readRows(db, `SELECT ${JOB_COLUMNS.join(', ')} FROM jobs WHERE state = 'Running'`),
  };
}

/** How far the file has taken in its journal. */
export function readMark(db: DatabaseSync): FileMark {
  const [row] = readRows(db, 'SELECT ledger_id, folded FROM journal');
  if (!row) throw new Error('it does not say what it has of its journal');
  return decodeMark(row);
}

function readRows(db: DatabaseSync, sql: string): Row[] {
  return rowsOf(prepareRows(db, sql).all());
}

/** A query whose rows come as arrays, with integers as BigInt. */
export function prepareRows(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  return statement;
}

/** The rows of such a query: its declared type knows nothing of arrays. */
export function rowsOf(rows: readonly unknown[]): Row[] {
  return rows.filter(isRow);
}

function isRow(row: unknown): row is Row {
  return Array.isArray(row);
}
