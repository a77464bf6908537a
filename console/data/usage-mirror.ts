/**
 * A copy of a shared ledger's records in an SQLite file, with the tables of a ledger's file and the position in each
 * account's stream. Records and position change in one transaction, so that copying continues after a restart. Only one
 * process uses a file. Every method throws if the database cannot be read or written.
 */
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { keepToOwner } from '#runtime/owner-only.ts';
import { OPTIONAL_FIELDS } from '#usage/optional-fields.ts';
import { decodeCount, RECORD_COLUMNS, recordRow, RowReader } from '#usage/rows.ts';
import type { Row } from '#usage/rows.ts';
import { prepareRows, rowsOf, sqliteCode } from '#usage/sqlite.ts';
import { CALL_COLUMNS, KEY_NAMES, USAGE_SUMS } from '#usage/schema.ts';
import { UsageTables } from '#usage/tables.ts';
import type { StreamId, StreamRecord } from '#usage/stream.ts';

/** How far an account's stream has been copied. */
export interface MirroredStream {
  readonly account: string;
  /** The epoch of the store that the records come from. */
  readonly epoch: string;
  /** The last entry that was copied. */
  readonly last: StreamId;
  readonly rows: number;
  /** Calls admitted before this moment may be missing, because there were too many; 0: none is missing. */
  readonly wholeSinceMs: number;
}

/** SQLite's name for a temporary database, whose file it deletes at once. */
const TEMPORARY = '';
/** The most bytes of the file. It is less than the chart's volume, beyond which the kubelet would evict the pod. */
const MAX_BYTES = 1.5 * 2 ** 30;
const PAGE_BYTES = 4096;
/** "MGWM" */
const APPLICATION_ID = 0x4d47574d;
/** A file of another version is replaced. Each optional field of records makes another version. */
const VERSION = OPTIONAL_FIELDS.length;
/** A power failure may lose the latest transactions; their records are copied again. */
const SETTINGS = `PRAGMA page_size = ${PAGE_BYTES}; PRAGMA max_page_count = ${MAX_BYTES / PAGE_BYTES};
  PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384`;
const SCHEMA = `CREATE TABLE usage (entry_ms INTEGER NOT NULL, entry_seq INTEGER NOT NULL, call_id TEXT NOT NULL,
    ${CALL_COLUMNS}, status TEXT NOT NULL, unbilled_nano_usd INTEGER NOT NULL, duration_ms INTEGER NOT NULL,
    ${OPTIONAL_FIELDS.map(({ column, kind }) => `${column} ${kind === 'Text' ? 'TEXT NOT NULL' : 'INTEGER'}`).join(', ')}) STRICT;
  CREATE INDEX usage_by_entry ON usage (account, entry_ms, entry_seq);
  ${USAGE_SUMS} ${KEY_NAMES}
  CREATE TABLE streams (account TEXT PRIMARY KEY, epoch TEXT NOT NULL, last_ms INTEGER NOT NULL,
    last_seq INTEGER NOT NULL, rows INTEGER NOT NULL, whole_since_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}`;
/** SQLITE_BUSY, SQLITE_CORRUPT and SQLITE_NOTADB. */
const [BUSY, CORRUPT, NOT_A_DATABASE] = [5, 11, 26];

/**
 * Opens the mirror at `path`. Replaces a file that is damaged or of another kind. Uses a temporary database if another
 * process uses the file or `path` is undefined.
 */
export function openUsageMirror(path?: string): UsageMirror {
  if (path === undefined) return new UsageMirror(openDatabase(TEMPORARY));
  try {
    return new UsageMirror(openDatabase(path));
  } catch (error) {
    if (sqliteCode(error) === BUSY) return openUsageMirror();
    if (!isDamaged(error) && !(error instanceof ForeignFile)) throw error;
    removeUsageMirror(path);
    return new UsageMirror(openDatabase(path));
  }
}

/** Deletes a mirror's file and the files that SQLite keeps beside it. */
export function removeUsageMirror(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true });
}

/** Whether SQLite reported that the file is damaged. */
export function isDamaged(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CORRUPT || code === NOT_A_DATABASE;
}

class ForeignFile extends Error {}

