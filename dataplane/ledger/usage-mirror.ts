/**
 * A copy of a shared ledger's records in an SQLite file of this process's own, with the tables that a ledger's file
 * has. SQLite puts the file into the folder for temporary files (SQLITE_TMPDIR, TMPDIR, /var/tmp or /tmp) and removes
 * its name at once, so that it goes with the process. Every method throws where there is no room for it.
 */
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { decodeCount, RECORD_COLUMNS, recordRow } from './embedded/rows.ts';
import { prepareRows, rowsOf } from './embedded/schema.ts';
import { CALL_COLUMNS, USAGE_SUMS } from './usage-schema.ts';
import { UsageTables } from './usage-tables.ts';
import type { StreamId, StreamRecord } from './valkey-reader.ts';

/** SQLite's name for a temporary database. */
const TEMPORARY = '';
/** Below the size of the chart's volume, beyond which the kubelet would evict the pod. */
const MAX_BYTES = 1.5 * 2 ** 30;
const PAGE_BYTES = 4096;
/** A crash leaves no file that could be half written, so nothing waits for the disk. */
const SETTINGS = `PRAGMA page_size = ${PAGE_BYTES}; PRAGMA max_page_count = ${MAX_BYTES / PAGE_BYTES};
  PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384`;
const SCHEMA = `CREATE TABLE usage (entry_ms INTEGER NOT NULL, entry_seq INTEGER NOT NULL, call_id TEXT NOT NULL,
    ${CALL_COLUMNS}, status TEXT NOT NULL, unbilled_nano_usd INTEGER NOT NULL, duration_ms INTEGER NOT NULL) STRICT;
  CREATE INDEX usage_by_entry ON usage (account, entry_ms, entry_seq);
  ${USAGE_SUMS}`;

export class UsageMirror {
  readonly tables: UsageTables;
  readonly #db: DatabaseSync;
  readonly #removeCall: StatementSync;
  readonly #insert: StatementSync;
  readonly #remove: StatementSync;

  constructor() {
    const db = new DatabaseSync(TEMPORARY);
    db.exec(`${SETTINGS}; ${SCHEMA}`);
    this.#db = db;
    this.tables = new UsageTables(db);
    this.#removeCall = db.prepare('DELETE FROM usage WHERE account = ? AND created_ms = ? AND call_id = ?');
    this.#insert = db.prepare(`INSERT INTO usage (entry_ms, entry_seq, ${RECORD_COLUMNS.join(', ')})
      VALUES (?, ?, ${RECORD_COLUMNS.map(() => '?').join(', ')})`);
    this.#remove = prepareRows(db, `DELETE FROM usage WHERE rowid IN (SELECT rowid FROM usage WHERE account = :account
      AND (entry_ms, entry_seq) < (:ms, :seq) ORDER BY entry_ms, entry_seq LIMIT :most) RETURNING created_ms`);
  }

  /** All of them or (throwing) none. A record replaces an earlier one of its call. Returns how many are new. */
  add(records: readonly StreamRecord[]): number {
    let added = records.length;
    this.#db.exec('BEGIN');
    try {
      for (const { id, record } of records) {
        added -= Number(this.#removeCall.run(record.account, record.createdMs, record.callId).changes);
        this.#insert.run(id.ms, id.seq, ...recordRow(record));
      }
      this.#db.exec('COMMIT');
      return added;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  /** Removes the account's first records before an entry, at most so many. Returns the admissions of those removed. */
  remove(account: string, before: StreamId, most: number): number[] {
    return rowsOf(this.#remove.all({ account, ms: before.ms, seq: before.seq, most })).map(decodeCount);
  }

  close(): void {
    this.#db.close();
  }
}
