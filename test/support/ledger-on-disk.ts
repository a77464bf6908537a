/**
 * Reads the embedded ledger on disk while another process writes it, as if that process died now: the balances, and the
 * calls that are running or not filed yet.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createBalances } from '../../dataplane/ledger/balances.ts';
import type { Balances } from '../../dataplane/ledger/balances.ts';
import { restoreBalances } from '../../dataplane/ledger/embedded/restore.ts';
import { decodeSettled, SETTLED_COLUMNS } from '../../dataplane/ledger/embedded/rows.ts';
import { readStoredBalances } from '../../dataplane/ledger/embedded/schema.ts';
import { prepareRows, rowsOf } from '#usage/sqlite.ts';
import type { UsageRecord } from '#usage/record.ts';

/** A settled call with its position in the order of settlements. */
interface RecordOnDisk extends UsageRecord {
  readonly seq: number;
}

interface LedgerOnDisk {
  /** Spent and held amounts; the generation is unknown. */
  readonly balances: Balances;
  readonly records: readonly RecordOnDisk[];
}

/** Undefined if there is no ledger yet. Records up to `afterSeq` are left out; without it, none are. */
export function readLedgerOnDisk(path: string, afterSeq: number | undefined): LedgerOnDisk | undefined {
  if (!existsSync(path)) return undefined;
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    // one snapshot for all tables
    db.exec('BEGIN');
    const balances = createBalances();
    const records = afterSeq === undefined ? [] : recordsOf(db, afterSeq);
    const newest = Number(db.prepare('SELECT coalesce(max(seq), 0) AS seq FROM usage').get()?.['seq']);
    const calls = restoreBalances(balances, readStoredBalances(db), 0);
    const unfiled = calls.flatMap((call) => ('settled' in call ? [call.settled.record] : []));
    // they are filed in this order
    for (const [index, record] of unfiled.entries()) {
      const seq = newest + 1 + index;
      if (afterSeq !== undefined && seq > afterSeq) records.push({ ...record, seq });
    }
    return { balances, records };
  } finally {
    db.close();
  }
}

function recordsOf(db: DatabaseSync, afterSeq: number): RecordOnDisk[] {
  return rowsOf(
    prepareRows(db, `SELECT seq, ${SETTLED_COLUMNS.join(', ')} FROM usage WHERE seq > ? ORDER BY seq`).all(afterSeq),
  ).map(([seq, ...row]) => ({ ...decodeSettled(row).record, seq: Number(seq) }));
}
