/**
 * The records of calls in a ledger's file, read beside the process that writes it: opened for reading only, and nothing is
 * locked. What a running gateway has settled reaches the file within seconds.
 */
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { readRow } from './row-reader.ts';
import type { Row, RowReader } from './row-reader.ts';
import type { PlacedRecord, RecordPlace } from './usage-place.ts';
import type { UsageFilter } from './usage-filter.ts';
import type { CallStatus, UsageRecord, UsageSource } from './usage-record.ts';

const COLUMNS = `call_id, key_uid, account, created_ms, group_name, model, channel, catalog, cost_nano_usd, input, cached, cache_write_5m, cache_write_1h,
  output, usage_source, status, unbilled_nano_usd, duration_ms`;
const STATUSES: readonly CallStatus[] = ['Running', 'Succeeded', 'Failed', 'ClientClosed', 'ProviderCut', 'Abandoned', 'Refunded'];
const SOURCES: readonly UsageSource[] = ['Provider', 'Estimated', 'Partial'];
const BUSY_TIMEOUT_MS = 5_000;

/** In the order of their settlement. Throws where there is no such file, or it is no ledger. */
export function* readUsageFile(path: string, { keyUid, account, model, sinceMs = 0 }: UsageFilter): Generator<UsageRecord> {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const statement = db.prepare(`SELECT ${COLUMNS} FROM usage WHERE created_ms >= :since AND (:key IS NULL OR key_uid = :key)
      AND (:account IS NULL OR account = :account) AND (:model IS NULL OR model = :model) ORDER BY seq`);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    for (const row of statement.iterate({ since: sinceMs, key: keyUid ?? null, account: account ?? null, model: model ?? null })) {
      if (isRow(row)) yield recordOf(row);
    }
  } finally {
    db.close();
  }
}

/** A file that is kept open, for whoever asks again and again. Every method is quick for as much as is asked of it, and throws where the file cannot be read. */
export interface UsageFile {
  /** The next records of an account after one place and up to another, in the order of their settlement. All between are looked through. */
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
  const prepare = (sql: string): StatementSync => {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    return statement;
  };
  try {
    const between = prepare(`SELECT seq, ${COLUMNS} FROM usage WHERE seq > ? AND seq <= ? AND account = ? ORDER BY seq LIMIT ?`);
    const at = prepare(`SELECT seq, ${COLUMNS} FROM usage WHERE seq IN (SELECT value FROM json_each(?))`);
    const extent = prepare('SELECT (SELECT min(seq) FROM usage), (SELECT max(seq) FROM usage)');
    const refunds = prepare('SELECT call_id, account, created_ms FROM jobs WHERE ended_ms >= ? AND state = \'Failed\'');
    return {
      between: (after, upTo, account, most) => rowsOf(between.all(after.major, upTo.major, account, most)).map(placedOf),
      at: (places) => rowsOf(at.all(JSON.stringify(places.map(({ major }) => major)))).map(placedOf),
      extent() {
        const [[first = null, last = null] = []] = rowsOf(extent.all());
        return first === null || last === null ? undefined : { first: { major: Number(first), minor: 0 }, last: { major: Number(last), minor: 0 } };
      },
      refunds: (endedSinceMs) => rowsOf(refunds.all(endedSinceMs)).map((row) => {
        const next = readRow(row);
        return { callId: next.text(), account: next.text(), createdMs: next.count() };
      }),
      close: () => db.close(),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

function placedOf(row: Row): PlacedRecord {
  const next = readRow(row);
  return { place: { major: next.count(), minor: 0 }, record: recordFrom(next) };
}

function rowsOf(rows: readonly unknown[]): Row[] {
  return rows.filter(isRow);
}

/** Its declared type knows nothing of arrays. */
function isRow(row: unknown): row is Row {
  return Array.isArray(row);
}

function recordOf(row: Row): UsageRecord {
  return recordFrom(readRow(row));
}

function recordFrom(next: RowReader): UsageRecord {
  return {
    callId: next.text(), keyUid: next.text(), account: next.text(), createdMs: next.count(), group: next.text(), model: next.text(), channel: next.text(),
    catalog: next.text(), costNanoUsd: next.amount(),
    tokens: { input: next.count(), cached: next.count(), cacheWrite5m: next.count(), cacheWrite1h: next.count(), output: next.count() },
    usageSource: next.oneOf(SOURCES), status: next.oneOf(STATUSES), unbilledNanoUsd: next.amount(), durationMs: next.count(),
  };
}
