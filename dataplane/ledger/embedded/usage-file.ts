/**
 * Reads usage records without a lock from a ledger's file while another process writes it. A running gateway's records
 * reach the file within seconds.
 */
import { DatabaseSync } from 'node:sqlite';
import { decodeRecord, RECORD_COLUMNS } from '#usage/rows.ts';
import { prepareRows, rowsOf } from '#usage/sqlite.ts';
import { matchesFilter } from '#usage/filter.ts';
import type { UsageFilter } from '#usage/filter.ts';
import type { UsageRecord } from '#usage/record.ts';
import { UsageTables } from '#usage/tables.ts';

const COLUMNS = RECORD_COLUMNS.join(', ');
const BUSY_TIMEOUT_MS = 5_000;

/** Yields records in the order of settlement. Throws if the file is missing or is not a ledger. */
export function* readUsageFile(path: string, filter: UsageFilter): Generator<UsageRecord> {
  const { account = null, model = null, sinceMs = 0 } = filter;
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const statement = prepareRows(
      db,
      `SELECT ${COLUMNS} FROM usage
      WHERE created_ms >= :since AND (:account IS NULL OR account = :account) AND (:model IS NULL OR model = :model) ORDER BY seq`,
    );
    const rows: Iterable<unknown> = statement.iterate({ since: sinceMs, account, model });
    for (const row of rows)
      yield* rowsOf([row])
        .map(decodeRecord)
        .filter((record) => matchesFilter(record, filter));
  } finally {
    db.close();
  }
}

/** Opens the file for repeated queries. Throws if the file is missing, is not a ledger, or has an older schema. */
export function openUsageFile(path: string): { readonly tables: UsageTables; close(): void } {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    return { tables: new UsageTables(db), close: () => db.close() };
  } catch (error) {
    db.close();
    throw error;
  }
}
