/**
 * The records of calls in a ledger's file, read beside the process that writes it: opened for reading only, and nothing
 * is locked. What a running gateway has settled reaches the file within seconds.
 */
import { DatabaseSync } from 'node:sqlite';
import { decodeRecord, RECORD_COLUMNS } from './embedded/rows.ts';
import { prepareRows, rowsOf } from './embedded/schema.ts';
import type { UsageFilter } from './usage-filter.ts';
import type { UsageRecord } from './usage-record.ts';
import { UsageTables } from './usage-tables.ts';

const COLUMNS = RECORD_COLUMNS.join(', ');
const BUSY_TIMEOUT_MS = 5_000;

/** In the order of their settlement. Throws where there is no such file, or it is no ledger. */
export function* readUsageFile(path: string, filter: UsageFilter): Generator<UsageRecord> {
  const { keyUid = null, account = null, model = null, sinceMs = 0 } = filter;
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const statement = prepareRows(db, `SELECT ${COLUMNS} FROM usage
      WHERE created_ms >= :since AND (:key IS NULL OR key_uid = :key)
      AND (:account IS NULL OR account = :account) AND (:model IS NULL OR model = :model) ORDER BY seq`);
    const rows: Iterable<unknown> = statement.iterate({ since: sinceMs, key: keyUid, account, model });
    for (const row of rows) yield* rowsOf([row]).map(decodeRecord);
  } finally {
    db.close();
  }
}

/** A file that is kept open, for whoever asks again and again. */
export interface UsageFile {
  readonly tables: UsageTables;
  close(): void;
}

/** Throws where there is no such file, it is no ledger, or its schema is older than this program's. */
export function openUsageFile(path: string): UsageFile {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    return { tables: new UsageTables(db), close: () => db.close() };
  } catch (error) {
    db.close();
    throw error;
  }
}
