/** The table in `responses.db`, which only one thread of the gateway uses. */
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { keepToOwner } from '#runtime/owner-only.ts';
import { APPLICATION_ID } from './application-id.ts';
import { HEAD_BYTES, MOST_DROPPED, VALUE_OVERHEAD_BYTES } from './store.ts';
import type { KeptPlace, NewKept, NoRoom, NotPut } from './store.ts';

const VERSION = 1;
/** How many times an account's bytes the responses of all accounts may be together. */
const FULL_ACCOUNTS = 16;
const BUSY_TIMEOUT_MS = 2_000;
/** The sum of all accounts is the one with the empty name. */
const SCHEMA = `
  CREATE TABLE responses (seq INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, id TEXT NOT NULL,
    size INTEGER NOT NULL, until_ms INTEGER NOT NULL, bytes BLOB NOT NULL, UNIQUE (account, id)) STRICT;
  CREATE INDEX responses_by_age ON responses (account, seq);
  CREATE INDEX responses_by_end ON responses (until_ms);
  CREATE TABLE sums (account TEXT PRIMARY KEY, size INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TRIGGER added AFTER INSERT ON responses BEGIN
    INSERT INTO sums VALUES (NEW.account, NEW.size), ('', NEW.size)
      ON CONFLICT (account) DO UPDATE SET size = size + excluded.size;
  END;
  CREATE TRIGGER deleted AFTER DELETE ON responses BEGIN
    UPDATE sums SET size = size - OLD.size WHERE account IN (OLD.account, '');
    DELETE FROM sums WHERE account = OLD.account AND size <= 0;
  END;
  PRAGMA user_version = ${VERSION};`;

/** A file of an earlier version of the program has it from its next opening on. */
const FURTHER_SCHEMA = `
  CREATE INDEX IF NOT EXISTS only_responses_by_age ON responses (account, seq) WHERE id >= 'resp_';`;

/** Its methods throw SQLite's errors. */
export class ResponseTable {
  readonly #db: DatabaseSync;
  readonly #expire: StatementSync;
  readonly #delete: StatementSync;
  readonly #add: StatementSync;
  readonly #sum: StatementSync;
  readonly #deleteOldestResponseOf: StatementSync;
  readonly #deleteOldestOf: StatementSync;
  readonly #deleteOldest: StatementSync;
  readonly #size: StatementSync;
  readonly #length: StatementSync;
  readonly #bytes: StatementSync;
  readonly #head: StatementSync;

