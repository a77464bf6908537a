/**
 * The tables of `activity.db`. One thread of the gateway writes them, and the console on the same machine reads them.
 */
import { existsSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { keepToOwner } from '#runtime/owner-only.ts';
import { COUNT_DAYS, DAY_MS, ENTRY_DAYS, parseEntry, parseStats, SHORTAGE_CODES } from '#activity/activity.ts';
import type { ActivityBatch, ActivityEntry, ActivityReader, ProxyStats, RefusalCount } from '#activity/activity.ts';

/** The most entries that are kept of one key: of its refused requests and of its other requests, each. */
const MAX_ENTRIES_PER_KEY = 100;
/** The most entries of all keys together; an entry takes some four hundred bytes. */
const MAX_ENTRIES = 200_000;
const VERSION = 1;
const BUSY_TIMEOUT_MS = 2_000;

const SCHEMA = `
  CREATE TABLE entries (seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL, account TEXT NOT NULL, key_uid TEXT NOT NULL,
    refused INTEGER NOT NULL, at_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
  CREATE INDEX entries_of_keys ON entries (key_uid, refused, seq);
  CREATE INDEX entries_of_accounts ON entries (account, refused, seq);
  CREATE INDEX entries_by_call ON entries (call_id);
  CREATE TABLE refusals (account TEXT NOT NULL, day INTEGER NOT NULL, key_uid TEXT NOT NULL, error_code TEXT NOT NULL,
    calls INTEGER NOT NULL, PRIMARY KEY (account, day, key_uid, error_code)) STRICT, WITHOUT ROWID;
  CREATE TABLE channels (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL) STRICT;
  PRAGMA user_version = ${VERSION};`;

const SHORTAGES_IN_SQL = [...SHORTAGE_CODES].map((code) => `'${code ?? ''}'`).join(', ');

/** Of each key that the counts name, so that keys that were never short of money cost nothing. */
const SHORTAGES = `
  WITH short AS (SELECT DISTINCT key_uid FROM refusals WHERE account = :account AND (:key IS NULL OR key_uid = :key)
      AND error_code IN (${SHORTAGES_IN_SQL})),
    latest AS (SELECT (SELECT seq FROM entries e WHERE e.key_uid = short.key_uid AND refused = 1 AND account = :account
      AND body ->> 'errorCode' IN (${SHORTAGES_IN_SQL})
      ORDER BY at_ms DESC LIMIT 1) AS seq FROM short)
  SELECT body FROM entries JOIN latest USING (seq) WHERE NOT EXISTS (SELECT 1 FROM entries served
    WHERE served.key_uid = entries.key_uid AND served.refused = 0 AND served.account = :account
      AND served.at_ms > entries.at_ms)`;

/** Writes batches. Its methods throw SQLite's errors. */
export class ActivityTables {
  readonly #db: DatabaseSync;
  readonly #add: StatementSync;
  readonly #count: StatementSync;
  readonly #trim: StatementSync;

  /**
   * Opens or creates the file. Replaces a damaged file or one of another version, because its data is only diagnostic.
   */
  constructor(path: string) {
    this.#db = openOrReplace(path);
    this.#add = this.#db.prepare('INSERT INTO entries VALUES (NULL, ?, ?, ?, ?, ?, ?)');
    this.#count = this.#db.prepare(`INSERT INTO refusals VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET calls = calls + excluded.calls`);
    this.#trim = this.#db.prepare(`DELETE FROM entries WHERE key_uid = :key AND refused = :refused AND seq <= (
      SELECT seq FROM entries WHERE key_uid = :key AND refused = :refused ORDER BY seq DESC LIMIT 1
      OFFSET ${MAX_ENTRIES_PER_KEY})`);
  }

  /** Writes the batch in one transaction, which survives a crash of the process but not always a power failure. */
  write({ entries, refusals }: ActivityBatch, nowMs: number): void {
    this.#db.exec('BEGIN');
    try {
      for (const entry of entries) {
        const { callId, account, keyUid, refused, atMs } = entry;
        this.#add.run(callId, account, keyUid, Number(refused), atMs, JSON.stringify(entry));
      }
      for (const { account, day, keyUid, errorCode, calls } of refusals)
        this.#count.run(account, day, keyUid, errorCode, calls);
      this.#trimAll(entries, nowMs);
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  /** Replaces the figures of all channels. */
  writeChannels(figures: ProxyStats): void {
    this.#db.prepare('INSERT OR REPLACE INTO channels VALUES (1, ?)').run(JSON.stringify(figures));
  }

  close(): void {
    this.#db.close();
  }

  #trimAll(entries: readonly ActivityEntry[], nowMs: number): void {
    const touched = new Map(entries.map(({ keyUid, refused }) => [`${Number(refused)}${keyUid}`, { keyUid, refused }]));
    for (const { keyUid, refused } of touched.values()) this.#trim.run({ key: keyUid, refused: Number(refused) });
    this.#db.exec(`DELETE FROM entries WHERE seq <= (SELECT max(seq) FROM entries) - ${MAX_ENTRIES};
      DELETE FROM entries WHERE seq <= (SELECT min(seq) FROM entries) + 999
        AND at_ms < ${nowMs - ENTRY_DAYS * DAY_MS};
      DELETE FROM refusals WHERE day < ${Math.floor(nowMs / DAY_MS) - COUNT_DAYS};`);
  }
}

function openOrReplace(path: string): DatabaseSync {
  try {
    return open(path);
  } catch {
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    return open(path);
  }
}

function open(path: string): DatabaseSync {
  keepToOwner(path);
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;');
    const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version === 0) db.exec(`BEGIN; ${SCHEMA} COMMIT;`);
    else if (version !== VERSION) throw new Error(`version ${version}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens the file anew for each query, in less than a millisecond. Queries return nothing until the file exists. */
export function openActivityFile(path: string): ActivityReader {
  function ask<R>(otherwise: R, work: (db: DatabaseSync) => R): R {
    if (!existsSync(path)) return otherwise;
    const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    try {
      return work(db);
    } finally {
      db.close();
    }
  }

  return {
    refusals: async ({ account, keyUid = null, fromDay, toDay }) =>
      ask([], (db) =>
        db
          .prepare(
            `SELECT account, day, key_uid, error_code, calls FROM refusals WHERE account = :account AND day >= :fromDay
       AND day <= :toDay AND (:key IS NULL OR key_uid = :key)`,
          )
          .all({ account, key: keyUid, fromDay, toDay })
          .map(countOf),
      ),
    refused: async ({ account, keyUid, most }) =>
      ask([], (db) =>
        bodiesOf(
          keyUid === undefined
            ? db
                .prepare('SELECT body FROM entries WHERE account = ? AND refused = 1 ORDER BY seq DESC LIMIT ?')
                .all(account, most)
            : db
                .prepare(
                  `SELECT body FROM entries WHERE key_uid = ? AND refused = 1 AND account = ?
          ORDER BY seq DESC LIMIT ?`,
                )
                .all(keyUid, account, most),
        ),
      ),
    shortages: async (queries) =>
      ask([], (db) => {
        const statement = db.prepare(SHORTAGES);
        return queries.flatMap(({ account, keyUid = null }) => bodiesOf(statement.all({ account, key: keyUid })));
      }),
    find: async ({ account, keyUid, callId }) =>
      ask(
        undefined,
        (db) =>
          bodiesOf(
            db
              .prepare('SELECT body FROM entries WHERE call_id = ? AND key_uid = ? AND account = ? LIMIT 1')
              .all(callId, keyUid, account),
          )[0],
      ),
    channels: async (nowMs) =>
      ask([], (db) =>
        db
          .prepare('SELECT body FROM channels')
          .all()
          .flatMap(({ body }) => parseStats(String(body), nowMs) ?? []),
      ),
    close: () => undefined,
  };
}

function countOf(row: Record<string, unknown>): RefusalCount {
  return {
    account: String(row['account']),
    day: Number(row['day']),
    keyUid: String(row['key_uid']),
    errorCode: String(row['error_code']),
    calls: Number(row['calls']),
  };
}

function bodiesOf(rows: readonly Record<string, unknown>[]): ActivityEntry[] {
  return rows.flatMap(({ body }) => parseEntry(String(body)) ?? []);
}
