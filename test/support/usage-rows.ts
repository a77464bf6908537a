/** Writes records of calls straight into a ledger's file, in the ledger's own way. */
import type { DatabaseSync } from 'node:sqlite';
import { UsageRows } from '../../dataplane/ledger/embedded/usage-rows.ts';
import type { UsageRecord } from '#usage/record.ts';

const UNLIMITED = { maxRecords: 1e9, maxAgeMs: 1e14 };
const rowsOf = new WeakMap<DatabaseSync, UsageRows>();

function usageRows(db: DatabaseSync): UsageRows {
  const rows = rowsOf.get(db) ?? new UsageRows(db, UNLIMITED);
  rowsOf.set(db, rows);
  return rows;
}

export function addRecords(db: DatabaseSync, records: readonly UsageRecord[], settledMs: number): void {
  const calls = records.map((record) => ({ record, keySpentNanoUsd: 0n, keyRemainingNanoUsd: null, settledMs }));
  usageRows(db).add(calls, settledMs);
}

export function refundRecord(db: DatabaseSync, callId: string): void {
  usageRows(db).correct(callId, undefined);
}

/** Deletes as retention does. The records' numbers must have no gaps. */
export function deleteOldest(db: DatabaseSync, count: number): void {
  const records = Number(db.prepare('SELECT count(*) AS n FROM usage').get()?.['n']);
  new UsageRows(db, { ...UNLIMITED, maxRecords: Math.max(0, records - count) }).prune(1e9, 0);
}
