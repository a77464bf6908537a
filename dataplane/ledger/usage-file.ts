/**
 * The records of calls in a ledger's file, read beside the process that writes it: opened for reading only, and nothing is
 * locked. What a running gateway has settled reaches the file within seconds.
 */
import { DatabaseSync } from 'node:sqlite';
import { readRow } from './row-reader.ts';
import type { Row } from './row-reader.ts';
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

/** Its declared type knows nothing of arrays. */
function isRow(row: unknown): row is Row {
  return Array.isArray(row);
}

function recordOf(row: Row): UsageRecord {
  const next = readRow(row);
  return {
    callId: next.text(), keyUid: next.text(), account: next.text(), createdMs: next.count(), group: next.text(), model: next.text(), channel: next.text(),
    catalog: next.text(), costNanoUsd: next.amount(),
    tokens: { input: next.count(), cached: next.count(), cacheWrite5m: next.count(), cacheWrite1h: next.count(), output: next.count() },
    usageSource: next.oneOf(SOURCES), status: next.oneOf(STATUSES), unbilledNanoUsd: next.amount(), durationMs: next.count(),
  };
}
