/** The table of `responses.db`. One thread of the gateway uses it. */
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { keepToOwner } from '../owner-only.ts';
import type { NewResponse, ResponsePlace } from './store.ts';

const VERSION = 1;
const BUSY_TIMEOUT_MS = 2_000;
const SCHEMA = `
  CREATE TABLE responses (seq INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, id TEXT NOT NULL,
    size INTEGER NOT NULL, until_ms INTEGER NOT NULL, bytes BLOB NOT NULL, UNIQUE (account, id)) STRICT;
  CREATE INDEX responses_by_age ON responses (account, seq, size);
  CREATE INDEX responses_by_end ON responses (until_ms);
  PRAGMA user_version = ${VERSION};`;

/** Its methods throw SQLite's errors. */
export class ResponseTable {
  readonly #db: DatabaseSync;
  readonly #expire: StatementSync;
  readonly #delete: StatementSync;
  readonly #add: StatementSync;
  readonly #trim: StatementSync;
  readonly #size: StatementSync;
  readonly #bytes: StatementSync;

  /** Opens or creates the file. Throws for a file of a later version. */
  constructor(path: string) {
    const db = open(path);
    this.#db = db;
    this.#expire = db.prepare('DELETE FROM responses WHERE until_ms <= ?');
    this.#delete = db.prepare('DELETE FROM responses WHERE account = ? AND id = ?');
    this.#add = db.prepare('INSERT INTO responses (account, id, size, until_ms, bytes) VALUES (?, ?, ?, ?, ?)');
    // the sum of an account's responses from the latest one on
    this.#trim = db.prepare(`DELETE FROM responses WHERE seq IN (SELECT seq FROM
      (SELECT seq, sum(size) OVER (ORDER BY seq DESC) AS total FROM responses WHERE account = ?) WHERE total > ?)`);
    this.#size = db.prepare('SELECT size FROM responses WHERE account = ? AND id = ?');
    this.#bytes = db.prepare('SELECT bytes FROM responses WHERE account = ? AND id = ?');
  }

  put({ account, id, bytes, nowMs, keepMs, maxBytes }: NewResponse): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      this.#expire.run(nowMs);
      this.#delete.run(account, id);
      this.#add.run(account, id, bytes.length, nowMs + keepMs, bytes);
      this.#trim.run(account, maxBytes);
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  sizeOf({ account, id }: ResponsePlace, nowMs: number): number | undefined {
    this.#expire.run(nowMs);
    const size = this.#size.get(account, id)?.['size'];
    return size === undefined ? undefined : Number(size);
  }

  get({ account, id }: ResponsePlace, nowMs: number): Uint8Array | undefined {
    this.#expire.run(nowMs);
    const bytes = this.#bytes.get(account, id)?.['bytes'];
    return bytes instanceof Uint8Array ? bytes : undefined;
  }

  delete({ account, id }: ResponsePlace, nowMs: number): boolean {
    this.#expire.run(nowMs);
    return this.#delete.run(account, id).changes > 0;
  }

  close(): void {
    this.#db.close();
  }
}

/** What is deleted is overwritten, and the file becomes smaller. */
function open(path: string): DatabaseSync {
  keepToOwner(path);
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version > VERSION) throw new Error(`${path} is of version ${version}, which this program does not know`);
    if (version === 0) db.exec('PRAGMA auto_vacuum = FULL;');
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;');
    if (version === 0) db.exec(`BEGIN; ${SCHEMA} COMMIT;`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