function openDatabase(path: string): DatabaseSync {
  if (path !== TEMPORARY) keepToOwner(path);
  const db = new DatabaseSync(path);
  try {
    db.exec(SETTINGS);
    db.exec('BEGIN IMMEDIATE'); // takes the lock, which an exclusive connection keeps
    if (db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.['n'] === 0) db.exec(SCHEMA);
    const read = (name: string): unknown => db.prepare(`PRAGMA ${name}`).get()?.[name];
    if (read('application_id') !== APPLICATION_ID || read('user_version') !== VERSION) throw new ForeignFile(path);
    db.exec('COMMIT');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

export class UsageMirror {
  readonly tables: UsageTables;
  readonly #db: DatabaseSync;
  readonly #removeCall: StatementSync;
  readonly #insert: StatementSync;
  readonly #remove: StatementSync;
  readonly #saveStream: StatementSync;
  readonly #dropStream: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.tables = new UsageTables(db);
    this.#removeCall = db.prepare('DELETE FROM usage WHERE account = ? AND created_ms = ? AND call_id = ?');
    this.#insert = db.prepare(`INSERT INTO usage (entry_ms, entry_seq, ${RECORD_COLUMNS.join(', ')})
      VALUES (?, ?, ${RECORD_COLUMNS.map(() => '?').join(', ')})`);
    this.#remove = prepareRows(
      db,
      `DELETE FROM usage WHERE rowid IN (SELECT rowid FROM usage WHERE account = :account
      AND (entry_ms, entry_seq) < (:ms, :seq) ORDER BY entry_ms, entry_seq LIMIT :most) RETURNING created_ms`,
    );
    this.#saveStream = db.prepare('REPLACE INTO streams VALUES (?, ?, ?, ?, ?, ?)');
    this.#dropStream = db.prepare('DELETE FROM streams WHERE account = ?');
  }

  /** The streams that have been copied so far. */
  streams(): MirroredStream[] {
    const columns = 'account, epoch, last_ms, last_seq, rows, whole_since_ms';
    return rowsOf(prepareRows(this.#db, `SELECT ${columns} FROM streams`).all()).map(decodeStream);
  }

  /** Appends the next records of a stream. A record replaces an earlier record of the same call. */
  add(stream: MirroredStream, records: readonly StreamRecord[]): MirroredStream {
    return this.#transaction(() => {
      let { rows } = stream;
      for (const { id, record } of records) {
        rows -= Number(this.#removeCall.run(record.account, record.createdMs, record.callId).changes);
        this.#insert.run(id.ms, id.seq, ...recordRow(record));
        rows++;
      }
      return this.#save({ ...stream, rows, last: records.at(-1)?.id ?? stream.last });
    });
  }

  /** Removes at most `most` of the stream's records before an entry; with `tooMany`, notes that some are missing. */
  remove(
    stream: MirroredStream,
    before: StreamId,
    { most, tooMany }: { most: number; tooMany: boolean },
  ): { readonly stream: MirroredStream; readonly removed: number } {
    return this.#transaction(() => {
      const parameters = { account: stream.account, ms: before.ms, seq: before.seq, most };
      const removed = rowsOf(this.#remove.all(parameters)).map(decodeCount);
      let { wholeSinceMs } = stream;
      if (tooMany) for (const createdMs of removed) wholeSinceMs = Math.max(wholeSinceMs, createdMs + 1);
      const saved = this.#save({ ...stream, rows: stream.rows - removed.length, wholeSinceMs });
      return { stream: saved, removed: removed.length };
    });
  }

  /** Drops the position of a stream whose records were removed. */
  drop(account: string): void {
    this.#dropStream.run(account);
  }

  close(): void {
    this.#db.close();
  }

  #save(stream: MirroredStream): MirroredStream {
    const { account, epoch, last, rows, wholeSinceMs } = stream;
    this.#saveStream.run(account, epoch, last.ms, last.seq, rows, wholeSinceMs);
    return stream;
  }

  #transaction<T>(work: () => T): T {
    this.#db.exec('BEGIN');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}

function decodeStream(row: Row): MirroredStream {
  const read = new RowReader(row);
  return {
    account: read.text(),
    epoch: read.text(),
    last: { ms: read.count(), seq: read.count() },
    rows: read.count(),
    wholeSinceMs: read.count(),
  };
}