  /** Opens or creates the file. Throws for a file of a later version, or of another program. */
  constructor(path: string) {
    const db = open(path);
    this.#db = db;
    this.#expire = db.prepare(`DELETE FROM responses WHERE seq IN
      (SELECT seq FROM responses WHERE until_ms <= ? ORDER BY until_ms LIMIT ${MOST_DROPPED})`);
    this.#delete = db.prepare('DELETE FROM responses WHERE account = ? AND id = ? RETURNING until_ms');
    this.#add = db.prepare('INSERT INTO responses (account, id, size, until_ms, bytes) VALUES (?, ?, ?, ?, ?)');
    this.#sum = db.prepare('SELECT size FROM sums WHERE account = ?');
    // ids of conversations begin with "conv_"
    this.#deleteOldestResponseOf = db.prepare(
      `DELETE FROM responses WHERE seq = (SELECT seq FROM responses INDEXED BY only_responses_by_age
        WHERE account = ? AND id >= 'resp_' AND id <> ? ORDER BY seq LIMIT 1)`,
    );
    this.#deleteOldestOf = db.prepare(
      'DELETE FROM responses WHERE seq = (SELECT min(seq) FROM responses WHERE account = ? AND id <> ?)',
    );
    this.#deleteOldest = db.prepare(
      'DELETE FROM responses WHERE seq = (SELECT min(seq) FROM responses WHERE account <> ? OR id <> ?)',
    );
    this.#size = db.prepare('SELECT size FROM responses WHERE account = ? AND id = ? AND until_ms > ?');
    this.#length = db.prepare(
      'SELECT length(bytes) AS length FROM responses WHERE account = ? AND id = ? AND until_ms > ?',
    );
    this.#bytes = db.prepare('SELECT bytes FROM responses WHERE account = ? AND id = ? AND until_ms > ?');
    this.#head = db.prepare(
      `SELECT substr(bytes, 1, ${HEAD_BYTES}) AS head FROM responses WHERE account = ? AND id = ? AND until_ms > ?`,
    );
  }

  /** Undefined: it is kept. */
  put(kept: NewKept): NotPut | undefined {
    const { account, id, bytes, nowMs, keepMs } = kept;
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      this.#expire.run(nowMs);
      const refusal = this.#isChanged(kept) ? 'Changed' : this.#makeRoom(kept);
      if (!refusal) {
        this.#delete.all(account, id);
        this.#add.run(account, id, sizeOf(bytes), nowMs + keepMs, bytes);
      }
      this.#db.exec('COMMIT');
      return refusal;
    } catch (error) {
      // SQLite may have rolled back itself
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #isChanged({ account, id, nowMs, replaces }: NewKept): boolean {
    if (!replaces) return false;
    const head = this.#head.get(account, id, nowMs)?.['head'];
    return !(head instanceof Uint8Array && Buffer.compare(head, replaces) === 0);
  }

  /** Deletes the account's oldest ones, responses before conversations, and then the oldest of all, but not what has the id. */
  #makeRoom({ account, id, bytes, nowMs, maxBytes }: NewKept): NoRoom | undefined {
    const size = sizeOf(bytes);
    if (size > maxBytes) return 'TooLarge';
    const more = size - Number(this.#size.get(account, id, nowMs)?.['size'] ?? 0);
    let left = MOST_DROPPED;
    for (; this.#sumOf(account) + more > maxBytes; left--) {
      if (left === 0) return 'AccountFull';
      if (this.#deleteOldestResponseOf.run(account, id).changes === 0) this.#deleteOldestOf.run(account, id);
    }
    for (; this.#sumOf('') + more > FULL_ACCOUNTS * maxBytes; left--) {
      if (left === 0) return 'StoreFull';
      this.#deleteOldest.run(account, id);
    }
    return undefined;
  }

  #sumOf(account: string): number {
    return Number(this.#sum.get(account)?.['size'] ?? 0);
  }

  sizeOf({ account, id }: KeptPlace, nowMs: number): number | undefined {
    this.#expire.run(nowMs);
    const length = this.#length.get(account, id, nowMs)?.['length'];
    return length === undefined ? undefined : Number(length);
  }

  get({ account, id }: KeptPlace, nowMs: number): Uint8Array | undefined {
    this.#expire.run(nowMs);
    const bytes = this.#bytes.get(account, id, nowMs)?.['bytes'];
    return bytes instanceof Uint8Array ? bytes : undefined;
  }

  delete({ account, id }: KeptPlace, nowMs: number): boolean {
    this.#expire.run(nowMs);
    return this.#delete.all(account, id).some(({ until_ms: untilMs }) => Number(untilMs) > nowMs);
  }

  close(): void {
    this.#db.close();
  }
}

function sizeOf({ length }: Uint8Array): number {
  return length + VALUE_OVERHEAD_BYTES;
}

/** What is deleted is overwritten, and the file becomes smaller. */
function open(path: string): DatabaseSync {
  keepToOwner(path);
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    const [version, application, pages] = ['user_version', 'application_id', 'page_count'].map((name) =>
      Number(db.prepare(`PRAGMA ${name}`).get()?.[name]),
    );
    if (pages !== 0 && application !== APPLICATION_ID) throw new Error(`${path} is no file of kept responses`);
    if (version !== undefined && version > VERSION)
      throw new Error(`${path} is of version ${version}, which this program does not know`);
    // written before the journal is a file of its own, so that the file's head tells it
    if (version === 0) db.exec(`PRAGMA auto_vacuum = FULL; PRAGMA application_id = ${APPLICATION_ID};`);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;');
    if (version === 0) db.exec(`BEGIN; ${SCHEMA} COMMIT;`);
    db.exec(FURTHER_SCHEMA);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
