/**
 * The records of calls in a ledger's file, read beside the process that writes it: opened for reading only, and nothing
 * is locked. What a running gateway has settled reaches the file within seconds.
 */
import { DatabaseSync } from 'node:sqlite';
import { decodeRecord, RECORD_COLUMNS, RowReader } from './embedded/rows.ts';
import type { Row } from './embedded/rows.ts';
import { prepareRows, rowsOf } from './embedded/schema.ts';
import type { UsageFilter } from './usage-filter.ts';
import type { PlacedRecord, RecordPlace } from './usage-place.ts';
import type { UsageRecord } from './usage-record.ts';

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

/**
 * A file that is kept open, for whoever asks again and again. Every method is quick for as much as is asked of it, and
 * throws where the file cannot be read.
 */
export interface UsageFile {
  /**
   * The next records of an account after one place and up to another, in the order of their settlement. All between are
   * looked through.
   */
  between(after: RecordPlace, upTo: RecordPlace, account: string, most: number): readonly PlacedRecord[];
  /** Those that are still there. */
  at(places: readonly RecordPlace[]): readonly PlacedRecord[];
  /** The places of the first and the last record; undefined: there is none. */
  extent(): { readonly first: RecordPlace; readonly last: RecordPlace } | undefined;
  /** Calls whose jobs have ended at this moment or later, and whose cost was given back. */
  refunds(endedSinceMs: number): readonly Pick<UsageRecord, 'callId' | 'account' | 'createdMs'>[];
  close(): void;
}

/** Throws where there is no such file, or it is no ledger. A record's place is its number in the file. */
export function openUsageFile(path: string): UsageFile {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const between = prepareRows(db, `SELECT seq, ${COLUMNS} FROM usage
      WHERE seq > ? AND seq <= ? AND account = ? ORDER BY seq LIMIT ?`);
    const at = prepareRows(db, `SELECT seq, ${COLUMNS} FROM usage WHERE seq IN (SELECT value FROM json_each(?))`);
    const extent = prepareRows(db, 'SELECT (SELECT min(seq) FROM usage), (SELECT max(seq) FROM usage)');
    const refunds = prepareRows(db, `SELECT call_id, account, created_ms FROM jobs
      WHERE ended_ms >= ? AND state = 'Failed'`);
    return {
      between: (after, upTo, account, most) =>
        rowsOf(between.all(after.major, upTo.major, account, most)).map(placedRecord),
      at: (places) => rowsOf(at.all(JSON.stringify(places.map(({ major }) => major)))).map(placedRecord),
      extent() {
        const [[first = null, last = null] = []] = rowsOf(extent.all());
        return first === null || last === null ? undefined : { first: placeOf(first), last: placeOf(last) };
      },
      refunds: (endedSinceMs) => rowsOf(refunds.all(endedSinceMs)).map((row) => {
        const read = new RowReader(row);
        return { callId: read.text(), account: read.text(), createdMs: read.count() };
      }),
      close: () => db.close(),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

function placedRecord([seq = null, ...row]: Row): PlacedRecord {
  return { place: placeOf(seq), record: decodeRecord(row) };
}

function placeOf(seq: Row[number]): RecordPlace {
  return { major: Number(seq), minor: 0 };
}
